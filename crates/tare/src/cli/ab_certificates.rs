//! Certificates of `tare ab --certify`: results of comparing a side with itself, kept in the state directory.

use super::{Exit, Problem};
use crate::state::{self, StateError};
use tare_drive::workload::AnyLoad;
use tare_files::{Access, Folder, PrivateFolder};
use tare_findings::certificate::{Certificate, Certified};
use tare_results::schema::Plan;
use tare_results::store::Directory;
use tare_results::{CERTIFIED, LARGEST_CERTIFIED};
use tare_study::language::spec::Study;

/// The file of certificates, oldest first.
const NAME: &str = "ab-certificates.json";
/// Largest size of the file that is read, bytes.
const LARGEST: u64 = 4 << 20;
const MOST: usize = 200;

/// Adds a certificate and returns the path of the file.
pub fn keep(certificate: Certificate) -> Result<String, Problem> {
    let place = state::directory()?;
    let folder = PrivateFolder::open_or_create(&place, Access::Closed).map_err(StateError::from)?;
    let mut all = read(&folder);
    all.push(certificate);
    let oldest = all.len().saturating_sub(MOST);
    let text = serde_json::to_vec(&all[oldest..])
        .map_err(|e| Problem::new(Exit::Machine, format!("cannot write the measured values: {e}")))?;
    folder.write(NAME, &text).map_err(StateError::from)?;
    Ok(folder.path().join(NAME).display().to_string())
}

/// What the certificates say about a comparison; `None` if this machine has none or they cannot be read.
pub fn of(study: &Study, plan: &Plan) -> Option<Certified> {
    let folder = PrivateFolder::open(&state::directory().ok()?, Access::Closed).ok()??;
    let (engine, load) = measured(study);
    let kind = (engine.as_deref(), load.as_str(), plan.turns.is_some());
    Certified::of(&read(&folder), plan.machine.as_ref()?, kind, plan.settle.as_ref()?.rule)
}

/// Stores it with a comparison, for `tare show` and the page of the results; returns why that failed, for a note,
/// because it does not change the verdict.
pub fn store(certified: Option<&Certified>, directory: &Directory) -> Option<String> {
    let bytes = serde_json::to_vec(certified?).ok()?;
    let error = directory.folder().write(CERTIFIED, &bytes).err()?;
    Some(format!("no certificate in the results: {error}"))
}

/// The certificates that [`store`] put next to a comparison; none if it had none, or if they cannot be read.
pub fn stored(folder: &Folder) -> Option<Certified> {
    serde_json::from_slice(&folder.read(CERTIFIED, LARGEST_CERTIFIED).ok()??).ok()
}

/// Certificates of an older or newer version count as none.
fn read(folder: &PrivateFolder) -> Vec<Certificate> {
    let bytes = folder.read(NAME, LARGEST).ok().flatten().unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Engine and load of a study; the load `command` has no engine.
pub fn measured(study: &Study) -> (Option<String>, String) {
    let load = &study.base.workload.load;
    let engine = (!matches!(load, AnyLoad::Command(_))).then(|| study.base.engine.kind.name().to_owned());
    (engine, load.load().name().to_owned())
}
