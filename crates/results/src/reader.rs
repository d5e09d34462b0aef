//! The way in for results: a results directory or a CSV file.

use super::limits::MOST_CONDITIONS;
use super::shards::{self, Sharded};
use super::{ReadError, Results, csv, directory};
use std::collections::HashSet;
use std::path::Path;
use tare_files::Trust;

/// Reads a results directory, a study cut into shards, or a CSV file, as data: no link inside is followed, and nothing
/// is written.
///
/// # Errors
/// [`ReadError`] when it is missing, unreadable, malformed or of a newer schema. A damaged line of a file of records is
/// set aside: [`Results::damaged`].
pub fn open(path: &Path) -> Result<Results, ReadError> {
    let metadata = std::fs::metadata(path).map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
    let results = match metadata.is_dir() {
        true if Sharded::open(path, Trust::Anyone)?.is_some() => shards::read(path),
        true => directory::read(path),
        false => csv::read(path),
    }?;
    let planned = results.plan.iter().flat_map(|plan| &plan.conditions).map(|condition| condition.name.as_str());
    let measured = results.trials.iter().map(|trial| trial.condition.as_str());
    let conditions = planned.chain(measured).collect::<HashSet<_>>().len();
    match conditions > MOST_CONDITIONS {
        true => Err(ReadError::TooManyConditions { path: path.to_owned(), found: conditions }),
        false => Ok(results),
    }
}
