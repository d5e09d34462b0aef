//! Twins of a side: variants that differ only in properties that should not affect performance.

use super::ab_sides::Side;
use super::{Problem, interrupt};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tare_drive::workload::AnyLoad;
use tare_drive::workload::program::CommandLine;
use tare_files::{Folder, Trust};
use tare_findings::certificate::Twin;
use tare_study::language::spec::Study;

/// The directory of copies, below the results; its path is longer than that of most programs.
const FOLDER: &str = "a-copy-of-the-same-program-at-a-path-of-another-length";
/// Size of the additional environment, bytes: it moves the stack by several pages and part of a page.
const ENVIRONMENT_BYTES: usize = 20_011;

/// A twin with its side, or the reason why it cannot be made.
pub type Made = (Twin, Result<Vec<Side>, String>);

/// The twins of a side for a study, with another link of its sources if one was named. Copies are made below `out`.
///
/// # Errors
/// When the results directory cannot be made or is not trusted: the copies run from there.
pub(crate) fn twins(
    study: &Study,
    own: &[Side],
    relinked: Option<&Side>,
    out: &Path,
    trust: Trust,
) -> Result<Vec<Made>, Problem> {
    Folder::open_or_create(out, trust)?;
    let command = own.iter().find(|side| side.factor_name() == "command");
    let (copy, layout) = match command {
        Some(command) => (copied_command(command.level(), out), Err("a command has its own environment".to_owned())),
        None if matches!(study.base.workload.load, AnyLoad::Counters(_)) => {
            (Err("this load has no server".to_owned()), Err("this load has no server".to_owned()))
        }
        None => (copied_server(study, own, out), Ok(Side::of("environment_bytes", ENVIRONMENT_BYTES))),
    };
    let with = |side: Side| {
        let others = own.iter().filter(|other| other.factor_name() != side.factor_name());
        others.cloned().chain([side.clone()]).collect()
    };
    let mut twins =
        vec![(Twin::Same, Ok(own.to_vec())), (Twin::Copy, copy.map(with)), (Twin::Layout, layout.map(with))];
    twins.extend(relinked.map(|relinked| (Twin::Relinked, Ok(with(relinked.clone())))));
    Ok(twins)
}

/// Removes the copies, which are identical to their originals, and the results directory if it is then empty.
pub(crate) fn remove(out: &Path) {
    drop(fs::remove_dir_all(out.join(FOLDER)));
    drop(fs::remove_dir(out));
}

fn copied_command(command: &str, out: &Path) -> Result<Side, String> {
    let command = CommandLine::new(command)?;
    let (program, rest) = command.program_and_rest().ok_or("it names no program")?;
    let found = found(&program).ok_or_else(|| format!("{program} is not a file that can be copied"))?;
    let name = found.file_name().ok_or("the program has no name")?;
    let copy = place(out)?.join(name);
    copied(found.clone(), copy.clone()).map_err(|error| format!("cannot copy {}: {error}", found.display()))?;
    let path = copy.to_str().ok_or_else(|| format!("the path of the copy is not UTF-8: {}", copy.display()))?;
    Ok(Side::of("command", format!("{}{rest}", tare_text::quoted(path))))
}

/// Resolves a program by its path or, like a shell, in `PATH`.
fn found(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return std::path::absolute(program).ok().filter(|path| path.is_file());
    }
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|folder| folder.join(program)).find(|path| path.is_file())
}

fn copied_server(study: &Study, own: &[Side], out: &Path) -> Result<Side, String> {
    if own.iter().any(|side| matches!(side.factor_name(), "build" | "engine")) {
        return Err("name the program with binary=PATH, so that it can be copied".to_owned());
    }
    let named = own.iter().find(|side| side.factor_name() == "binary").map(|side| PathBuf::from(side.level()));
    let named = named.or_else(|| study.base.engine.binary.clone());
    let program = study.base.engine.kind.binary(named.as_deref()).map_err(|error| error.to_string())?.path;
    let copy =
        with_its_tree(&program, &place(out)?).map_err(|error| format!("cannot copy {}: {error}", program.display()))?;
    Ok(Side::of("binary", copy.display()))
}

fn place(out: &Path) -> Result<PathBuf, String> {
    let place = std::path::absolute(out.join(FOLDER)).map_err(|error| error.to_string())?;
    // An existing directory was made by another process, so that `create_dir` must fail.
    fs::create_dir(&place).map_err(|error| format!("cannot make {}: {error}", place.display()))?;
    Ok(place)
}

/// Copies a program and links everything around it, because a server finds messages and scripts relative to its path.
fn with_its_tree(program: &Path, place: &Path) -> io::Result<PathBuf> {
    let program = fs::canonicalize(program)?;
    let missing = || io::Error::new(io::ErrorKind::InvalidInput, "it is not in a folder");
    let bin = program.parent().ok_or_else(missing)?;
    let tree = bin.parent().ok_or_else(missing)?;
    let name = |path: &Path| path.file_name().map(ToOwned::to_owned).ok_or_else(missing);
    let folder = place.join(name(bin)?);
    fs::create_dir(&folder)?;
    link_all(tree, place, bin)?;
    link_all(bin, &folder, &program)?;
    let copy = folder.join(name(&program)?);
    copied(program, copy.clone())?;
    Ok(copy)
}

/// Copies in a thread of its own, so that a signal need not wait for the rest of a large or endless file.
fn copied(from: PathBuf, to: PathBuf) -> io::Result<()> {
    interrupt::awaited(move || fs::copy(from, to).map(drop))
}

fn link_all(from: &Path, to: &Path, but: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        if let (true, Some(name)) = (path != but, path.file_name()) {
            symlink(&path, to.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_command_with_spaces_in_its_paths_runs_the_copy_with_the_same_arguments() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("my prog");
        fs::write(&program, "program").unwrap();
        for (number, (written, rest)) in [
            (format!("'{}' -x 'two words'", program.display()), " -x 'two words'"),
            (program.display().to_string().replace(' ', "\\ "), ""),
            (format!("\"{}\" | tail -1", program.display()), " | tail -1"),
        ]
        .into_iter()
        .enumerate()
        {
            let out = folder.path().join(format!("results {number}"));
            fs::create_dir(&out).unwrap();
            let copy = out.join(FOLDER).join("my prog");
            let side = copied_command(&written, &out).unwrap();
            assert_eq!(side.level(), format!("'{}'{rest}", copy.display()), "{written}");
            assert_eq!(fs::read_to_string(copy).unwrap(), "program");
        }
        assert!(copied_command("'open quote", folder.path()).is_err());
    }

    #[test]
    fn a_copied_program_has_links_to_its_original_surroundings() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("server");
        for name in ["bin", "share"] {
            fs::create_dir_all(tree.join(name)).unwrap();
        }
        fs::write(tree.join("bin/serverd"), "program").unwrap();
        fs::write(tree.join("bin/helper"), "helper").unwrap();
        let place = folder.path().join("copy");
        fs::create_dir(&place).unwrap();
        let copy = with_its_tree(&tree.join("bin/serverd"), &place).unwrap();
        assert_eq!(copy, place.join("bin/serverd"));
        assert!(fs::symlink_metadata(&copy).unwrap().is_file(), "the program is bytes of its own");
        assert_eq!(fs::read_to_string(place.join("bin/helper")).unwrap(), "helper");
        assert!(fs::symlink_metadata(place.join("share")).unwrap().is_symlink());
    }
}
