//! What ends a run before all of its trials have counted: every trial fails for the same reason, repeats are disturbed
//! again and again, or the time limit (`sampling.within_s`) is reached.

use super::RunError;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;
use tare_findings::state::is_disturbed;
use tare_results::schema::{Outcome, Plan, TrialRecord};
use tare_study::language::spec::Study;
use tare_study::plan::task::{Task, TaskError};
use tare_study::plan::{estimate, ladder};

const ALIKE_TRIALS: usize = 3;
/// Conditions that must have failed, or all if there are fewer: one bad level of a factor must not end a study.
const ALIKE_CONDITIONS: usize = 8;

/// How the trials of this run have ended so far: all of them, and those of each side of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Alike {
    all: Failures,
    sides: [Failures; 2],
}

#[derive(Debug, Default)]
struct Failures {
    /// The reason of the last one.
    reason: Option<String>,
    trials: usize,
    conditions: BTreeSet<String>,
    /// Whether a trial ended in another way.
    other: bool,
}

impl Alike {
    /// Records the end of an attempt.
    pub(crate) fn take(&mut self, record: &TrialRecord, plan: &Plan) {
        self.all.take(record);
        if let Some(rule) = &plan.settle {
            let is_side = [rule.is_a(&record.condition), rule.is_b(&record.condition)];
            self.sides.iter_mut().zip(is_side).filter(|(_, own)| *own).for_each(|(side, _)| side.take(record));
        }
    }

    /// The error if all attempts so far failed for the same reason, in enough of the plan's conditions.
    pub(crate) fn all(&self, plan: &Plan) -> Option<RunError> {
        let planned = plan.realizable().count();
        self.all.alike(ALIKE_CONDITIONS.min(planned), None)
    }

    /// The error if all attempts of one side of a comparison so far failed for the same reason.
    pub(crate) fn of_a_side(&self) -> Option<RunError> {
        self.sides.iter().zip(["A", "B"]).find_map(|(failures, side)| failures.alike(1, Some(side)))
    }
}

impl Failures {
    fn take(&mut self, record: &TrialRecord) {
        let Some(reason) = record.reason.as_deref().filter(|_| record.outcome == Outcome::Failed) else {
            self.other = true;
            return;
        };
        self.trials += 1;
        self.conditions.insert(record.condition.clone());
        let last = self.reason.replace(reason.to_owned());
        self.other |= last.is_some_and(|last| without_numbers(&last) != without_numbers(reason));
    }

    fn alike(&self, conditions: usize, side: Option<&'static str>) -> Option<RunError> {
        let enough = self.trials >= ALIKE_TRIALS && self.conditions.len() >= conditions;
        let reason = self.reason.clone().filter(|_| enough && !self.other)?;
        Some(RunError::SameReason { side, trials: self.trials, reason })
    }
}

/// Removes process ids, ports and numbers of trials, which differ although the reason is the same.
fn without_numbers(reason: &str) -> String {
    reason.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// After this many consecutive repeats that were disturbed again, no more are made.
pub(crate) const IN_VAIN: usize = 5;

/// The outcome of repeats of disturbed trials, from the records of a run.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    set_aside: BTreeSet<usize>,
    in_a_row: usize,
}

impl Repeats {
    pub(crate) fn of(records: &[TrialRecord]) -> Self {
        let mut repeats = Self::default();
        records.iter().for_each(|record| repeats.take(record));
        repeats
    }

    /// Records the end of an attempt. A clean one shows that the disturbance has ended.
    pub(crate) fn take(&mut self, record: &TrialRecord) {
        let is_repeat = record.attempt > 1 && self.set_aside.contains(&record.trial);
        match record.outcome {
            Outcome::Failed => {}
            _ if !is_disturbed(record) => self.in_a_row = 0,
            _ if is_repeat => self.in_a_row += 1,
            _ => {}
        }
        if record.outcome == Outcome::Disturbed {
            self.set_aside.insert(record.trial);
        }
    }

    /// Whether a further repeat would most likely be disturbed as well.
    pub(crate) fn are_in_vain(&self) -> bool {
        self.in_a_row >= IN_VAIN
    }
}

/// The last disturbed attempt of each trial.
pub(crate) fn set_aside(records: Vec<TrialRecord>) -> BTreeMap<usize, TrialRecord> {
    let disturbed = records.into_iter().filter(|record| record.outcome == Outcome::Disturbed);
    disturbed.map(|record| (record.trial, record)).collect()
}

/// The record that makes such a trial count with its disturbed measurement, instead of a repeat.
pub(crate) fn counted_as_disturbed(set_aside: &TrialRecord) -> TrialRecord {
    let reason = set_aside.reason.clone().unwrap_or_else(|| "no reason recorded".to_owned());
    TrialRecord { outcome: Outcome::Ok, attempt: set_aside.attempt + 1, reason: Some(reason), ..set_aside.clone() }
}

#[derive(Debug)]
pub(super) struct Deadline {
    /// Seconds from the start of the clock.
    left_s: f64,
    clock: Instant,
    /// The server lifetime that was started last; the other trials of that lifetime may still run.
    begun: Option<usize>,
    /// When the last trial was started, and how long it was expected to take, seconds.
    last: Option<(f64, f64)>,
    /// Seconds that the trials before it took, and were expected to take.
    took_s: f64,
    expected_s: f64,
}

impl Deadline {
    /// `None` without a time limit: the study's own, which includes the trials of earlier sessions, or that of several
    /// runs together.
    pub(crate) fn of(study: &Study, records: &[TrialRecord], until: Option<Instant>) -> Option<Self> {
        let clock = Instant::now();
        let spent_s: f64 = records.iter().map(|record| record.elapsed_s).sum();
        let own = study.sampling.within_s.map(|within_s| within_s - spent_s);
        let of_all = until.map(|until| until.saturating_duration_since(clock).as_secs_f64());
        let left_s = own.into_iter().chain(of_all).reduce(f64::min)?;
        Some(Self { left_s, clock, begun: None, last: None, took_s: 0.0, expected_s: 0.0 })
    }

    /// Whether a trial ends in time, together with the trials that share its server or measure in turn with it. Where
    /// trials have taken longer than expected, as on a busy machine, it is assumed to do so too.
    pub(crate) fn lasts_for(&mut self, study: &Study, plan: &Plan, trial: usize) -> Result<bool, TaskError> {
        let task = Task::find(study, plan, trial)?;
        if task.planned.lifetime.is_some() && task.planned.lifetime == self.begun {
            return Ok(true);
        }
        let now_s = self.clock.elapsed().as_secs_f64();
        if let Some((begun_s, expected_s)) = self.last.take() {
            self.took_s += now_s - begun_s;
            self.expected_s += expected_s;
        }
        let slower = if self.expected_s > 0.0 { (self.took_s / self.expected_s).max(1.0) } else { 1.0 };
        let mut warm = task.condition.settings.clone();
        warm.workload.load.load_mut().take_warm();
        let more = ladder::rest_of_lifetime(plan, trial).len().saturating_sub(1) as f64;
        let rungs_s = more * warm.workload.load.load().expected_s(&estimate::counts(&warm, &task.sampling));
        let sides = plan.turns.map_or(1.0, |_| plan.at_once());
        let expected_s = sides * estimate::trial_s(&task.condition.settings, &task.sampling) + rungs_s;
        let lasts = now_s + slower * expected_s <= self.left_s;
        if lasts {
            self.begun = task.planned.lifetime;
            self.last = Some((now_s, expected_s));
        }
        Ok(lasts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::time::Duration;
    use tare_results::pairs::Rule;
    use tare_results::schema::{PlannedCondition, PlannedTrial, Settle};
    use tare_study::language::document::Source;
    use tare_study::language::parse::{Overrides, parse};
    use tare_study::plan::resolve::{Where, resolve};
    use tare_topology::Machine;

    fn ended(trial: usize, outcome: Outcome, reason: &str) -> TrialRecord {
        let planned = PlannedTrial { trial, block: 0, condition: format!("c{}", trial % 2), lifetime: None };
        TrialRecord {
            outcome,
            reason: Some(reason.to_owned()),
            ..TrialRecord::new(&planned, 1, Default::default(), String::new())
        }
    }

    fn failed(trial: usize) -> TrialRecord {
        ended(trial, Outcome::Failed, &format!("pid {trial} has no such option"))
    }

    /// The first error of all trials, or of one side.
    fn first(records: &[TrialRecord], of_a_side: bool) -> Option<(Option<&'static str>, usize, String)> {
        let two = ["c0", "c1"].map(str::to_owned);
        let made =
            |name: &String| PlannedCondition { name: name.clone(), realizable: true, ..PlannedCondition::default() };
        let conditions = two.iter().map(made).collect();
        let plan = Plan { conditions, settle: Some(Settle::between(two, Rule::Looks, 1)), ..Plan::default() };
        let mut alike = Alike::default();
        let error = records.iter().find_map(|record| {
            alike.take(record, &plan);
            if of_a_side { alike.of_a_side() } else { alike.all(&plan) }
        });
        error.map(|error| match error {
            RunError::SameReason { side, trials, reason } => (side, trials, reason),
            other => panic!("{other}"),
        })
    }

    #[test]
    fn a_run_stops_early_only_if_every_condition_fails_for_the_same_reason() {
        let all = |records: &[TrialRecord]| first(records, false);
        assert_eq!(all(&[failed(0), failed(1), failed(2)]), Some((None, 3, "pid 2 has no such option".into())));
        assert_eq!(all(&[failed(0), failed(2), failed(4)]), None, "one condition of two");
        let other = ended(1, Outcome::Failed, "killed");
        assert_eq!(all(&[failed(0), other, failed(2), failed(3)]), None);
        assert_eq!(all(&[failed(0), ended(1, Outcome::Ok, "hog"), failed(2), failed(3), failed(4)]), None);
    }

    #[test]
    fn a_side_that_fails_each_time_for_the_same_reason_is_found_whatever_the_other_side_does() {
        let side = |records: &[TrialRecord]| first(records, true);
        let ok = |trial| ended(trial, Outcome::Ok, "hog");
        let found = Some((Some("B"), 3, "pid 5 has no such option".into()));
        assert_eq!(side(&[failed(1), ok(0), ok(2), failed(3), failed(5)]), found);
        assert_eq!(side(&[failed(1), ok(0), ok(2), failed(3), ok(5), failed(7)]), None);
        assert_eq!(side(&[failed(1), failed(3), ended(5, Outcome::Failed, "killed")]), None);
    }

    fn ended_attempt(trial: usize, attempt: u32, outcome: Outcome, reason: Option<&str>) -> TrialRecord {
        let planned = PlannedTrial { trial, block: 0, condition: "c".to_owned(), lifetime: None };
        TrialRecord {
            outcome,
            reason: reason.map(str::to_owned),
            ..TrialRecord::new(&planned, attempt, BTreeMap::new(), String::new())
        }
    }

    fn disturbed(trial: usize) -> TrialRecord {
        ended_attempt(trial, 1, Outcome::Disturbed, Some("hog"))
    }

    fn disturbed_again(trial: usize) -> TrialRecord {
        ended_attempt(trial, 2, Outcome::Ok, Some("hog"))
    }

    #[test]
    fn repeats_stop_after_five_disturbed_in_a_row_and_a_clean_one_resets_the_count() {
        let all: Vec<TrialRecord> = (0..9).map(disturbed).chain((0..5).map(disturbed_again)).collect();
        assert!(Repeats::of(&all).are_in_vain());
        assert!(!Repeats::of(&all[..13]).are_in_vain(), "four");
        let mut clean = all.clone();
        clean.push(ended_attempt(20, 1, Outcome::Ok, None));
        assert!(!Repeats::of(&clean).are_in_vain());
        let failed: Vec<TrialRecord> =
            (0..9).map(|trial| ended_attempt(trial, 1, Outcome::Failed, Some("died"))).collect();
        let repeats: Vec<TrialRecord> = failed.into_iter().chain((0..9).map(disturbed_again)).collect();
        assert!(!Repeats::of(&repeats).are_in_vain(), "repeats of what failed are another thing");
    }

    #[test]
    fn a_disturbed_trial_that_counts_stays_marked_as_disturbed() {
        let record = counted_as_disturbed(&set_aside(vec![disturbed(3)])[&3]);
        assert_eq!((record.trial, record.attempt, record.outcome), (3, 2, Outcome::Ok));
        assert!(is_disturbed(&record) && record.reason.as_deref() == Some("hog"), "{record:?}");
    }

    #[test]
    fn a_started_server_finishes_its_rungs_and_none_starts_too_late() {
        let text = "name = \"s\"\n[sampling]\ntrials = 2\nwarmup_s = 1\nsample_s = 9\nwithin_s = 100\n\
                    [design]\nladder = \"threads\"\n[factors]\nthreads = [1, 2, 3]\n";
        let study = parse(Source { origin: "test", text }, &Overrides::default()).unwrap();
        let plan = resolve(&study, &Machine::synthetic("core:2 pu:1").unwrap(), Where::Described).unwrap();
        let spent = |elapsed_s: f64| {
            let planned = PlannedTrial { trial: 0, block: 0, condition: String::new(), lifetime: None };
            let record = TrialRecord { elapsed_s, ..TrialRecord::new(&planned, 1, BTreeMap::new(), String::new()) };
            Deadline::of(&study, &[record], None).unwrap()
        };
        // Three rungs of 10 s each, with a server whose start takes almost no time.
        let mut deadline = spent(60.0);
        assert!(deadline.lasts_for(&study, &plan, 0).unwrap());
        let mut deadline = Deadline { left_s: 15.0, ..deadline };
        assert!(deadline.lasts_for(&study, &plan, 1).unwrap(), "its server runs");
        assert!(!deadline.lasts_for(&study, &plan, 3).unwrap(), "another lifetime");
        // Those before took twice as long as expected.
        let mut busy = Deadline { took_s: 60.0, expected_s: 30.0, ..spent(45.0) };
        assert!(!busy.lasts_for(&study, &plan, 0).unwrap() && spent(45.0).lasts_for(&study, &plan, 0).unwrap());
        let free = Study { sampling: Default::default(), ..study };
        assert!(Deadline::of(&free, &[], None).is_none());
        let of_all = |s: u64| Deadline::of(&free, &[], Some(Instant::now() + Duration::from_secs(s))).unwrap();
        assert!(of_all(1000).lasts_for(&free, &plan, 0).unwrap() && !of_all(1).lasts_for(&free, &plan, 0).unwrap());
    }
}
