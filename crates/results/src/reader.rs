//! Opens results: a results directory or a CSV file.

use super::limits::{MOST_CONDITIONS, MOST_METRICS_OF_RECORDS};
use super::place::folder;
use super::shards::{self, Sharded};
use super::{ReadError, Results, csv, directory};
use std::collections::HashSet;
use std::path::Path;
use tare_files::{Folder, Trust};

/// Reads a results directory, a study cut into shards, or a CSV file. Links inside are not followed, and nothing is
/// written.
///
/// # Errors
/// [`ReadError`] if it is missing, unreadable, malformed or of a newer schema. A damaged line of a file of records is
/// set aside: [`Results::damaged`].
pub fn open(path: &Path) -> Result<Results, ReadError> {
    match folder(path, Trust::Anyone)? {
        Some(folder) => open_folder(&folder),
        None => few_enough(csv::read(path)?),
    }
}

/// Reads the results directory of an open handle, even if its path is replaced.
pub fn open_folder(folder: &Folder) -> Result<Results, ReadError> {
    let audience = folder.audience()?;
    let results = match Sharded::of(folder.again()?)? {
        Some(sharded) => shards::read(&sharded),
        None => directory::read(folder),
    }?;
    few_enough(Results { audience: audience.max(results.audience), ..results })
}

fn few_enough(results: Results) -> Result<Results, ReadError> {
    let planned = results.plan.iter().flat_map(|plan| &plan.conditions).map(|condition| condition.name.as_str());
    let measured = results.trials.iter().map(|trial| trial.condition.as_str());
    let conditions = planned.chain(measured).collect::<HashSet<_>>().len();
    if conditions > MOST_CONDITIONS {
        return Err(ReadError::TooManyConditions { path: results.path, found: conditions });
    }
    let mut metrics = HashSet::new();
    let too_many = results.trials.iter().any(|trial| {
        metrics.extend(trial.metric_names());
        metrics.len() > MOST_METRICS_OF_RECORDS
    });
    match too_many {
        true => Err(ReadError::TooMany { path: results.path, what: "metrics", limit: MOST_METRICS_OF_RECORDS }),
        false => Ok(results),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use tare_files::Audience;

    /// Regression test: another user's folder was briefly replaced by a link to root's private results, and their
    /// export became readable by everyone, because the audience was determined from the path again.
    #[test]
    fn the_audience_of_results_comes_from_the_opened_files_and_not_their_path() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str, mode: u32| {
            let path = directory.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("plan.json"), serde_json::to_string(&crate::schema::Plan::default()).unwrap()).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            path
        };
        let (private, shown) = (at("private", 0o700), at("shown", 0o755));
        let name = directory.path().join("name");
        std::os::unix::fs::symlink(&private, &name).unwrap();
        let folder = Folder::open(&name, Trust::Anyone).unwrap().unwrap();
        fs::remove_file(&name).unwrap();
        std::os::unix::fs::symlink(&shown, &name).unwrap();
        assert_eq!(open_folder(&folder).unwrap().audience, Audience::Owner);
        assert_eq!(open(&name).unwrap().audience, Audience::Anyone);
        let csv = directory.path().join("x.csv");
        fs::write(&csv, "condition,trial,sample,metric,value\na,0,0,tps,1\n").unwrap();
        for (mode, audience) in [(0o644, Audience::Anyone), (0o600, Audience::Owner)] {
            fs::set_permissions(&csv, Permissions::from_mode(mode)).unwrap();
            assert_eq!(open(&csv).unwrap().audience, audience);
        }
    }
}
