//! Reads all parts of a study cut into shards as one set of results, even if incomplete, and merges them into one
//! results directory: the same parts always give the same bytes, and more parts extend it.

use super::Sharded;
use super::parts::{self, Parts, Recorded};
use crate::directory::{self, ENVIRONMENT, ENVIRONMENTS, MOST_ENVIRONMENTS, Results, Source};
use crate::error::{DirectoryError, ReadError, io_error};
use crate::lines::{self, TRIALS};
use crate::schema::Environment;
use crate::server::SETTINGS_FILE;
use crate::store::{CAPTURES, Directory, LOGS, Writer, pretty, read_study_text};
use crate::{captures, names};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use tare_files::{Audience, FilesError, Folder, Trust, copy_without_holes};

pub(crate) fn read(sharded: &Sharded) -> Result<Results, ReadError> {
    let mut found = parts::of(sharded)?;
    names::of_plan(&mut found.plan);
    let mut audience = Audience::Anyone;
    let (mut trials, mut damaged, mut warnings, mut read_captures) =
        (Vec::new(), Vec::new(), Vec::new(), BTreeMap::new());
    for (index, part) in found.parts.iter().enumerate() {
        let folder = part.place.folder()?;
        audience = audience.max(folder.audience()?);
        let records = lines::read_packed(&folder)?;
        damaged.extend(records.damaged);
        for trial in records.trials.into_iter().filter(|trial| found.owns(index, trial.block)) {
            if !trial.captures.is_empty() {
                let (one, unread) = captures::read(&part.place, &trial);
                read_captures.insert((trial.trial, trial.attempt), one);
                warnings.extend(unread);
            }
            trials.push(trial);
        }
    }
    warnings.extend(aside_words(found.aside));
    let (trials, strangers) = lines::without_strangers(trials, Some(&found.plan));
    warnings.extend(strangers);
    let machines = machines_of(&found)?;
    let states = parts::states_of(sharded, &found);
    let open = states.iter().filter(|state| state.done < state.trials).map(|state| state.shard);
    Ok(Results {
        audience,
        distances: None,
        certified: None,
        open_shards: open.collect(),
        path: sharded.path().to_owned(),
        source: Source::Directory,
        study: found.plan.study.clone(),
        environment: machines.values().next().cloned(),
        study_toml: Some(found.study_toml.into()),
        plan: Some(found.plan),
        trials,
        captures: read_captures,
        machines,
        damaged,
        warnings,
    })
}

/// Number of left-out good trials of unfinished blocks, as a sentence; none if it is 0.
pub fn aside_words(aside: usize) -> Option<String> {
    (aside > 0).then(|| {
        format!(
            "left out: {}, because another part has more of the same blocks, and a block is never taken from two parts",
            tare_text::count(aside, "good trial")
        )
    })
}

fn machines_of(found: &Parts) -> Result<BTreeMap<String, Environment>, ReadError> {
    let (mut machines, mut left) = (BTreeMap::new(), MOST_ENVIRONMENTS);
    for part in &found.parts {
        // The name of the machine becomes the name of a file.
        if Writer::new(&part.host).is_ok()
            && !machines.contains_key(&part.host)
            && let Some(environment) = directory::environment(&part.place.folder()?, ENVIRONMENT, &mut left)?
        {
            machines.insert(part.host.clone(), environment);
        }
    }
    Ok(machines)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// Names of the machines, in alphabetical order.
    pub machines: Vec<String>,
    pub parts: usize,
    /// Number of lines of the merged `trials.jsonl`.
    pub records: usize,
    /// Good trials left out, because another machine ran more of their block.
    pub aside: usize,
    /// Trials of the schedule without a good result.
    pub missing: usize,
    /// The number of lines that are no records and were left out, of each folder that has some.
    pub damaged: Vec<(PathBuf, usize)>,
}

/// Merges studies cut into shards, or results directories with some of their blocks, into `out`.
pub fn merge(folders: &[PathBuf], out: &Path) -> Result<Merged, DirectoryError> {
    let found = parts::find(folders)?;
    let open = open(out, &found)?;
    nothing_lost(&found, open.folder())?;
    for part in &found.parts {
        if part.place.folder()?.audience()? > open.folder().audience()? {
            open.folder().make_private()?;
        }
    }
    let machines = machines_of(&found)?;
    let places = open.folder().make_sub(ENVIRONMENTS)?;
    for (host, environment) in &machines {
        places.write(&format!("{host}.json"), pretty(environment).as_bytes())?;
    }
    if let Some(first) = machines.values().next() {
        open.write(ENVIRONMENT, &pretty(first))?;
    }
    open.write_study(&found.study_toml)?;
    let records = write_records(&found, open.folder())?;
    let blocks = found.plan.trials.iter().map(|trial| (trial.trial, trial.block)).collect();
    for index in 0..found.parts.len() {
        copy_files(&found, &blocks, index, open.folder())?;
    }
    open.write("plan.json", &pretty(&found.plan))?;
    let good = |(block, part): (&usize, &usize)| found.parts[*part].good[block].len();
    Ok(Merged {
        machines: machines.into_keys().collect(),
        parts: found.parts.len(),
        records,
        aside: found.aside,
        missing: found.plan.trials.len().saturating_sub(found.owner.iter().map(good).sum()),
        damaged: found.damaged,
    })
}

/// A new directory, or an earlier merge of the same study.
fn open(out: &Path, found: &Parts) -> Result<Directory, DirectoryError> {
    // The merge executes nothing, so any owner is accepted; a run that resumes the directory checks the owner.
    let before = Folder::open(out, Trust::Anyone)?;
    let merged_before = before.as_ref().map(|before| before.sub(ENVIRONMENTS)).transpose()?.flatten().is_some();
    let Some(before) = before.filter(|_| merged_before) else { return Directory::create(out, Trust::Anyone) };
    // An interrupted merge has no plan yet, or not even the study: it is made again.
    let had_begun = before.file("study.toml")?.is_none() && before.file(TRIALS)?.is_none();
    if !had_begun && read_study_text(&before)? != found.study_toml {
        return Err(DirectoryError::NotEmpty(out.to_owned()));
    }
    Directory::lock(before)
}

/// Fails if an earlier merge has good trials that none of the parts has any more: they would be lost.
fn nothing_lost(found: &Parts, out: &Folder) -> Result<(), DirectoryError> {
    let kept: BTreeSet<usize> = found.parts.iter().flat_map(|part| part.good.values().flatten().copied()).collect();
    match parts::good_trials(out)?.difference(&kept).count() {
        0 => Ok(()),
        trials => Err(DirectoryError::WouldLose { path: out.path().to_owned(), trials }),
    }
}

fn write_records(found: &Parts, out: &Folder) -> Result<usize, DirectoryError> {
    let mut records = 0;
    let mut error = None;
    let written = out.write_with(TRIALS, |file| {
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

/// Copies logs and captures of the records that were taken from a part.
fn copy_files(
    found: &Parts,
    blocks: &BTreeMap<usize, usize>,
    index: usize,
    out: &Folder,
) -> Result<(), DirectoryError> {
    let mut taken = BTreeSet::new();
    for Recorded { trial, attempt, .. } in &found.parts[index].records {
        if blocks.get(trial).is_some_and(|block| found.owns(index, *block)) {
            taken.insert(format!("{trial:05}-{attempt}"));
        }
    }
    let ours = |name: &str| {
        let number = name.trim_end_matches(".log").trim_start_matches("trial-").trim_start_matches("server-");
        taken.contains(number)
    };
    let part = found.parts[index].place.folder()?;
    if let Some(logs) = inner(&part, LOGS)? {
        copy_folder(&logs, out, &ours)?;
    }
    let Some(captures) = inner(&part, CAPTURES)? else { return Ok(()) };
    copy_folder(&captures, out, &|name| name.starts_with(SETTINGS_FILE))?;
    let mut to = None;
    for name in captures.names()?.into_iter().filter(|name| ours(name)) {
        if let Some(of_trial) = inner(&captures, &name)? {
            let to = match &mut to {
                Some(to) => to,
                none => none.insert(out.make_sub(CAPTURES)?),
            };
            copy_folder(&of_trial, to, &|_| true)?;
        }
    }
    Ok(())
}

/// A folder of a part; a link or a file was not written by tare and is skipped.
fn inner(folder: &Folder, name: &str) -> Result<Option<Folder>, DirectoryError> {
    match folder.sub(name) {
        Err(FilesError::WrongKind { .. } | FilesError::Link(_)) => Ok(None),
        found => Ok(found?),
    }
}

/// Copies the regular files of a folder that `wanted` selects into a folder of the same name; an existing copy of the
/// same length is kept.
fn copy_folder(from: &Folder, above: &Folder, wanted: &dyn Fn(&str) -> bool) -> Result<(), DirectoryError> {
    let names: Vec<String> = from.names()?.into_iter().filter(|name| wanted(name)).collect();
    let own_name = from.path().file_name().and_then(|name| name.to_str());
    let Some(own_name) = own_name.filter(|_| !names.is_empty()) else { return Ok(()) };
    let to = above.make_sub(own_name)?;
    for name in names {
        // Anything but a regular file was not written by tare.
        let Ok(Some(file)) = from.file(&name) else { continue };
        let (source, target) = (from.path().join(&name), to.path().join(&name));
        let length = file.metadata().map_err(|e| io_error("read", &source, e))?.len();
        let there = to.file(&name).ok().flatten().and_then(|there| there.metadata().ok());
        if there.is_some_and(|there| there.len() == length) {
            continue;
        }
        let copy = to.new_copy(&name, &file)?;
        // A part of others may be a sparse file of any length.
        copy_without_holes(&file, &copy, &|| Ok(())).map_err(|e| io_error("copy", &target, e))?;
    }
    Ok(())
}
