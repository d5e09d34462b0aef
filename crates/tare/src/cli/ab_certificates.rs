//! Certificates of `tare ab --certify`: results of comparing a side with itself, kept in the state directory.

use super::ab_sides::Side;
use super::{Exit, Problem};
use crate::state::{self, StateError};
use std::path::PathBuf;
use tare_drive::workload::AnyLoad;
use tare_files::{Access, Folder, PrivateFolder};
use tare_findings::certificate::{Certificate, Certified, Compared};
use tare_results::schema::Plan;
use tare_results::store::Directory;
use tare_results::{CERTIFIED, LARGEST_CERTIFIED};
use tare_study::language::spec::Study;

/// The file of certificates, oldest first.
const NAME: &str = "ab-certificates.json";
/// Largest size of the file that is read, bytes.
const LARGEST: u64 = 4 << 20;
const MOST: usize = 200;
/// The factor of a side that is a command.
const COMMAND: &str = "command";

/// Where certificates were kept.
pub(crate) struct Kept {
    pub path: PathBuf,
    /// What became of earlier ones that cannot be read.
    pub aside: Option<String>,
}

/// Adds a certificate to the file of this user's state.
pub(crate) fn keep(certificate: Certificate) -> Result<Kept, Problem> {
    let place = state::directory()?;
    let folder = PrivateFolder::open_or_create(&place, Access::Closed).map_err(StateError::from)?;
    keep_in(&folder, certificate)
}

/// A file that cannot be read, or is of another version, is moved aside and not written over.
fn keep_in(folder: &PrivateFolder, certificate: Certificate) -> Result<Kept, Problem> {
    let path = folder.path().join(NAME);
    let (mut all, aside) = match read(folder) {
        Ok(all) => (all, None),
        Err(why) => {
            let name = format!("{NAME}.unreadable-{}", certificate.made_at);
            folder.rename(NAME, &name).map_err(StateError::from)?;
            let to = folder.path().join(name);
            let what = format!("earlier certificates cannot be read ({why}); they were moved to {}", to.display());
            (Vec::new(), Some(what))
        }
    };
    all.push(certificate);
    all.drain(..all.len().saturating_sub(MOST));
    loop {
        let text = serde_json::to_vec(&all)
            .map_err(|e| Problem::new(Exit::Machine, format!("cannot write the measured values: {e}")))?;
        if text.len() as u64 <= LARGEST || all.len() == 1 {
            folder.write(NAME, &text).map_err(StateError::from)?;
            return Ok(Kept { path, aside });
        }
        all.remove(0);
    }
}

/// What the certificates say about a comparison of `metric`, or of any metric if there is none yet; `None` if this
/// machine has no certificate or they cannot be read.
pub(crate) fn of(study: &Study, plan: &Plan, metric: Option<&str>) -> Option<Certified> {
    let folder = PrivateFolder::open(&state::directory().ok()?, Access::Closed).ok()??;
    let rule = plan.settle.as_ref()?;
    let (engine, load) = measured(study);
    let compared = Compared {
        engine: engine.as_deref(),
        load: &load,
        by_turns: plan.turns.is_some(),
        metric,
        minimum_effect: rule.minimum_effect,
        commands: commands(study, plan),
    };
    Certified::of(&read(&folder).ok()?, plan.machine.as_ref()?, &compared, rule.rule)
}

/// The commands of both sides, each as a side.
fn commands(study: &Study, plan: &Plan) -> Vec<String> {
    let levels = plan.conditions.iter().filter_map(|condition| condition.levels.get(COMMAND));
    let sides: Vec<String> = levels.map(|level| Side::of(COMMAND, level).to_string()).collect();
    if sides.is_empty() { command(study).into_iter().collect() } else { sides }
}

/// A study's own command as a side; `None` for a load with an engine.
pub(crate) fn command(study: &Study) -> Option<String> {
    match &study.base.workload.load {
        AnyLoad::Command(own) => Some(Side::of(COMMAND, own.command.as_ref()?.text()).to_string()),
        _ => None,
    }
}

/// Stores it with a comparison, for `tare show` and the page of the results; returns why that failed, for a note,
/// because it does not change the verdict.
pub(crate) fn store(certified: Option<&Certified>, directory: &Directory) -> Option<String> {
    let bytes = serde_json::to_vec(certified?).ok()?;
    let error = directory.folder().write(CERTIFIED, &bytes).err()?;
    Some(format!("no certificate in the results: {error}"))
}

/// The certificates that [`store`] put next to a comparison; none if it had none, or if they cannot be read.
pub(crate) fn stored(folder: &Folder) -> Option<Certified> {
    serde_json::from_slice(&folder.read(CERTIFIED, LARGEST_CERTIFIED).ok()??).ok()
}

/// None if there is no file.
fn read(folder: &PrivateFolder) -> Result<Vec<Certificate>, String> {
    let bytes = folder.read(NAME, LARGEST).map_err(|error| error.to_string())?;
    bytes.map_or(Ok(Vec::new()), |bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()))
}

/// Engine and load of a study; the load `command` has no engine.
pub(crate) fn measured(study: &Study) -> (Option<String>, String) {
    let load = &study.base.workload.load;
    let engine = (!matches!(load, AnyLoad::Command(_))).then(|| study.base.engine.kind.name().to_owned());
    (engine, load.load().name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_topology::{Fingerprint, Machine};

    fn certificate(second: usize) -> Certificate {
        Certificate {
            made_at: format!("2026-11-30T00:00:0{second}Z"),
            machine: Fingerprint::of(&Machine::synthetic("core:2 pu:1").unwrap()),
            engine: None,
            load: "command".to_owned(),
            by_turns: false,
            metric: "wall_s".to_owned(),
            side: "command=true".to_owned(),
            minimum_effect: 0.02,
            against: Vec::new(),
            decides: Vec::new(),
        }
    }

    #[test]
    fn certificates_that_cannot_be_read_are_moved_aside_and_not_written_over() {
        let place = tempfile::tempdir().unwrap();
        let folder = PrivateFolder::open_or_create(&place.path().join("state"), Access::Closed).unwrap();
        let kept = |second: usize| keep_in(&folder, certificate(second)).unwrap().aside;
        assert_eq!((kept(1), kept(2)), (None, None));
        assert_eq!(read(&folder).unwrap().len(), 2);
        let too_large = vec![b' '; LARGEST as usize + 1];
        for (second, bytes) in [(3, &b"[{\"version\": 9}]"[..]), (4, &too_large)] {
            folder.write(NAME, bytes).unwrap();
            let aside = kept(second).unwrap();
            let name = format!("{NAME}.unreadable-2026-11-30T00:00:0{second}Z");
            assert!(aside.contains("cannot be read") && aside.ends_with(&name), "{aside}");
            assert_eq!(std::fs::read(folder.path().join(name)).unwrap(), bytes);
            assert_eq!(read(&folder).unwrap().len(), 1);
        }
    }
}
