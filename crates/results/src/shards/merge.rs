//! One results directory made of the parts that machines ran. Made again from the same parts it is the same, byte for
//! byte; made again from more of them it grows.

use super::parts::{self, Parts};
use super::read;
use crate::error::{DirectoryError, io_error};
use crate::machines::ENVIRONMENTS;
use crate::store::{Directory, pretty, read_study_text};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a merge made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// Names of the machines, in the order of the alphabet.
    pub machines: Vec<String>,
    /// Results directories that it was made of.
    pub parts: usize,
    /// How many lines the merged `trials.jsonl` has.
    pub records: usize,
    /// Good trials left out, for another machine ran their block further.
    pub aside: usize,
    /// Trials of the schedule without a good result.
    pub missing: usize,
}

/// Merges studies cut into shards, or results directories of some of their blocks, into `out`.
///
/// # Errors
/// When a folder is neither, they are of different studies, or `out` holds something else.
pub fn merge(folders: &[PathBuf], out: &Path) -> Result<Merged, DirectoryError> {
    let found = parts::find(folders)?;
    let open = open(out, &found)?;
    let machines = read::machines_of(&found)?;
    let places = open.path().join(ENVIRONMENTS);
    fs::create_dir_all(&places).map_err(|e| io_error("create", &places, e))?;
    for (host, environment) in &machines {
        open.write(&format!("{ENVIRONMENTS}/{host}.json"), &pretty(environment))?;
    }
    if let Some(first) = machines.values().next() {
        open.write("environment.json", &pretty(first))?;
    }
    open.write("study.toml", &found.study_toml)?;
    let records = write_records(&found, out)?;
    for (index, part) in found.parts.iter().enumerate() {
        copy_files(&found, index, &part.path, out)?;
    }
    open.write("plan.json", &pretty(&found.plan))?;
    let good = |(block, part): (&usize, &usize)| found.parts[*part].good[block].len();
    Ok(Merged {
        machines: machines.into_keys().collect(),
        parts: found.parts.len(),
        records,
        aside: found.aside,
        missing: found.plan.trials.len().saturating_sub(found.owner.iter().map(good).sum()),
    })
}

/// A fresh directory, or an earlier merge of the same study.
fn open(out: &Path, found: &Parts) -> Result<Directory, DirectoryError> {
    let merged_before = out.join(ENVIRONMENTS).is_dir();
    if !merged_before {
        return Directory::create(out);
    }
    // One that was interrupted has no plan yet, or not even the study: it is made again.
    let had_begun = !out.join("study.toml").exists() && !out.join("trials.jsonl").exists();
    if !had_begun && read_study_text(out)? != found.study_toml {
        return Err(DirectoryError::NotEmpty(out.to_owned()));
    }
    Directory::lock(out)
}

fn write_records(found: &Parts, out: &Path) -> Result<usize, DirectoryError> {
    let mut records = 0;
    let mut error = None;
    let written = tare_files::write_whole_with(&out.join("trials.jsonl"), |file| {
        for index in 0..found.parts.len() {
            let one = parts::each_line(found, index, |line| {
                records += 1;
                file.write_all(line)
            });
            if let Err(e) = one {
                error = Some(e);
                return Err(io::Error::other("a part cannot be read"));
            }
        }
        Ok(())
    });
    if let Some(error) = error {
        return Err(error.into());
    }
    written?;
    Ok(records)
}

/// Logs and captures of the records that were taken from a part.
fn copy_files(found: &Parts, index: usize, from: &Path, out: &Path) -> Result<(), DirectoryError> {
    let block_of = |trial: usize| found.plan.trials.get(trial).filter(|t| t.trial == trial).map(|t| t.block);
    let mut taken = BTreeSet::new();
    for (trial, attempt) in &found.parts[index].records {
        if block_of(*trial).is_some_and(|block| found.owns(index, block)) {
            taken.insert(format!("{trial:05}-{attempt}"));
        }
    }
    let ours = |name: &str| {
        let number = name.trim_end_matches(".log").trim_start_matches("trial-").trim_start_matches("server-");
        taken.contains(number)
    };
    copy_folder(&from.join("logs"), &out.join("logs"), &ours)?;
    for name in names(&from.join("captures")).into_iter().filter(|name| ours(name)) {
        copy_folder(&from.join("captures").join(&name), &out.join("captures").join(&name), &|_| true)?;
    }
    Ok(())
}

/// Copies the regular files of a folder that `wanted` says; one that is there already as long is left.
fn copy_folder(from: &Path, to: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<(), DirectoryError> {
    let names: Vec<String> = names(from).into_iter().filter(|name| wanted(name)).collect();
    if names.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(to).map_err(|e| io_error("create", to, e))?;
    for name in names {
        let (source, target) = (from.join(&name), to.join(&name));
        // What is no plain file is nothing that tare wrote.
        let Ok(Some(mut file)) = tare_files::open_regular(&source) else { continue };
        let length = file.metadata().map_err(|e| io_error("read", &source, e))?.len();
        if fs::symlink_metadata(&target).is_ok_and(|there| there.is_file() && there.len() == length) {
            continue;
        }
        let mut copy = tare_files::open_new_log(&target)?;
        io::copy(&mut file, &mut copy).map_err(|e| io_error("copy", &target, e))?;
    }
    Ok(())
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    names
}
