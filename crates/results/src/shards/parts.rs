//! What was run, part by part, and which part a block is taken from.

use super::Sharded;
use crate::error::ReadError;
use crate::lines;
use crate::schema::{Outcome, Plan, RanOn};
use crate::{directory, store};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// What a record must tell to be put in its place; the rest of the line is not looked at.
#[derive(Deserialize)]
struct Head {
    trial: usize,
    attempt: u32,
    block: usize,
    outcome: Outcome,
    #[serde(default)]
    ran_on: Option<RanOn>,
}

/// A results directory that holds some blocks of a study.
#[derive(Debug)]
pub(super) struct Part {
    /// Its results directory, wherever it was found.
    pub path: PathBuf,
    /// Where its first record was made.
    pub host: String,
    /// The trials with a good result, by block.
    pub good: BTreeMap<usize, BTreeSet<usize>>,
    /// Trial and attempt of every record.
    pub records: BTreeSet<(usize, u32)>,
}

/// Parts of one study, and whose each block is.
#[derive(Debug)]
pub(super) struct Parts {
    pub parts: Vec<Part>,
    /// The schedule of all of them together, by trial; the conditions of the first.
    pub plan: Plan,
    pub study_toml: String,
    /// The part that each block is taken from.
    pub owner: BTreeMap<usize, usize>,
    /// Good trials of blocks that another part ran further.
    pub aside: usize,
}

impl Parts {
    /// Whether a block is taken from this part.
    pub fn owns(&self, part: usize, block: usize) -> bool {
        self.owner.get(&block) == Some(&part)
    }
}

/// The parts in some folders: results directories, or studies cut into shards.
///
/// # Errors
/// When a folder is neither, cannot be read, or belongs to another study than the first.
pub(super) fn find(folders: &[PathBuf]) -> Result<Parts, ReadError> {
    let mut paths = Vec::new();
    let mut whole: Option<Plan> = None;
    for folder in folders {
        match Sharded::open(folder)? {
            Some(sharded) => {
                paths.extend(below(&sharded)?);
                whole = Some(sharded.plan().clone());
            }
            None => paths.push(folder.clone()),
        }
    }
    let (mut parts, mut all, mut toml) = (Vec::new(), whole, None);
    for path in paths {
        let plan = directory::read_plan(&path)?;
        let text = store::read_study_text(&path).map_err(|_| ReadError::NotResults { path: path.clone() })?;
        let first = toml.get_or_insert_with(|| text.clone());
        let all = all.get_or_insert_with(|| plan.clone());
        if *first != text || all.seed != plan.seed {
            return Err(ReadError::OtherStudy { path, study: plan.study });
        }
        let known: BTreeSet<usize> = all.trials.iter().map(|trial| trial.trial).collect();
        all.trials.extend(plan.trials.into_iter().filter(|trial| !known.contains(&trial.trial)));
        if let Some(part) = read_heads(&path)? {
            parts.push(part);
        }
    }
    let missing = || ReadError::NotResults { path: folders.first().cloned().unwrap_or_default() };
    let mut plan = all.ok_or_else(missing)?;
    plan.machine = None;
    plan.trials.sort_by_key(|trial| trial.trial);
    let study_toml = match toml {
        Some(toml) => toml,
        None => folders.first().and_then(|folder| store::read_study_text(folder).ok()).ok_or_else(missing)?,
    };
    let (owner, aside) = choose(&parts);
    Ok(Parts { parts, plan, study_toml, owner, aside })
}

/// The results directories of a cut study, in the order of shards and then of machines' names.
pub(super) fn below(sharded: &Sharded) -> Result<Vec<PathBuf>, ReadError> {
    let shards = (0..sharded.count()).map(|index| of_shard(sharded, index));
    Ok(shards.collect::<Result<Vec<_>, _>>()?.concat())
}

/// The results directories of one shard, by their machines' names.
fn of_shard(sharded: &Sharded, index: usize) -> Result<Vec<PathBuf>, ReadError> {
    let shard = sharded.shard(index);
    let failed = |source| ReadError::Io { path: shard.clone(), source };
    let entries = match std::fs::read_dir(&shard) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut parts = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        // Of a machine that died before it had written its plan there is nothing.
        if path.join("plan.json").is_file() {
            parts.push(path);
        }
    }
    parts.sort();
    Ok(parts)
}

/// Blocks of a shard of which one machine has every trial.
///
/// # Errors
/// When a part cannot be read.
pub fn finished_blocks(sharded: &Sharded, index: usize) -> Result<BTreeSet<usize>, ReadError> {
    let mut wanted: BTreeMap<usize, usize> = BTreeMap::new();
    for trial in &sharded.plan().trials {
        *wanted.entry(trial.block).or_default() += 1;
    }
    let mut done = BTreeSet::new();
    for path in of_shard(sharded, index)? {
        let good = read_heads(&path)?.map(|part| part.good).unwrap_or_default();
        done.extend(good.iter().filter(|(block, good)| wanted.get(block) == Some(&good.len())).map(|(block, _)| block));
    }
    Ok(done)
}

/// None when nothing was recorded.
fn read_heads(path: &Path) -> Result<Option<Part>, ReadError> {
    let mut part = Part { path: path.to_owned(), host: String::new(), good: BTreeMap::new(), records: BTreeSet::new() };
    each_record(path, |head, _| {
        if let Some(ran_on) = &head.ran_on
            && part.host.is_empty()
        {
            part.host = ran_on.host.clone();
        }
        part.records.insert((head.trial, head.attempt));
        if head.outcome == Outcome::Ok {
            part.good.entry(head.block).or_default().insert(head.trial);
        }
        Ok(())
    })?;
    Ok((!part.records.is_empty()).then_some(part))
}

/// Goes through the lines that are records; damaged ones are said when the results are read.
fn each_record(path: &Path, mut each: impl FnMut(&Head, &[u8]) -> Result<(), std::io::Error>) -> Result<(), ReadError> {
    for file in lines::files(path)? {
        let Some(open) = tare_files::open_regular(&file)? else { continue };
        let failed = |source| ReadError::Io { path: file.clone(), source };
        let mut reader = BufReader::new(open);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).map_err(failed)? > 0 {
            if let Ok(head) = serde_json::from_slice::<Head>(&line)
                && line.ends_with(b"\n")
            {
                each(&head, &line).map_err(failed)?;
            }
            line.clear();
        }
    }
    Ok(())
}

/// The lines of a part's records of the blocks that are taken from it.
pub(super) fn each_line(
    parts: &Parts,
    index: usize,
    mut each: impl FnMut(&[u8]) -> Result<(), std::io::Error>,
) -> Result<(), ReadError> {
    let mut seen = BTreeSet::new();
    each_record(&parts.parts[index].path, |head, line| {
        let first = parts.owns(index, head.block) && seen.insert((head.trial, head.attempt));
        if first { each(line) } else { Ok(()) }
    })
}

/// A block is taken whole from the part that has most of it; of two that have as much, from the first. Never from two:
/// its conditions would have been compared across machines.
fn choose(parts: &[Part]) -> (BTreeMap<usize, usize>, usize) {
    let mut owner: BTreeMap<usize, usize> = BTreeMap::new();
    for (index, part) in parts.iter().enumerate() {
        for (block, good) in &part.good {
            let best = owner.entry(*block).or_insert(index);
            if parts[*best].good.get(block).map_or(0, BTreeSet::len) < good.len() {
                *best = index;
            }
        }
    }
    let mut aside = 0;
    for (index, part) in parts.iter().enumerate() {
        for (block, good) in part.good.iter().filter(|(block, _)| owner[block] != index) {
            let winner = &parts[owner[block]];
            let same = winner.host == part.host && winner.good.get(block) == Some(good);
            aside += if same { 0 } else { good.len() };
        }
    }
    (owner, aside)
}

/// How far a shard is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShardState {
    /// Its number, from 0.
    pub shard: usize,
    /// Trials that it has.
    pub trials: usize,
    /// Those with a good result.
    pub done: usize,
    /// The machines that ran it.
    pub hosts: Vec<String>,
}

/// How far each shard of a cut study is.
///
/// # Errors
/// When a part cannot be read.
pub fn states(sharded: &Sharded) -> Result<Vec<ShardState>, ReadError> {
    Ok(states_of(sharded, &find(&[sharded.path().to_owned()])?))
}

/// States of shards whose parts were found already.
pub(super) fn states_of(sharded: &Sharded, found: &Parts) -> Vec<ShardState> {
    let state = |shard: usize| {
        let own = |block: &usize| sharded.owns(shard, *block);
        let trials = sharded.plan().trials.iter().filter(|trial| own(&trial.block)).count();
        let taken = found.owner.iter().filter(|(block, _)| own(block));
        let done = taken.clone().map(|(block, part)| found.parts[*part].good[block].len()).sum();
        let hosts: BTreeSet<String> = taken.map(|(_, part)| found.parts[*part].host.clone()).collect();
        ShardState { shard, trials, done, hosts: hosts.into_iter().collect() }
    };
    (0..sharded.count()).map(state).collect()
}
