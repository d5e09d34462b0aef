//! `tare clean`: shows what takes disk space and removes it. Prepared data is removed and made again when needed;
//! results are removed only if they are named.

use super::{Exit, Problem, output};
use crate::state;
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use tare_files::{Folder, Trust, disk_bytes};
use tare_results::store::Directory;

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// Results directories to remove as well
    #[arg(value_name = "RESULTS")]
    results: Vec<PathBuf>,
    /// Only show disk use
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Used {
    path: PathBuf,
    bytes: u64,
    removed: bool,
    /// Whether it is removed without `--dry-run`.
    #[serde(skip)]
    to_remove: bool,
}

#[derive(Debug, Serialize)]
struct CleanJson {
    cache: Vec<Used>,
    results: Vec<Used>,
}

/// Shows what takes disk space, and removes prepared data and the named results.
pub(crate) fn run(args: &CleanArgs) -> Result<Exit, Problem> {
    // A run on this machine may be using the data.
    let _host = if args.dry_run { None } else { Some(super::execution::take_host()?) };
    // Locked until all are removed, so that a run cannot resume one of them meanwhile.
    let named =
        args.results.iter().map(|path| Directory::resume(path, Trust::Anyone)).collect::<Result<Vec<_>, _>>()?;
    let cache = state::cache_directory()?;
    let mut listed = CleanJson { cache: Vec::new(), results: Vec::new() };
    for path in entries(&cache).into_iter().filter(|path| is_ours(path)) {
        listed.cache.push(used(&path, !args.dry_run)?);
    }
    for directory in &named {
        listed.results.push(Used { removed: !args.dry_run, to_remove: true, ..used(directory.path(), false)? });
        if !args.dry_run {
            remove(directory)?;
        }
    }
    let same = |one: &Path, other: &Path| std::fs::canonicalize(one).ok() == std::fs::canonicalize(other).ok();
    for path in state::results() {
        if !listed.results.iter().any(|used| same(&used.path, &path)) {
            listed.results.push(used(&path, false)?);
        }
    }
    if args.json {
        output::document("tare-clean", &listed)?
    } else {
        output::text(&text(&listed, &cache))?
    }
    Ok(Exit::Done)
}

/// Whether an entry of the cache has a name of prepared or initialised data, or of their working copy, which a killed
/// run leaves (`ENGINE-` or `work-` and 20 hexadecimal digits), or of a trial's copy or a program's digest. Other files
/// in a directory that serves as the cache are kept.
fn is_ours(path: &Path) -> bool {
    let Some((what, rest)) = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.split_once('-'))
    else {
        return false;
    };
    let id = rest.trim_end_matches(".lock").trim_end_matches(".partial");
    let is_hexadecimal = |id: &str| id.chars().all(|c| c.is_ascii_hexdigit());
    match what {
        "trial" => id.chars().all(|c| c.is_ascii_digit()),
        "program" => id.split('-').count() == 2 && id.split('-').all(is_hexadecimal),
        data => {
            let id = id.strip_prefix("initialised-").unwrap_or(id);
            (data == "work" || tare_engine::engine_names().contains(&data)) && id.len() == 20 && is_hexadecimal(id)
        }
    }
}

/// The entries of a directory, by name; empty if it does not exist.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    entries.sort();
    entries
}

/// Removes a results directory where it was opened: below another user's directory, its path may lead elsewhere by now.
fn remove(directory: &Directory) -> Result<(), Problem> {
    let exchanged = || {
        Problem::new(Exit::Machine, "cannot remove it: its name now belongs to another folder")
            .at(directory.path().display().to_string())
            .advice("name the folder itself, not a link to it")
    };
    let path = std::path::absolute(directory.path()).map_err(|_| exchanged())?;
    let (Some(above), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Err(exchanged());
    };
    let above = Folder::open(above, Trust::Anyone)?.ok_or_else(exchanged)?;
    let found = above.sub(name)?.ok_or_else(exchanged)?.identity()?;
    if found != directory.folder().identity()? {
        return Err(exchanged());
    }
    Ok(above.remove_all(name)?)
}

fn used(path: &Path, remove: bool) -> Result<Used, Problem> {
    let bytes = disk_bytes(path);
    if remove {
        let is_folder = std::fs::symlink_metadata(path).is_ok_and(|entry| entry.is_dir());
        let removed = if is_folder { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        removed.map_err(|error| {
            Problem::new(Exit::Machine, format!("cannot remove it: {error}")).at(path.display().to_string())
        })?;
    }
    Ok(Used { path: path.to_owned(), bytes, removed: remove, to_remove: remove })
}

fn text(listed: &CleanJson, cache: &Path) -> String {
    let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
    let mut text = String::new();
    let all: u64 = listed.cache.iter().map(|used| used.bytes).sum();
    let verb = if listed.cache.iter().any(|used| used.removed) { "removed from" } else { "in" };
    text.push_str(&format!("prepared data: {} {verb} {}\n", mib(all), cache.display()));
    for used in &listed.results {
        let verb = match (used.removed, used.to_remove) {
            (true, _) => "removed",
            (false, true) => "to be removed",
            (false, false) => "kept",
        };
        text.push_str(&format!("results: {:>11} {verb}  {}\n", mib(used.bytes), used.path.display()));
    }
    if listed.results.iter().any(|used| !used.to_remove) {
        text.push_str("results are removed only if tare clean gets their names\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn results_are_removed_where_they_were_opened_and_nowhere_else() {
        let scratch = tempfile::tempdir().unwrap();
        let (path, away, precious) = ["above", "away", "precious"].map(|name| scratch.path().join(name)).into();
        fs::create_dir_all(precious.join("results/kept")).unwrap();
        let directory = Directory::create(&path.join("results"), Trust::Anyone).unwrap();
        fs::rename(&path, &away).unwrap();
        std::os::unix::fs::symlink(&precious, &path).unwrap();
        assert!(remove(&directory).is_err());
        assert!(precious.join("results/kept").exists() && away.join("results").exists());
        fs::remove_file(&path).unwrap();
        fs::rename(&away, &path).unwrap();
        remove(&directory).unwrap();
        assert!(path.exists() && !path.join("results").exists());
    }
}
