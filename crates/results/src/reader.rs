//! The way in for results: a results directory or a CSV file.

use super::limits::MOST_CONDITIONS;
use super::place::folder;
use super::shards::{self, Sharded};
use super::{ReadError, Results, csv, directory};
use std::collections::HashSet;
use std::path::Path;
use tare_files::{Folder, Trust};

/// Reads a results directory, a study cut into shards, or a CSV file, as data: no link inside is followed, and nothing
/// is written.
///
/// # Errors
/// [`ReadError`] when it is missing, unreadable, malformed or of a newer schema. A damaged line of a file of records is
/// set aside: [`Results::damaged`].
pub fn open(path: &Path) -> Result<Results, ReadError> {
    match folder(path, Trust::Anyone)? {
        Some(folder) => open_folder(&folder),
        None => few_enough(csv::read(path)?),
    }
}

/// Reads the results directory that a handle leads to, whatever its name leads to meanwhile.
///
/// # Errors
/// As [`open`].
pub fn open_folder(folder: &Folder) -> Result<Results, ReadError> {
    few_enough(match Sharded::of(folder.again()?)? {
        Some(sharded) => shards::read(&sharded),
        None => directory::read(folder),
    }?)
}

fn few_enough(results: Results) -> Result<Results, ReadError> {
    let planned = results.plan.iter().flat_map(|plan| &plan.conditions).map(|condition| condition.name.as_str());
    let measured = results.trials.iter().map(|trial| trial.condition.as_str());
    let conditions = planned.chain(measured).collect::<HashSet<_>>().len();
    match conditions > MOST_CONDITIONS {
        true => Err(ReadError::TooManyConditions { path: results.path, found: conditions }),
        false => Ok(results),
    }
}
