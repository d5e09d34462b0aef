//! The parts of a study that machines ran, and the part that each block is taken from.

use super::Sharded;
use crate::error::{DirectoryError, ReadError};
use crate::limits::{MOST_RECORDS, MOST_TRIALS};
use crate::place::Place;
use crate::schema::{Outcome, Plan, PlannedTrial, TrialRecord};
use crate::store::Directory;
use crate::{directory, lines, store};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use tare_files::{FilesError, Folder, Trust};

/// A results directory with some blocks of a study.
#[derive(Debug)]
pub(super) struct Part {
    /// Its results directory, wherever it was found.
    pub place: Place,
    /// The machine of its first record.
    pub host: String,
    /// The trials with a good result, by block.
    pub good: BTreeMap<usize, BTreeSet<usize>>,
    /// The first record of each attempt, in the order of files and lines.
    pub records: Vec<Recorded>,
}

/// A record that can be analysed, and the place of its line.
#[derive(Debug)]
pub(super) struct Recorded {
    pub trial: usize,
    pub attempt: u32,
    block: usize,
    line: Line,
}

#[derive(Debug)]
struct Line {
    file: Rc<str>,
    from: u64,
    length: usize,
}

/// Parts of one study, with the owner of each block.
#[derive(Debug)]
pub(super) struct Parts {
    pub parts: Vec<Part>,
    /// The combined schedule, by trial; the conditions are those of the first part.
    pub plan: Plan,
    pub study_toml: String,
    pub owner: BTreeMap<usize, usize>,
    /// Good trials of blocks of which another part ran more.
    pub aside: usize,
    /// The number of lines that are no records, of each folder that has some.
    pub damaged: Vec<(PathBuf, usize)>,
}

impl Parts {
    pub(crate) fn owns(&self, part: usize, block: usize) -> bool {
        self.owner.get(&block) == Some(&part)
    }
}

/// The parts in some folders: results directories, or studies cut into shards.
pub(super) fn find(folders: &[PathBuf]) -> Result<Parts, ReadError> {
    let (mut places, mut cut) = (Vec::new(), None);
    for path in folders {
        let missing = || ReadError::Io { path: path.clone(), source: ErrorKind::NotFound.into() };
        let folder = Folder::open(path, Trust::Anyone)?.ok_or_else(missing)?;
        match Sharded::of(folder.again()?)? {
            Some(sharded) => {
                places.extend(below(&sharded)?);
                cut.get_or_insert(sharded);
            }
            None => places.push(Place::of(Arc::new(folder))),
        }
    }
    together(places, cut.as_ref())
}

pub(super) fn of(sharded: &Sharded) -> Result<Parts, ReadError> {
    together(below(sharded)?, Some(sharded))
}

fn together(places: Vec<Place>, cut: Option<&Sharded>) -> Result<Parts, ReadError> {
    let (mut parts, mut records, mut damaged) = (Vec::new(), 0, Vec::new());
    let too_many = |path, what, limit| ReadError::TooMany { path, what, limit };
    let mut toml = cut.map(|cut| study_text(cut.folder())).transpose()?;
    // A study cut into shards has its whole schedule; other parts make up the schedule together.
    let (is_whole, mut all) = (cut.is_some(), cut.map(|cut| cut.plan().clone()));
    // One for all parts: there may be as many of them as trials.
    let mut schedule = all.as_mut().map(|all| by_number(std::mem::take(&mut all.trials))).unwrap_or_default();
    for place in places {
        let folder = place.folder()?;
        let plan = directory::read_plan(&folder)?;
        let text = study_text(&folder)?;
        let first = toml.get_or_insert_with(|| text.clone());
        let all = all.get_or_insert_with(|| Plan { trials: Vec::new(), ..plan.clone() });
        if *first != text || !agree(all, &plan) || !fits(&schedule, &plan, is_whole) {
            return Err(ReadError::OtherStudy { path: place.path(), study: plan.study });
        }
        schedule.extend(plan.trials.into_iter().map(|trial| (trial.trial, trial)));
        if schedule.len() > MOST_TRIALS {
            return Err(too_many(place.path(), "trials", MOST_TRIALS));
        }
        let path = place.path();
        let (part, lines) = read_part(place, &schedule)?;
        records += lines + part.as_ref().map_or(0, |part| part.records.len());
        if records > MOST_RECORDS {
            return Err(too_many(path, "records", MOST_RECORDS));
        }
        if lines > 0 {
            damaged.push((path, lines));
        }
        parts.extend(part);
    }
    let missing = || ReadError::NotResults { path: PathBuf::new() };
    let mut plan = all.ok_or_else(missing)?;
    plan.machine = None;
    plan.trials = schedule.into_values().collect();
    let (owner, aside) = choose(&parts);
    Ok(Parts { parts, plan, study_toml: toml.ok_or_else(missing)?, owner, aside, damaged })
}

fn study_text(folder: &Folder) -> Result<String, ReadError> {
    store::read_study_text(folder).map_err(|_| ReadError::NotResults { path: folder.path().to_owned() })
}

/// The results directories of a study cut into shards, ordered by shard and then by machine name.
fn below(sharded: &Sharded) -> Result<Vec<Place>, ReadError> {
    let shards = (0..sharded.count()).map(|index| of_shard(sharded, index));
    Ok(shards.collect::<Result<Vec<_>, _>>()?.concat())
}

/// The results directories of one shard, by machine name.
fn of_shard(sharded: &Sharded, index: usize) -> Result<Vec<Place>, ReadError> {
    let name = Sharded::shard(index);
    let Some(shard) = sharded.folder().sub(&name)? else { return Ok(Vec::new()) };
    let place = sharded.place().sub(&name);
    let mut parts = Vec::new();
    for name in shard.names()? {
        // A file is no part, but a link may stand for one.
        let part = match shard.sub(&name) {
            Err(FilesError::WrongKind { path, .. }) if path.is_symlink() => return Err(FilesError::Link(path).into()),
            Err(FilesError::WrongKind { .. }) => None,
            part => part?,
        };
        let Some(part) = part else { continue };
        if part.file("plan.json")?.is_some() {
            parts.push(place.sub(&name));
        } else if lines::opened(&part)?.iter().any(|(_, records)| records.limit() > 0) {
            // A machine that died before it wrote its plan has no records yet.
            return Err(ReadError::NoPlan { path: part.path().to_owned() });
        }
    }
    Ok(parts)
}

/// Blocks of a shard for which one machine has every trial.
pub fn finished_blocks(sharded: &Sharded, index: usize) -> Result<BTreeSet<usize>, ReadError> {
    let (wanted, schedule) = (sharded.plan().blocks(), by_number(sharded.plan().trials.clone()));
    let mut done = BTreeSet::new();
    for place in of_shard(sharded, index)? {
        let good = read_part(place, &schedule)?.0.map(|part| part.good).unwrap_or_default();
        done.extend(
            good.iter()
                .filter(|(block, good)| wanted.get(block).map(Vec::len) == Some(good.len()))
                .map(|(block, _)| block),
        );
    }
    Ok(done)
}

/// Moves the damaged lines of every part to files next to their own, and returns them.
///
/// # Errors
/// As [`crate::repair`], and while a run of a shard goes on.
pub fn repair(sharded: &Sharded) -> Result<Vec<lines::DamagedLine>, DirectoryError> {
    let mut damaged = Vec::new();
    for index in 0..sharded.count() {
        let _taken = sharded.take(index)?;
        for place in of_shard(sharded, index)? {
            let part = Directory::resume_in(place.folder()?)?;
            damaged.extend(lines::repair(part.folder())?);
        }
    }
    Ok(damaged)
}

/// None if nothing was recorded; also the number of lines that are no records. Records of trials that the schedule does
/// not have do not make a part the owner of a block.
fn read_part(place: Place, schedule: &Schedule) -> Result<(Option<Part>, usize), ReadError> {
    let folder = place.folder()?;
    let mut part = Part { place, host: String::new(), good: BTreeMap::new(), records: Vec::new() };
    let mut seen = BTreeSet::new();
    let damaged = each_record(&folder, |record, line| {
        if let Some(ran_on) = &record.ran_on
            && part.host.is_empty()
        {
            part.host = tare_text::shown_name(&ran_on.host).into_owned();
        }
        // Of two records of one attempt the first is analysed, and none of another condition.
        let (trial, attempt, block) = (record.trial, record.attempt, record.block);
        let is_first = seen.insert((trial, attempt));
        if is_first {
            part.records.push(Recorded { trial, attempt, block, line });
        }
        let planned = schedule.get(&trial).filter(|planned| planned.condition == record.condition);
        if is_first && record.outcome == Outcome::Ok && planned.is_some_and(|planned| planned.block == block) {
            part.good.entry(block).or_default().insert(trial);
        }
    })?;
    Ok(((!part.records.is_empty()).then_some(part), damaged))
}

/// The trials of a folder with a good result.
pub(super) fn good_trials(folder: &Folder) -> Result<BTreeSet<usize>, ReadError> {
    let mut good = BTreeSet::new();
    each_record(folder, |record, _| {
        if record.outcome == Outcome::Ok {
            good.insert(record.trial);
        }
    })?;
    Ok(good)
}

/// Calls `each` for every record that can be analysed. Returns the number of other lines: damaged, or not written to
/// their end yet.
fn each_record(folder: &Folder, mut each: impl FnMut(TrialRecord, Line)) -> Result<usize, ReadError> {
    let (mut all, mut damaged) = (0, 0);
    for (name, open) in lines::opened(folder)? {
        let path = folder.path().join(&name);
        let file: Rc<str> = name.into();
        lines::each_record(open, &path, false, |place, record| {
            all += 1;
            if all > MOST_RECORDS {
                return Err(ReadError::TooMany { path: path.clone(), what: "records", limit: MOST_RECORDS });
            }
            match record {
                Ok(record) if place.is_whole => {
                    each(record, Line { file: Rc::clone(&file), from: place.from, length: place.length });
                }
                _ => damaged += 1,
            }
            Ok(())
        })?;
    }
    Ok(damaged)
}

/// The lines of a part's records, for the blocks that are taken from it.
pub(super) fn each_line(
    parts: &Parts,
    index: usize,
    mut each: impl FnMut(&[u8]) -> Result<(), std::io::Error>,
) -> Result<(), ReadError> {
    let part = &parts.parts[index];
    let files: BTreeMap<String, File> =
        lines::opened(&part.place.folder()?)?.into_iter().map(|(name, open)| (name, open.into_inner())).collect();
    let mut bytes = Vec::new();
    for Recorded { line, .. } in part.records.iter().filter(|one| parts.owns(index, one.block)) {
        bytes.resize(line.length, 0);
        let file = files.get(&*line.file).ok_or_else(|| ErrorKind::NotFound.into());
        let read = file.and_then(|file| file.read_exact_at(&mut bytes, line.from)).and_then(|()| each(&bytes));
        read.map_err(|source| ReadError::Io { path: part.place.path().join(&*line.file), source })?;
    }
    Ok(())
}

/// Assigns each block to the part that has most of it, and to the first of two that have equally much. A block is never
/// taken from two parts, because its conditions would be compared across machines.
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShardState {
    /// Its number, from 0.
    pub shard: usize,
    pub trials: usize,
    pub done: usize,
    pub hosts: BTreeSet<String>,
}

/// The progress of each shard of a study cut into shards.
pub fn states(sharded: &Sharded) -> Result<Vec<ShardState>, ReadError> {
    Ok(states_of(sharded, &of(sharded)?))
}

pub(super) fn states_of(sharded: &Sharded, found: &Parts) -> Vec<ShardState> {
    let none = |shard| ShardState { shard, trials: 0, done: 0, hosts: BTreeSet::new() };
    let mut states: Vec<ShardState> = (0..sharded.count()).map(none).collect();
    for trial in &sharded.plan().trials {
        states[sharded.shard_of(trial.block)].trials += 1;
    }
    for (block, part) in &found.owner {
        let (part, state) = (&found.parts[*part], &mut states[sharded.shard_of(*block)]);
        state.done += part.good[block].len();
        state.hosts.insert(part.host.clone());
    }
    states
}

type Schedule = BTreeMap<usize, PlannedTrial>;

fn by_number(trials: Vec<PlannedTrial>) -> Schedule {
    trials.into_iter().map(|trial| (trial.trial, trial)).collect()
}

/// Whether two plans are of one study, with the same seed and the same conditions.
fn agree(all: &Plan, part: &Plan) -> bool {
    let [all_of, part_of] = [all, part].map(|plan| plan.conditions.iter().map(|one| (&one.name, &one.levels)));
    all.study == part.study && all.seed == part.seed && all_of.eq(part_of)
}

/// Whether a part's trials belong to the schedule: every common trial is the same. If the schedule is the whole one,
/// the part must not have other trials.
fn fits(schedule: &Schedule, part: &Plan, is_whole: bool) -> bool {
    part.trials.iter().all(|trial| match schedule.get(&trial.trial) {
        Some(planned) => planned == trial,
        None => !is_whole,
    })
}
