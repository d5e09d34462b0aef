//! The machines of a results directory that was merged from several.

use super::error::ReadError;
use super::lines;
use super::schema::Environment;
use std::collections::BTreeMap;
use std::path::Path;
use tare_files::Folder;

/// The largest description of a machine that is read, bytes.
const LARGEST: u64 = 64 << 20;
pub(super) const ENVIRONMENT: &str = "environment.json";
/// The folder that holds the environment of each machine, by its name.
pub(super) const ENVIRONMENTS: &str = "environments";

/// The environment of each machine; none in the results of a single one.
pub(super) fn environments(directory: &Folder) -> Result<BTreeMap<String, Environment>, ReadError> {
    let mut machines = BTreeMap::new();
    // What is no folder there is nothing that tare wrote.
    let Ok(Some(folder)) = directory.sub(ENVIRONMENTS) else { return Ok(machines) };
    for name in folder.names()? {
        let host = Path::new(&name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(environment) = environment(&folder, &name)? {
            machines.insert(host, environment);
        }
    }
    Ok(machines)
}

/// One machine as it was found; none when there is no such file.
pub(super) fn environment(folder: &Folder, name: &str) -> Result<Option<Environment>, ReadError> {
    let bytes = folder.read(name, LARGEST)?;
    bytes.map(|bytes| lines::parse(&bytes, &folder.path().join(name), 0)).transpose()
}
