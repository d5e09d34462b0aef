//! The machines of a results directory that was merged from several.

use super::error::ReadError;
use super::lines;
use super::schema::Environment;
use std::collections::BTreeMap;
use std::path::Path;

/// The largest description of a machine that is read, bytes.
const LARGEST: u64 = 64 << 20;
/// The folder that holds the environment of each machine, by its name.
pub(super) const ENVIRONMENTS: &str = "environments";

/// The environment of each machine; none in the results of a single one.
///
/// # Errors
/// When one is there and cannot be read.
pub(super) fn environments(directory: &Path) -> Result<BTreeMap<String, Environment>, ReadError> {
    let Ok(entries) = std::fs::read_dir(directory.join(ENVIRONMENTS)) else { return Ok(BTreeMap::new()) };
    let mut machines = BTreeMap::new();
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        let host = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(environment) = environment(&path)? {
            machines.insert(host, environment);
        }
    }
    Ok(machines)
}

/// One machine as it was found; none when there is no such file.
///
/// # Errors
/// When it is there and cannot be read.
pub(super) fn environment(path: &Path) -> Result<Option<Environment>, ReadError> {
    let bytes = tare_files::read_regular(path, LARGEST)?;
    bytes.map(|bytes| lines::parse(&bytes, path, 0)).transpose()
}
