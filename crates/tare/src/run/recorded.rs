//! Checks that recording a trial always takes the same time: real book and files, and a runner that only writes
//! records. `benches/compare` runs it with 100,000 trials, in memory, because each record waits for the disk.

use super::{Attempt, Ended, Listener, Prepared, Run, RunError, Runner};
use std::collections::BTreeMap;
use std::time::Instant;
use tare_drive::capture::environment::environment;
use tare_drive::workload::Progress;
use tare_files::{Folder, Trust};
use tare_results::schema::{PlannedTrial, TrialRecord};
use tare_results::store::{Directory, append_trial, end_of_trials, read_trials_behind};
use tare_study::language::document::Source;
use tare_study::language::parse::{Overrides, parse};
use tare_study::plan::resolve::{Where, resolve};
use tare_topology::Machine;

/// Writes records like a trial's process, and reads them back like its run.
struct Recorder<'a> {
    directory: &'a Folder,
}

impl Runner for Recorder<'_> {
    fn prepare(&mut self, _trial: usize, _hear: &mut dyn FnMut(Progress)) -> Result<Prepared, RunError> {
        Ok(Prepared::Done)
    }

    fn run(&mut self, attempt: &Attempt, _hear: &mut dyn FnMut(Progress)) -> Result<Ended, RunError> {
        let before = end_of_trials(self.directory)?;
        let planned =
            PlannedTrial { trial: attempt.trial, block: attempt.trial, condition: "base".into(), lifetime: None };
        let record = TrialRecord::new(&planned, attempt.attempt, BTreeMap::new(), tare_results::now());
        append_trial(self.directory, &record)?;
        let mut records = read_trials_behind(self.directory, before)?;
        Ok(Ended::Recorded(Box::new(records.pop().unwrap())))
    }
}

/// Seconds after which each tenth of the trials had ended.
struct Clock {
    begun: Instant,
    tenth: usize,
    ended: usize,
    marks: Vec<f64>,
}

impl Listener for Clock {
    fn end(&mut self, _record: &TrialRecord) {
        self.ended += 1;
        if self.ended.is_multiple_of(self.tenth) {
            self.marks.push(self.begun.elapsed().as_secs_f64());
        }
    }
}

#[test]
fn the_last_trial_costs_no_more_time_to_record_than_the_first() {
    let trials: usize = std::env::var("TARE_RECORDED_TRIALS").map_or(500, |n| n.parse().unwrap());
    let text = format!(
        "name = \"many\"\n[workload]\nname = \"command\"\ncommand = \"true\"\nneeds_server = false\n[sampling]\ntrials = {trials}\n"
    );
    let study = parse(Source { origin: "test", text: &text }, &Overrides::default()).unwrap();
    let machine = Machine::synthetic("core:2 pu:1").unwrap();
    let plan = resolve(&study, &machine, Where::Described).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results");
    let directory = Directory::create(&path, Trust::Anyone).unwrap();
    directory.begin(&text, &plan, &environment(&machine)).unwrap();
    let mut clock = Clock { begun: Instant::now(), tenth: trials / 10, ended: 0, marks: Vec::new() };
    let end = Run {
        study: &study,
        plan: &plan,
        needs_both_sides: false,
        runner: Recorder { directory: directory.folder() },
        book: &directory,
    }
    .execute(&mut clock)
    .unwrap();
    assert_eq!((end.done, end.left), (trials, 0));
    let each: Vec<f64> = std::iter::once(&0.0)
        .chain(&clock.marks)
        .zip(&clock.marks)
        .map(|(from, to)| (to - from) / clock.tenth as f64 * 1e6)
        .collect();
    let words: Vec<String> = each.iter().map(|us| format!("{us:.0}")).collect();
    println!("{trials} trials recorded, by tenths: {} us each", words.join(" "));
    // The benchmark measures the exact figures; in this test, noise of the disk is larger than a slow growth.
    let (first, last) = (each[..3].iter().sum::<f64>(), each[7..].iter().sum::<f64>());
    assert!(last < 3.0 * first, "{each:?}");
}
