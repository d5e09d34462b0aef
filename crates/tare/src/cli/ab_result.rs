//! The result of `tare ab`: the text or JSON document, a picture in the results directory, and next to them the
//! certificates of `--certify`, which are kept in the state directory: results of comparing a side with itself.

use super::ab_sides::Side;
use super::{Exit, Problem, output};
use crate::state::{self, StateError};
use serde::Serialize;
use std::path::PathBuf;
use tare_drive::workload::AnyLoad;
use tare_files::{Access, Folder, PrivateFolder};
use tare_findings::ab::{Ab, course};
use tare_findings::certificate::{Certificate, Certified, Compared, Ratio};
use tare_report::charts::pairs::picture;
use tare_report::words::{ab as words, ab_rows, certificate};
use tare_results::schema::{Plan, TrialRecord};
use tare_results::store::Directory;
use tare_results::{CERTIFIED, LARGEST_CERTIFIED};
use tare_study::language::spec::Study;
use tare_text::object;

/// The file of certificates, oldest first.
const CERTIFICATES: &str = "ab-certificates.json";
/// Largest size of the file that is read, bytes.
const LARGEST_FILE: u64 = 4 << 20;
const MOST_KEPT: usize = 200;
/// The factor of a side that is a command.
const COMMAND: &str = "command";

/// Where certificates were kept.
pub(crate) struct Kept {
    pub path: PathBuf,
    /// What became of earlier ones that cannot be read.
    pub aside: Option<String>,
}

/// Adds a certificate to the file of this user's state.
pub(crate) fn keep_certificate(certificate: Certificate) -> Result<Kept, Problem> {
    let place = state::directory()?;
    let folder = PrivateFolder::open_or_create(&place, Access::Closed).map_err(StateError::from)?;
    keep_in(&folder, certificate)
}

/// A file that cannot be read, or is of another version, is moved aside and not written over.
fn keep_in(folder: &PrivateFolder, certificate: Certificate) -> Result<Kept, Problem> {
    let path = folder.path().join(CERTIFICATES);
    let (mut all, aside) = match read_certificates(folder) {
        Ok(all) => (all, None),
        Err(why) => {
            let name = format!("{CERTIFICATES}.unreadable-{}", certificate.made_at);
            folder.rename(CERTIFICATES, &name).map_err(StateError::from)?;
            let to = folder.path().join(name);
            let what = format!("earlier certificates cannot be read ({why}); they were moved to {}", to.display());
            (Vec::new(), Some(what))
        }
    };
    all.push(certificate);
    all.drain(..all.len().saturating_sub(MOST_KEPT));
    loop {
        let text = serde_json::to_vec(&all)
            .map_err(|e| Problem::new(Exit::Machine, format!("cannot write the measured values: {e}")))?;
        if text.len() as u64 <= LARGEST_FILE || all.len() == 1 {
            folder.write(CERTIFICATES, &text).map_err(StateError::from)?;
            return Ok(Kept { path, aside });
        }
        all.remove(0);
    }
}

/// What the certificates say about a comparison of `metric`, or of any metric if there is none yet; `None` if this
/// machine has no certificate or they cannot be read.
pub(crate) fn certified(study: &Study, plan: &Plan, metric: Option<&str>) -> Option<Certified> {
    let folder = PrivateFolder::open(&state::directory().ok()?, Access::Closed).ok()??;
    let rule = plan.settle.as_ref()?;
    let (engine, load) = engine_and_load(study);
    let compared = Compared {
        engine: engine.as_deref(),
        load: &load,
        by_turns: plan.turns.is_some(),
        metric,
        minimum_effect: rule.minimum_effect,
        commands: commands(study, plan),
    };
    Certified::of(&read_certificates(&folder).ok()?, plan.machine.as_ref()?, &compared, rule.rule)
}

/// The commands of both sides, each as a side.
fn commands(study: &Study, plan: &Plan) -> Vec<String> {
    let levels = plan.conditions.iter().filter_map(|condition| condition.levels.get(COMMAND));
    let sides: Vec<String> = levels.map(|level| Side::of(COMMAND, level).to_string()).collect();
    if sides.is_empty() { own_command(study).into_iter().collect() } else { sides }
}

/// A study's own command as a side; `None` for a load with an engine.
pub(crate) fn own_command(study: &Study) -> Option<String> {
    match &study.base.workload.load {
        AnyLoad::Command(own) => Some(Side::of(COMMAND, own.command.as_ref()?.text()).to_string()),
        _ => None,
    }
}

/// Stores it with a comparison, for `tare show` and the page of the results; returns why that failed, for a note,
/// because it does not change the verdict.
pub(crate) fn store_certificate(certified: Option<&Certified>, directory: &Directory) -> Option<String> {
    let bytes = serde_json::to_vec(certified?).ok()?;
    let error = directory.folder().write(CERTIFIED, &bytes).err()?;
    Some(format!("no certificate in the results: {error}"))
}

/// The certificates that [`store_certificate`] put next to a comparison; `None` if there are none or they cannot be
/// read.
pub(crate) fn stored_certificate(folder: &Folder) -> Option<Certified> {
    serde_json::from_slice(&folder.read(CERTIFIED, LARGEST_CERTIFIED).ok()??).ok()
}

/// None if there is no file.
fn read_certificates(folder: &PrivateFolder) -> Result<Vec<Certificate>, String> {
    let bytes = folder.read(CERTIFICATES, LARGEST_FILE).map_err(|error| error.to_string())?;
    bytes.map_or(Ok(Vec::new()), |bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()))
}

/// Engine and load of a study; the load `command` has no engine.
pub(crate) fn engine_and_load(study: &Study) -> (Option<String>, String) {
    let load = &study.base.workload.load;
    let engine = (!matches!(load, AnyLoad::Command(_))).then(|| study.base.engine.kind.name().to_owned());
    (engine, load.load().name().to_owned())
}

/// Prints a comparison, with the certificate of this machine if there is one.
pub(crate) fn print(ab: &Ab, certified: Option<&Certified>, json: bool) -> Result<(), Problem> {
    if json {
        let document = object! {
            text: words::sentence(ab),
            metric: &ab.metric,
            ratio: ab.ratio,
            ci_low: ab.ci.map(|ci| ci.low),
            ci_high: ab.ci.map(|ci| ci.high),
            verdict: ab.verdict,
            minimum_effect: ab.rule.minimum_effect,
            pairs: ab.pairs,
            lost_pairs: ab.lost,
            disturbed_pairs: ab.disturbed,
            disturbed_alone: by_side(ab.disturbed_alone),
            lost_alone: by_side(ab.lost_alone),
            failed_alone: by_side(ab.failed_alone),
            rounding_hides: ab.hidden,
            stopped: ab.stop,
            sessions: ab.sessions,
            sessions_asked: ab.rule.sessions,
            boots: ab.rule.boots(),
            over_sessions: ab.is_over_sessions(),
            duet: ab.rule.duet.is_some(),
            interleaved: ab.by_turns,
            elapsed_s: ab.elapsed_s,
            smallest_detectable: ab.smallest_detectable,
            pairs_to_go: ab.to_go.about(),
            pairs_to_go_at_most: ab.to_go.at_most(),
            new_comparison: ab.to_go.anew(),
            slot: ab.slot.map(Ratio::of),
            controls: &ab.controls,
            certificate: certified.map(certificate_json),
        };
        return output::document("tare-ab", &document);
    }
    let mut rows = ab_rows::rows(ab);
    rows.push(("A/A here", certificate::alongside(certified)));
    output::lines(&format!("{}\n\n{}", words::sentence(ab), row_lines(&rows)))
}

fn by_side([a, b]: [usize; 2]) -> impl Serialize {
    object! { a, b }
}

/// The machine's certificate in the document of a verdict.
pub(crate) fn certificate_json(certified: &Certified) -> impl Serialize {
    object! {
        made_at: &certified.newest.made_at,
        engine: &certified.newest.engine,
        load: &certified.newest.load,
        same_load: certified.same_load,
        false_alarms: certified.alarms.false_alarms,
        comparisons: certified.alarms.comparisons,
        at_most: certified.alarms.at_most(),
        decides: &certified.newest.decides,
        by_itself: certified.newest.by_itself(),
    }
}

pub(crate) fn row_lines(rows: &[(&str, String)]) -> String {
    rows.iter().map(|(name, value)| format!("  {name:<10} {}\n", tare_text::shown(value))).collect()
}

/// Writes the comparison as a picture into its directory and returns a note on where it is. A picture that cannot be
/// written does not change the exit code. Without a font only the SVG is written.
pub(crate) fn draw_picture(ab: &Ab, plan: &Plan, records: &[TrialRecord], directory: &Directory) -> String {
    let course = course(plan, records);
    if course.is_empty() {
        return String::new();
    }
    let svg = picture(&words::sentence(ab), ab, &course);
    let pictures = [("ab.svg", Some(svg.clone().into_bytes())), ("ab.png", png(&svg))];
    let mut written = Vec::new();
    for (name, bytes) in pictures {
        match bytes.map(|bytes| directory.folder().write(name, &bytes)) {
            Some(Ok(())) => written.push(directory.path().join(name).display().to_string()),
            Some(Err(error)) => return format!("\nno picture: {error}"),
            None => {}
        }
    }
    format!("\npicture: {}", written.join(", "))
}

#[cfg(feature = "png")]
fn png(svg: &str) -> Option<Vec<u8>> {
    tare_report::export::png::draw(svg).ok()
}

#[cfg(not(feature = "png"))]
fn png(_svg: &str) -> Option<Vec<u8>> {
    None
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
        assert_eq!(read_certificates(&folder).unwrap().len(), 2);
        let too_large = vec![b' '; LARGEST_FILE as usize + 1];
        for (second, bytes) in [(3, &b"[{\"version\": 9}]"[..]), (4, &too_large)] {
            folder.write(CERTIFICATES, bytes).unwrap();
            let aside = kept(second).unwrap();
            let name = format!("{CERTIFICATES}.unreadable-2026-11-30T00:00:0{second}Z");
            assert!(aside.contains("cannot be read") && aside.ends_with(&name), "{aside}");
            assert_eq!(std::fs::read(folder.path().join(name)).unwrap(), bytes);
            assert_eq!(read_certificates(&folder).unwrap().len(), 1);
        }
    }
}
