//! The loop of a run: every trial of the plan in order, failed and disturbed ones again, until all are done.

use super::early::{self, Alike, Deadline, Repeats};
use super::{Attempt, Book, Ended, Listener, Prepared, RunError, Runner};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use tare_results::Results;
use tare_results::schema::{Outcome, Plan, TrialRecord};
use tare_study::language::spec::Study;
use tare_study::language::write::to_toml;
use tare_study::plan::queue::{Next, Queue};
use tare_study::plan::task::Task;
use tare_study::plan::{estimate, ladder, looks, pilot, race, rungs, settle};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunEnd {
    pub done: usize,
    /// Trials that failed in all of their attempts.
    pub given_up: usize,
    /// Trials not run because of Ctrl-C.
    pub left: usize,
}

pub(crate) struct Run<'a, R, B> {
    pub study: &'a Study,
    pub plan: &'a Plan,
    /// Whether a comparison ends once one of its sides has failed each time for the same reason.
    pub needs_both_sides: bool,
    /// When no trial may run any more, also if the study has no time limit of its own.
    pub until: Option<Instant>,
    /// Runs the trials: one at a time, or both trials of a pair together.
    pub runner: R,
    pub book: B,
}

impl<R: Runner, B: Book> Run<'_, R, B> {
    pub(crate) fn execute(&mut self, listener: &mut dyn Listener) -> Result<RunEnd, RunError> {
        let mut plan = self.plan.clone();
        if let Some(within) = plan.within.as_ref().filter(|within| within.stopped > 0) {
            // The answer at the end of its time was the last look: with more trials there would be another one.
            let queue = Queue::new(&plan.trials, &self.book.records()?, self.study.sampling.attempts);
            listener.out_of_time(within.stopped, plan.trials_in_all(), 0);
            return Ok(end(&queue, 0));
        }
        self.runner.take(self.study, &plan)?;
        let (mut prepared, mut repeats_ended) = (false, false);
        let mut alike = Alike::default();
        let mut deadline = Deadline::of(self.study, &self.book.records()?, self.until);
        loop {
            let records = self.book.records()?;
            let mut queue = Queue::new(&plan.trials, &records, self.study.sampling.attempts);
            let (mut repeats, mut as_measured) = (Repeats::of(&records), None);
            if queue.left() > 0 && !prepared {
                if !self.prepare(listener)? {
                    return Ok(end(&queue, queue.left()));
                }
                prepared = true;
            }
            while let Some(next) = queue.take() {
                if next.attempt > 1 && repeats.are_in_vain() {
                    if !std::mem::replace(&mut repeats_ended, true) {
                        listener.repeats_end();
                    }
                    if self.counts(&next, &mut as_measured)? {
                        queue.ended(next, Outcome::Ok);
                        continue;
                    }
                }
                if let Some(deadline) = &mut deadline
                    && !deadline.lasts_for(self.study, &plan, next.trial.trial)?
                {
                    return self.stop_in_time(&plan, next, queue, listener);
                }
                listener.begin(&next, queue.done(), queue.left());
                let other = if plan.is_together() { queue.take_with(&next) } else { None };
                let turn: Vec<Next> = std::iter::once(next).chain(other).collect();
                let Some(records) = self.turn(&plan, &turn, listener)? else {
                    return Ok(end(&queue, queue.left() + turn.len()));
                };
                for (next, record) in turn.into_iter().zip(records) {
                    listener.end(&record);
                    queue.ended(next, record.outcome);
                    repeats.take(&record);
                    alike.take(&record, &plan);
                }
                let of_all = alike.all(&plan).filter(|_| queue.left() > 0);
                if let Some(e) = of_all.or_else(|| alike.of_a_side().filter(|_| self.needs_both_sides)) {
                    return Err(e);
                }
            }
            // The same records always lead to the same decision, even after a crash before it was written.
            let records = self.book.records()?;
            listener.looked(&plan, &records);
            let is_settled = |plan: &Plan, records: &[TrialRecord]| settled(self.study, plan, records);
            let decided = |plan: &Plan, records: &[TrialRecord]| settled_loads(self.study, plan, records);
            let more = pilot::extended(self.study, &plan, &records)
                .or_else(|| settle::extended(&plan, &records))
                .or_else(|| race::extended(&plan, &records))
                .or_else(|| rungs::extended(self.study, &plan, &records, is_settled, decided))
                .or_else(|| looks::extended(self.study, &plan, &records, is_settled));
            let Some(extended) = more else { return Ok(end(&queue, 0)) };
            self.book.write_plan(&extended)?;
            self.runner.take(self.study, &extended)?;
            listener.decided(&extended);
            plan = extended;
        }
    }

    /// Uses a trial's disturbed measurement if repeats are useless; false if there is none. These records are read
    /// once.
    fn counts(
        &mut self,
        next: &Next,
        as_measured: &mut Option<BTreeMap<usize, TrialRecord>>,
    ) -> Result<bool, RunError> {
        if as_measured.is_none() {
            *as_measured = Some(early::set_aside(self.book.records()?));
        }
        let aside = as_measured.as_ref().and_then(|all| all.get(&next.trial.trial));
        let Some(aside) = aside.filter(|aside| aside.attempt + 1 == next.attempt) else { return Ok(false) };
        self.book.append(&early::counted_as_disturbed(aside))?;
        Ok(true)
    }

    /// Ends a run at its time limit: the answer is based on the measurements so far, disturbed ones included.
    fn stop_in_time(
        &mut self,
        plan: &Plan,
        next: Next,
        mut queue: Queue,
        listener: &mut dyn Listener,
    ) -> Result<RunEnd, RunError> {
        let (mut plan, of, mut as_measured) = (plan.clone(), plan.trials_in_all(), None);
        let (mut left, mut disturbed) = (of - plan.trials.len(), 0);
        let mut waiting = Some(next);
        while let Some(next) = waiting {
            if self.counts(&next, &mut as_measured)? {
                disturbed += 1;
                queue.ended(next, Outcome::Ok);
            } else {
                left += 1;
            }
            waiting = queue.take();
        }
        if let Some(within) = &mut plan.within {
            within.stopped = left;
        }
        self.book.write_plan(&plan)?;
        listener.out_of_time(left, of, disturbed);
        Ok(end(&queue, 0))
    }

    /// Prepares the data of every condition once, outside the trials. Returns false when interrupted.
    fn prepare(&mut self, listener: &mut dyn Listener) -> Result<bool, RunError> {
        for condition in self.plan.realizable() {
            let Some(trial) = self.plan.trials.iter().find(|t| t.condition == condition.name) else { continue };
            if self.makes_data(trial.trial) {
                listener.preparing(&condition.name);
            }
            match self.runner.prepare(trial.trial, &mut |progress| listener.hear(progress))? {
                Prepared::Done => {}
                Prepared::Interrupted => return Ok(false),
                Prepared::Failed(failure) if self.makes_data(trial.trial) => return Err(RunError::Prepare(failure)),
                Prepared::Failed(failure) => return Err(RunError::Running(failure)),
            }
        }
        Ok(true)
    }

    /// Whether tare makes the data of this trial: not on a running server, or without a server.
    fn makes_data(&self, trial: usize) -> bool {
        let task = Task::find(self.study, self.plan, trial);
        task.map_or(true, |task| task.condition.settings.starts_a_server())
    }

    /// Runs one trial, or both of a pair; `None` when interrupted. An attempt that left no record gets one here.
    fn turn(
        &mut self,
        plan: &Plan,
        turn: &[Next],
        listener: &mut dyn Listener,
    ) -> Result<Option<Vec<TrialRecord>>, RunError> {
        let attempts = turn.iter().map(|next| self.attempt(plan, next)).collect::<Result<Vec<_>, _>>()?;
        let mut hear = |progress| listener.hear(progress);
        let ended = match attempts.as_slice() {
            &[first, second] => Vec::from(self.runner.run_both(&[first, second], &mut hear)?),
            alone => alone.iter().map(|one| self.runner.run(one, &mut hear)).collect::<Result<_, _>>()?,
        };
        let mut records = Vec::new();
        for (next, ended) in turn.iter().zip(ended) {
            match ended {
                Ended::Interrupted => return Ok(None),
                Ended::Recorded(record) => records.push(*record),
                Ended::NoRecord { reason, started_at, elapsed_s } => {
                    let task = Task::find(self.study, plan, next.trial.trial)?;
                    let record = TrialRecord {
                        outcome: Outcome::Failed,
                        reason: Some(reason),
                        elapsed_s,
                        ..TrialRecord::new(&next.trial, next.attempt, task.condition.levels, started_at)
                    };
                    self.book.append(&record)?;
                    records.push(record);
                }
            }
        }
        Ok(Some(records))
    }

    fn attempt(&self, plan: &Plan, next: &Next) -> Result<Attempt, RunError> {
        let task = Task::find(self.study, plan, next.trial.trial)?;
        let sampling = &task.sampling;
        // An attempt may have reached a limit that was estimated too low, so each further attempt gets twice the time.
        let again = f64::from(1_u32 << (next.attempt - 1).min(8));
        // Trials that share its server run in the same process.
        let rungs = ladder::rest_of_lifetime(plan, next.trial.trial).len() as f64;
        let of_one = estimate::limit_s(&task.condition.settings, sampling);
        // By turns, the samples of both sides run within this time.
        let sides = plan.turns.map_or(1.0, |_| plan.at_once());
        let limit_s = rungs * sides * sampling.trial_timeout_s.unwrap_or(again * of_one);
        Ok(Attempt {
            trial: next.trial.trial,
            attempt: next.attempt,
            timeout: Duration::try_from_secs_f64(limit_s).unwrap_or(Duration::MAX),
        })
    }
}

/// Whether the answer of the study needs no further trial.
pub fn settled(study: &Study, plan: &Plan, records: &[TrialRecord]) -> bool {
    tare_findings::settled(&so_far(study, plan, records))
}

/// The loads of which the answer needs no further trial.
pub fn settled_loads(study: &Study, plan: &Plan, records: &[TrialRecord]) -> BTreeSet<String> {
    tare_findings::settled_loads(&so_far(study, plan, records))
}

pub(super) fn so_far(study: &Study, plan: &Plan, records: &[TrialRecord]) -> Results {
    Results {
        study: study.name.clone(),
        study_toml: Some(to_toml(study).into()),
        plan: Some(plan.clone()),
        trials: records.to_vec(),
        ..Results::default()
    }
}

fn end(queue: &Queue, left: usize) -> RunEnd {
    RunEnd { done: queue.done(), given_up: queue.given_up(), left }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_drive::capture::environment::environment;
    use tare_drive::workload::Progress;
    use tare_files::{Folder, Trust};
    use tare_results::schema::PlannedTrial;
    use tare_results::store::{Directory, append_trial, end_of_trials, read_trials_behind};
    use tare_study::language::document::Source;
    use tare_study::language::parse::{Overrides, parse};
    use tare_study::plan::resolve::{Where, resolve};
    use tare_topology::Machine;

    /// Writes records like a trial's process, and reads them back like its run. `benches/compare` runs the test with
    /// 100,000 trials, in memory, because each record waits for the disk.
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
            until: None,
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
}
