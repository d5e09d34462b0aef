//! The time limit of a run (`sampling.within_s`), over all of its sessions.

use std::time::Instant;
use tare_results::schema::{Plan, TrialRecord};
use tare_study::language::spec::Study;
use tare_study::plan::task::{Task, TaskError};
use tare_study::plan::{estimate, ladder};

#[derive(Debug)]
pub(super) struct Deadline {
    requested_s: f64,
    /// Used by trials of earlier sessions.
    spent_s: f64,
    clock: Instant,
    /// The server lifetime that was started last; the other trials of that lifetime may still run.
    begun: Option<usize>,
}

impl Deadline {
    /// `None` without a time limit.
    pub(crate) fn of(study: &Study, records: &[TrialRecord]) -> Option<Self> {
        let requested_s = study.sampling.within_s?;
        let spent_s = records.iter().map(|record| record.elapsed_s).sum();
        Some(Self { requested_s, spent_s, clock: Instant::now(), begun: None })
    }

    /// Whether a trial ends in time, together with the trials that share its server.
    pub(crate) fn lasts_for(&mut self, study: &Study, plan: &Plan, trial: usize) -> Result<bool, TaskError> {
        let task = Task::find(study, plan, trial)?;
        if task.planned.lifetime.is_some() && task.planned.lifetime == self.begun {
            return Ok(true);
        }
        let mut warm = task.condition.settings.clone();
        warm.workload.load.load_mut().take_warm();
        let more = ladder::rest_of_lifetime(plan, trial).len().saturating_sub(1) as f64;
        let rungs_s = more * warm.workload.load.load().expected_s(&estimate::counts(&warm, &task.sampling));
        let expected_s = estimate::trial_s(&task.condition.settings, &task.sampling) + rungs_s;
        let lasts = self.spent_s + self.clock.elapsed().as_secs_f64() + expected_s <= self.requested_s;
        if lasts {
            self.begun = task.planned.lifetime;
        }
        Ok(lasts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use tare_results::schema::PlannedTrial;
    use tare_study::language::document::Source;
    use tare_study::language::parse::{Overrides, parse};
    use tare_study::plan::resolve::{Where, resolve};
    use tare_topology::Machine;

    #[test]
    fn a_started_server_finishes_its_rungs_and_none_starts_too_late() {
        let text = "name = \"s\"\n[sampling]\ntrials = 2\nwarmup_s = 1\nsample_s = 9\nwithin_s = 100\n\
                    [design]\nladder = \"threads\"\n[factors]\nthreads = [1, 2, 3]\n";
        let study = parse(Source { origin: "test", text }, &Overrides::default()).unwrap();
        let plan = resolve(&study, &Machine::synthetic("core:2 pu:1").unwrap(), Where::Described).unwrap();
        let spent = |elapsed_s: f64| {
            let planned = PlannedTrial { trial: 0, block: 0, condition: String::new(), lifetime: None };
            let record = TrialRecord { elapsed_s, ..TrialRecord::new(&planned, 1, BTreeMap::new(), String::new()) };
            Deadline::of(&study, &[record]).unwrap()
        };
        // Three rungs of 10 s each, with a server whose start takes almost no time.
        let mut deadline = spent(60.0);
        assert!(deadline.lasts_for(&study, &plan, 0).unwrap());
        let mut deadline = Deadline { spent_s: 85.0, ..deadline };
        assert!(deadline.lasts_for(&study, &plan, 1).unwrap(), "its server runs");
        assert!(!deadline.lasts_for(&study, &plan, 3).unwrap(), "another lifetime");
        assert!(Deadline::of(&Study { sampling: Default::default(), ..study }, &[]).is_none());
    }
}
