//! Shared by `tare ab` and `tare find`: a run that is extended round by round, with the result so far on a line.

use super::beforehand::Outlook;
use super::execution::{RunOptions, begun_before, begun_in, default_out, has_place, host, read_begun};
use super::filling::FillLines;
use super::interrupt::unless_interrupted;
use super::output::note;
use super::run_listener::{disturbed, repeats_in_vain};
use super::{Problem, plan_view, trust};
use crate::run::Listener;
use crate::state::Host;
use std::path::Path;
use std::time::{Duration, Instant};
use tare_drive::workload::Progress;
use tare_results::schema::{Outcome, Plan, TrialRecord};
use tare_results::store::{Directory, read_trials};
use tare_study::language::spec::Study;
use tare_topology::Machine;

/// A results directory, with the host's lock held as long as this value exists.
pub(crate) struct Locked {
    pub study: Study,
    pub plan: Plan,
    pub directory: Directory,
    _host: Host,
}

/// The directory of an earlier run whose plan `check` accepts, and maybe gives more time; `None` when interrupted, or
/// if the user declines. Errors in it are reported before waiting for the machine.
pub(crate) fn gone_on(
    path: &Path,
    options: &RunOptions,
    check: impl FnOnce(&mut Plan) -> Result<(), Problem>,
) -> Result<Option<Locked>, Problem> {
    let begun = Directory::begun(path, trust::whose(options.trusted))?;
    let (study, mut plan) = read_begun(&begun)?;
    check(&mut plan)?;
    let outlook = Outlook::rest(&study, &plan, &read_trials(&begun)?);
    outlook.announce(options.json);
    if !outlook.is_wanted(options.yes, || None)? {
        return Ok(None);
    }
    let Some(host) = unless_interrupted(host(options.wait))? else { return Ok(None) };
    let directory = Directory::lock(begun)?;
    let (study, plan) = begun_before(&directory)?;
    Ok(Some(Locked { study, plan, directory, _host: host }))
}

/// A new directory with study and plan in it; `None` when interrupted, or if the user declines.
pub(crate) fn begun(
    (study, plan): (Study, Plan),
    machine: &Machine,
    out: Option<&Path>,
    options: &RunOptions,
) -> Result<Option<Locked>, Problem> {
    let outlook = Outlook::whole(&study, &plan);
    outlook.announce(options.json);
    has_place(&plan, out, options.trusted)?;
    if !outlook.is_wanted(options.yes, || None)? {
        return Ok(None);
    }
    if !options.json {
        plan_view::print_notes(&plan);
    }
    let Some(host) = unless_interrupted(host(options.wait))? else { return Ok(None) };
    let out = out.map_or_else(|| default_out(&study.name, &tare_results::now()), Path::to_path_buf);
    let directory = begun_in(&out, &study, &plan, machine, options.trusted)?;
    Ok(Some(Locked { study, plan, directory, _host: host }))
}

type Line = fn(&Plan, &[TrialRecord]) -> Option<String>;

/// Minimum time between two lines of one kind: short pairs would print hundreds.
const LINES_APART: Duration = Duration::from_secs(2);

/// When a line of one kind was last printed.
#[derive(Debug, Default)]
struct Printed(Option<Instant>);

impl Printed {
    /// Prints the line, except soon after the one before.
    fn note(&mut self, line: &str) {
        if self.0.is_none_or(|last| last.elapsed() >= LINES_APART) {
            note(line);
            self.0 = Some(Instant::now());
        }
    }
}

/// Prints the result so far after rounds, and in between all failures and what disturbed trials.
#[derive(Debug)]
pub(crate) struct RoundListener {
    line: Line,
    rounds: Printed,
    disturbed: Printed,
    /// Whether the end of repeats was already reported: after that, no disturbed trial is.
    repeats_ended: bool,
    fill_lines: FillLines,
}

impl RoundListener {
    pub(crate) fn new(line: Line) -> Self {
        let (rounds, disturbed) = (Printed::default(), Printed::default());
        Self { line, rounds, disturbed, repeats_ended: false, fill_lines: FillLines::default() }
    }
}

impl Listener for RoundListener {
    fn hear(&mut self, progress: Progress) {
        if let Progress::Filling(filled) = progress
            && let Some(line) = self.fill_lines.line(&filled)
        {
            note(&line);
        }
    }

    fn end(&mut self, record: &TrialRecord) {
        let reason = record.reason.as_deref().unwrap_or_default();
        match record.outcome {
            Outcome::Ok => {}
            Outcome::Failed => note(&format!("trial {} ({}) failed: {reason}", record.trial, record.condition)),
            Outcome::Disturbed if self.repeats_ended => {}
            Outcome::Disturbed => self.disturbed.note(&disturbed(record)),
        }
    }

    fn looked(&mut self, plan: &Plan, records: &[TrialRecord]) {
        if let Some(line) = (self.line)(plan, records) {
            self.rounds.note(&line);
        }
    }

    fn repeats_end(&mut self) {
        self.repeats_ended = true;
        note(&repeats_in_vain());
    }

    fn preparing(&mut self, condition: &str) {
        self.fill_lines.begin();
        note(&format!("preparing data of {condition}"));
    }
}
