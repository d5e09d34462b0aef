//! Tests the loop with hundreds of generated schedules (`make test-long`: 10,000): trials that succeed, fail, are
//! disturbed, hang, crash or are interrupted, runs that die and resume, pilots that add trials. No process is started
//! and no time passes.

use super::{Attempt, Book, Ended, Failure, Listener, Prepared, Run, RunError, Runner};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use tare_drive::workload::Progress;
use tare_results::schema::{Decision, Outcome, Plan, SampleRecord, TrialRecord, Within};
use tare_results::store::DirectoryError;
use tare_study::language::document::Source;
use tare_study::language::parse::{Overrides, parse};
use tare_study::language::settings::Sampling;
use tare_study::language::spec::Study;
use tare_study::plan::queue::Next;
use tare_study::plan::resolve::{Where, resolve};
use tare_topology::Machine;

/// Number of schedules unless `TARE_TEST_SCHEDULES` is set.
const SCHEDULES: u64 = 500;
/// How often a run may be resumed before a schedule counts as endless.
const MOST_RUNS: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Ok,
    Failed,
    Disturbed,
    /// Hung, killed or crashed: no record.
    Silent,
    Interrupted,
    /// The run itself dies before the attempt has left anything.
    RunDies,
    /// The run dies after the attempt has left its record.
    RunDiesLate,
}

/// A number that depends on a seed and other numbers (SplitMix64), so that every schedule can be repeated.
pub(super) fn drawn(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0x9e37_79b9_7f4a_7c15, |state, number| {
        let mut z = (state ^ number).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

/// Plan and records, kept over several runs as on a disk.
struct Shelf {
    plan: RefCell<Plan>,
    records: RefCell<Vec<TrialRecord>>,
}

impl Book for &Shelf {
    fn records(&self) -> Result<Vec<TrialRecord>, DirectoryError> {
        Ok(self.records.borrow().clone())
    }

    fn append(&mut self, record: &TrialRecord) -> Result<(), DirectoryError> {
        self.records.borrow_mut().push(record.clone());
        Ok(())
    }

    fn write_plan(&mut self, plan: &Plan) -> Result<(), DirectoryError> {
        let before = self.plan.replace(plan.clone());
        assert!(plan.trials.starts_with(&before.trials), "a plan only grows");
        if plan.within.is_some() {
            return Ok(());
        }
        let decided = plan.decision.as_ref().expect("a decision");
        if let Some(before) = before.decision {
            let first = |decision: &Decision| (decision.first_trial, decision.samples, decision.pilot_counts);
            assert_eq!(first(&before), first(decided), "a decision is made once");
            assert!(decided.trials > before.trials || decided.half_width > before.half_width, "and blocks are added");
        }
        Ok(())
    }
}

struct Script<'a> {
    seed: u64,
    run: u64,
    shelf: &'a Shelf,
    /// Every attempt that was started, over all runs.
    begun: &'a RefCell<Vec<(usize, u32, Fate)>>,
    prepared: BTreeSet<usize>,
    /// Whether interruptions and crashes are still possible; after some runs they are not, so that the schedule ends.
    may_stop: bool,
}

impl Script<'_> {
    fn fate(&self, attempt: &Attempt) -> Fate {
        let roll = drawn(&[self.seed, attempt.trial as u64, attempt.attempt.into(), self.run]) % 100;
        match roll {
            0..58 => Fate::Ok,
            58..68 => Fate::Failed,
            68..78 => Fate::Disturbed,
            78..88 => Fate::Silent,
            _ if !self.may_stop => Fate::Ok,
            88..92 => Fate::Interrupted,
            92..96 => Fate::RunDies,
            _ => Fate::RunDiesLate,
        }
    }

    fn record(&self, attempt: &Attempt, outcome: Outcome) -> TrialRecord {
        let plan = self.shelf.plan.borrow();
        let planned = plan.trials.iter().find(|t| t.trial == attempt.trial).unwrap();
        let tps = 1000.0 + (drawn(&[self.seed, attempt.trial as u64]) % 100) as f64;
        let sample = SampleRecord {
            elapsed_s: 1.0,
            metrics: BTreeMap::from([("tps".to_owned(), tps)]),
            ..SampleRecord::default()
        };
        TrialRecord {
            outcome,
            elapsed_s: 2.0,
            samples: vec![sample],
            ..TrialRecord::new(planned, attempt.attempt, BTreeMap::new(), String::new())
        }
    }
}

impl Runner for Script<'_> {
    fn prepare(&mut self, trial: usize, _hear: &mut dyn FnMut(Progress)) -> Result<Prepared, RunError> {
        self.prepared.insert(trial);
        Ok(Prepared::Done)
    }

    fn run(&mut self, attempt: &Attempt, hear: &mut dyn FnMut(Progress)) -> Result<Ended, RunError> {
        assert!(!self.prepared.is_empty(), "data are made before the first trial of a run");
        assert!(attempt.timeout.as_secs_f64() >= 60.0, "every trial has a limit, and none is cut short by it");
        hear(Progress::Starting);
        let fate = self.fate(attempt);
        self.begun.borrow_mut().push((attempt.trial, attempt.attempt, fate));
        let dies = || RunError::Spawn(io::Error::other("the run dies here"));
        let leave = |outcome| {
            let record = self.record(attempt, outcome);
            self.shelf.records.borrow_mut().push(record.clone());
            Ended::Recorded(Box::new(record))
        };
        match fate {
            Fate::Ok => Ok(leave(Outcome::Ok)),
            Fate::Failed => Ok(leave(Outcome::Failed)),
            Fate::Disturbed => Ok(leave(Outcome::Disturbed)),
            Fate::Silent => Ok(Ended::NoRecord {
                reason: format!("no word{}", "!".repeat(attempt.trial)),
                started_at: String::new(),
                elapsed_s: 1.0,
            }),
            Fate::Interrupted => Ok(Ended::Interrupted),
            Fate::RunDies => Err(dies()),
            Fate::RunDiesLate => {
                leave(Outcome::Ok);
                Err(dies())
            }
        }
    }
}

fn two_cores() -> Machine {
    Machine::synthetic("core:2 pu:1").unwrap()
}

#[derive(Default)]
struct EventCounts {
    begun: usize,
    ended: usize,
    received: usize,
}

impl Listener for EventCounts {
    fn begin(&mut self, _next: &Next, _done: usize, _left: usize) {
        self.begun += 1;
    }

    fn hear(&mut self, _progress: Progress) {
        self.received += 1;
    }

    fn end(&mut self, _record: &TrialRecord) {
        self.ended += 1;
    }
}

fn study(seed: u64) -> Study {
    let of = |what: u64, most: u64| 1 + drawn(&[seed, what]) % most;
    let levels: Vec<String> = (0..of(1, 3)).map(|level| (level + 1).to_string()).collect();
    // In a third of the studies, a pilot chooses the number of trials.
    let pilot = if seed.is_multiple_of(3) { "target_half_width = 0.02\nbudget_s = 60\n" } else { "" };
    let text = format!(
        "name = \"made-up\"\n[workload]\nname = \"command\"\ncommand = \"true\"\nneeds_server = false\n[sampling]\ntrials = {}\nattempts = {}\nseed = {seed}\n{pilot}\
         [factors]\ntimeout_s = [{}]\n",
        of(2, 4),
        of(3, 3),
        levels.join(", ")
    );
    parse(Source { origin: "test", text: &text }, &Overrides::default()).unwrap()
}

/// Runs one schedule to its end; returns how often the run was resumed, and the kinds of outcomes that it saw.
fn play(seed: u64) -> (usize, BTreeSet<String>) {
    let study = study(seed);
    let plan = resolve(&study, &two_cores(), Where::Described).unwrap();
    let shelf = Shelf { plan: RefCell::new(plan), records: RefCell::default() };
    let begun = RefCell::default();
    for run in 0..MOST_RUNS {
        let (plan, before) = (shelf.plan.borrow().clone(), shelf.records.borrow().len());
        let script = Script {
            seed,
            run: run as u64,
            shelf: &shelf,
            begun: &begun,
            prepared: BTreeSet::new(),
            may_stop: run < 20,
        };
        let mut events = EventCounts::default();
        let ended =
            Run { study: &study, plan: &plan, needs_both_sides: false, until: None, runner: script, book: &shelf }
                .execute(&mut events);
        assert_eq!(events.received, events.begun);
        assert!(events.ended <= events.begun && events.begun <= events.ended + 1);
        assert!(shelf.records.borrow().len() >= before + events.ended, "what was told is on record");
        match ended {
            Ok(end) if end.left == 0 => {
                check(&study, &shelf, &begun.borrow(), end.done, end.given_up);
                let fates = begun.borrow().iter().map(|(.., fate)| format!("{fate:?}")).collect();
                return (run + 1, fates);
            }
            Ok(_) | Err(RunError::Spawn(_)) => {}
            Err(e) => panic!("schedule {seed}: {e}"),
        }
    }
    panic!("schedule {seed} never ends");
}

/// Checks the guarantees of the loop at the end of a schedule.
fn check(study: &Study, shelf: &Shelf, begun: &[(usize, u32, Fate)], done: usize, given_up: usize) {
    let (plan, records) = (shelf.plan.borrow(), shelf.records.borrow());
    let attempts = study.sampling.attempts;
    let mut seen = BTreeSet::new();
    for record in records.iter() {
        assert!(seen.insert((record.trial, record.attempt)), "no attempt is recorded twice");
        assert!((1..=attempts).contains(&record.attempt), "attempts are never exceeded");
    }
    let (mut good, mut lost) = (0, 0);
    for trial in &plan.trials {
        let of: Vec<&TrialRecord> = records.iter().filter(|r| r.trial == trial.trial).collect();
        let numbers: Vec<u32> = of.iter().map(|r| r.attempt).collect();
        assert_eq!(numbers, (1..=of.len() as u32).collect::<Vec<_>>(), "attempts count up without a gap");
        match of.iter().position(|r| r.outcome == Outcome::Ok) {
            Some(at) => {
                assert_eq!(at, of.len() - 1, "a trial that has its result is left alone");
                good += 1;
            }
            None => {
                assert_eq!(of.len() as u32, attempts, "a trial without a result has used all its attempts");
                assert!(of.iter().all(|r| r.outcome != Outcome::Failed || r.reason.is_some() || !r.samples.is_empty()));
                lost += 1;
            }
        }
    }
    assert_eq!((good, lost), (done, given_up), "what the run says is what is on record");
    // First attempts follow the plan's order, however often the run was resumed.
    let mut first: Vec<usize> =
        begun.iter().filter(|(_, attempt, _)| *attempt == 1).map(|(trial, ..)| *trial).collect();
    first.dedup();
    let sorted: BTreeSet<usize> = first.iter().copied().collect();
    assert_eq!(first, sorted.into_iter().collect::<Vec<_>>());
    // Every block contains every condition once.
    let mut blocks: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    plan.trials.iter().for_each(|t| blocks.entry(t.block).or_default().push(&t.condition));
    let names: BTreeSet<&str> = plan.conditions.iter().map(|c| c.name.as_str()).collect();
    for block in blocks.values() {
        assert_eq!(block.len(), names.len());
        assert_eq!(block.iter().copied().collect::<BTreeSet<_>>(), names);
    }
}

#[test]
fn made_up_schedules_keep_every_promise() {
    let schedules = std::env::var("TARE_TEST_SCHEDULES").map_or(SCHEDULES, |number| number.parse().unwrap());
    let (mut runs, mut fates, mut grown) = (0, BTreeSet::new(), 0);
    for seed in 0..schedules {
        let (taken_up, seen) = play(seed);
        runs += taken_up as u64;
        fates.extend(seen);
        grown += u64::from(seed.is_multiple_of(3));
    }
    // Schedules in which nothing went wrong would prove nothing.
    assert_eq!(fates.len(), 7, "{fates:?}");
    assert!(2 * runs > 3 * schedules && 10 * grown > 3 * schedules, "{runs} runs, {grown} pilots");
}

#[test]
fn a_failure_to_prepare_data_ends_the_run_before_any_trial() {
    struct Empty;
    impl Runner for Empty {
        fn prepare(&mut self, _trial: usize, _hear: &mut dyn FnMut(Progress)) -> Result<Prepared, RunError> {
            let what = "no room".to_owned();
            let advice = Some("make room".to_owned());
            Ok(Prepared::Failed(Failure { what, place: None, expected: None, advice, exit_code: 3 }))
        }

        fn run(&mut self, _attempt: &Attempt, _hear: &mut dyn FnMut(Progress)) -> Result<Ended, RunError> {
            panic!("no trial begins without its data")
        }
    }
    let study = study(1);
    let plan = resolve(&study, &two_cores(), Where::Described).unwrap();
    let shelf = Shelf { plan: RefCell::new(plan.clone()), records: RefCell::default() };
    let ended = Run { study: &study, plan: &plan, needs_both_sides: false, until: None, runner: Empty, book: &shelf }
        .execute(&mut EventCounts::default());
    match ended {
        // A program without a server has no data to prepare: its failure is reported unchanged.
        Err(RunError::Running(failure)) => assert_eq!(failure.advice.as_deref(), Some("make room")),
        other => panic!("{other:?}"),
    }
    assert!(shelf.records.borrow().is_empty());
}

#[test]
fn at_the_time_limit_a_disturbed_trial_counts_and_only_one_without_a_measurement_is_left() {
    struct Left(Option<[usize; 3]>);
    impl Listener for Left {
        fn end(&mut self, record: &TrialRecord) {
            panic!("no time for {record:?}")
        }

        fn out_of_time(&mut self, left: usize, of: usize, disturbed: usize) {
            self.0 = Some([left, of, disturbed]);
        }
    }
    let study = Study { sampling: Sampling { within_s: Some(1.0), attempts: 2, ..study(1).sampling }, ..study(1) };
    let plan = Plan { within: Some(Within::default()), ..resolve(&study, &two_cores(), Where::Described).unwrap() };
    let record = |place: usize, outcome| TrialRecord {
        outcome,
        elapsed_s: 1.0,
        reason: Some("hog".to_owned()),
        ..TrialRecord::new(&plan.trials[place], 1, BTreeMap::new(), String::new())
    };
    let records = vec![record(0, Outcome::Disturbed), record(1, Outcome::Failed)];
    let shelf = Shelf { plan: RefCell::new(plan.clone()), records: RefCell::new(records) };
    let begun = RefCell::default();
    let script =
        || Script { seed: 1, run: 0, shelf: &shelf, begun: &begun, prepared: BTreeSet::new(), may_stop: false };
    let (mut reported, all) = (Left(None), plan.trials.len());
    let ended =
        Run { study: &study, plan: &plan, needs_both_sides: false, until: None, runner: script(), book: &shelf }
            .execute(&mut reported)
            .unwrap();
    assert_eq!((reported.0, ended.done), (Some([all - 1, all, 1]), 1));
    assert_eq!(shelf.plan.borrow().within.as_ref().map(|within| within.stopped), Some(all - 1));
    let last = shelf.records.borrow().last().cloned().unwrap();
    assert_eq!((last.trial, last.attempt, last.outcome), (plan.trials[0].trial, 2, Outcome::Ok));
    // Resumed, it runs nothing more, even if there is time: its answer was the last look.
    let study = Study { sampling: Sampling { within_s: Some(1e6), ..study.sampling }, ..study };
    let (stopped, mut reported) = (shelf.plan.borrow().clone(), Left(None));
    let ended =
        Run { study: &study, plan: &stopped, needs_both_sides: false, until: None, runner: script(), book: &shelf }
            .execute(&mut reported)
            .unwrap();
    assert_eq!((reported.0, ended.done, ended.left), (Some([all - 1, all, 0]), 1, 0));
}
