//! How long trials take: the estimate before the run, and the time limit of a trial; and the data sets that exist
//! already from an earlier run, so that a plan need not create them.

use super::builds::Programs;
use super::design::Condition;
use super::limits::is_wanted;
use super::needs;
use crate::language::settings::{Sampling, Settings};
use crate::language::spec::Study;
use crate::language::values::from_values;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use tare_drive::capture::settings::CaptureSettings;
use tare_drive::workload::TrialSize;
use tare_results::schema::{Plan, PlannedCondition, PlannedTrial};

pub fn counts(settings: &Settings, sampling: &Sampling) -> TrialSize {
    TrialSize {
        samples: sampling.samples + sampling.drop_samples,
        warmup_s: sampling.warmup_s,
        sample_s: sampling.sample_s,
        threads: settings.workload.threads,
        cpus: std::thread::available_parallelism().map_or(1, usize::from),
        extra: settings.capture.need_a_sample() && settings.workload.load.load().no_captures().is_none(),
    }
}

/// Expected time of one trial, seconds: the load, and starting and stopping the engine on an ordinary machine.
pub fn trial_s(settings: &Settings, sampling: &Sampling) -> f64 {
    trial_of(settings, sampling, counts(settings, sampling))
}

/// Expected time of a trial on a machine with this many CPUs, seconds.
pub fn trial_on_s(settings: &Settings, sampling: &Sampling, cpus: usize) -> f64 {
    trial_of(settings, sampling, TrialSize { cpus, ..counts(settings, sampling) })
}

/// Expected time of all trials of a schedule, seconds.
pub(crate) fn trials_s(trials: &[PlannedTrial], conditions: &[Condition], sampling: &Sampling, cpus: usize) -> f64 {
    Costs::of(conditions, sampling, cpus).trials_s(trials)
}

/// Expected seconds of one trial, by the name of its condition: with its own server, and with a warm server.
pub(crate) struct Costs<'a>(HashMap<&'a str, (f64, f64)>);

impl<'a> Costs<'a> {
    pub(crate) fn of(conditions: &'a [Condition], sampling: &Sampling, cpus: usize) -> Self {
        let costs = conditions.iter().take_while(|_| is_wanted()).map(|condition| {
            let settings = &condition.settings;
            let mut warm = settings.clone();
            warm.workload.load.load_mut().take_warm();
            warm.capture = CaptureSettings::default();
            let alone_s = trial_on_s(settings, sampling, cpus);
            let rung_s = trial_on_s(&warm, sampling, cpus) - servers_s(settings);
            (condition.name.as_str(), (alone_s, alone_s.min(rung_s)))
        });
        Self(costs.collect())
    }

    /// Expected time of a schedule, seconds: a trial with a warm server needs no start and no warm-up.
    pub(crate) fn trials_s(&self, trials: &[PlannedTrial]) -> f64 {
        let mut begun: Option<usize> = None;
        let cost = |trial: &PlannedTrial| {
            let is_warm = trial.lifetime.is_some() && trial.lifetime == begun;
            begun = trial.lifetime;
            let known = self.0.get(trial.condition.as_str());
            known.map_or(0.0, |(alone_s, rung_s)| if is_warm { *rung_s } else { *alone_s })
        };
        trials.iter().map(cost).sum()
    }
}

/// Bytes per second of rows that are loaded into a server with their indexes, and of files that are copied.
const FILLED: f64 = 25e6;
const COPIED: f64 = 300e6;

/// Expected time until the data of these conditions are ready, if none exist yet, seconds: each set is created once
/// and copied once as a working copy.
pub(crate) fn data_s<'a>(conditions: impl Iterator<Item = &'a Condition> + Clone, study: &Study) -> f64 {
    let needs = needs::of(conditions.clone(), study.sampling.seed);
    making_s(conditions, study) + needs.disk_bytes as f64 / 2.0 / COPIED
}

/// The part of it without the working copies, which every run creates.
fn making_s<'a>(conditions: impl Iterator<Item = &'a Condition> + Clone, study: &Study) -> f64 {
    let needs = needs::of(conditions.clone(), study.sampling.seed);
    // Each set is created by a server of its own.
    let wanted = conditions.take_while(|_| is_wanted());
    let started = wanted.map(|c| &c.settings).filter(|settings| settings.starts_a_server());
    let fresh: BTreeMap<String, f64> = started
        .map(|settings| (needs::named(settings, study.sampling.seed), settings.engine.kind.fresh_cost_s()))
        .collect();
    needs.data_bytes as f64 / FILLED + fresh.into_values().sum::<f64>()
}

fn trial_of(settings: &Settings, sampling: &Sampling, counts: TrialSize) -> f64 {
    let load = settings.workload.load.load();
    // A profile is processed after the server has stopped, in about the time that its recording took.
    let profile_s = if counts.extra && settings.capture.profile { sampling.sample_s } else { 0.0 };
    let settle_s = settings.workload.settle.limit_s;
    sampling.pause_s + servers_s(settings) + load.expected_s(&counts) + settle_s + profile_s
}

/// How many times longer a server may take to start and stop next to the programs that disturb a trial.
const BUSY: f64 = 4.0;

/// Further time of a plan if every attempt is disturbed, seconds: trials are repeated, and servers start more slowly.
/// Rungs of one lifetime are not repeated; without repeats it is 0.
pub fn again_s(study: &Study, plan: &Plan) -> f64 {
    let attempts = f64::from(study.sampling.attempts);
    if attempts < 2.0 {
        return 0.0;
    }
    let mut each_s: BTreeMap<&str, f64> = BTreeMap::new();
    let wanted = plan.conditions.iter().take_while(|_| is_wanted());
    for condition in wanted.filter(|condition| condition.realizable) {
        let Ok(settings) = from_values(&condition.settings) else { continue };
        let slower_s = (BUSY - 1.0) * servers_s(&settings);
        let more_s = (attempts - 1.0) * trial_s(&settings, &study.sampling) + attempts * slower_s;
        each_s.insert(&condition.name, more_s);
    }
    let alone = plan.trials.iter().filter(|trial| trial.lifetime.is_none());
    alone.filter_map(|trial| each_s.get(trial.condition.as_str())).sum::<f64>()
}

/// Time for starting and stopping all servers of a trial, seconds.
fn servers_s(settings: &Settings) -> f64 {
    around_s(settings) * settings.workload.load.load().parts().len().max(1) as f64
}

/// Time for starting and stopping its engine, seconds; 0 without a server.
fn around_s(settings: &Settings) -> f64 {
    if !settings.workload.load.load().needs_server() {
        return 0.0;
    }
    let running = &settings.engine.running;
    if running.is_requested() && running.restart.is_empty() {
        return 0.1;
    }
    settings.engine.kind.start_cost_s()
}

/// Time limit of a trial if the study sets none, seconds: four times the expected time, plus a minute, plus the start
/// timeout of its server.
pub fn limit_s(settings: &Settings, sampling: &Sampling) -> f64 {
    let (load, counts) = (settings.workload.load.load(), counts(settings, sampling));
    let all_s = trial_s(settings, sampling).max(servers_s(settings) + load.limit_s(&counts));
    60.0 + 4.0 * all_s + settings.engine.start_timeout_s
}

/// Subtracts from the estimated times of a plan the time for creating existing data sets.
pub fn leave_out_made(study: &Study, plan: &mut Plan, cache: &Path) {
    let programs = Programs::default();
    let there: Vec<Condition> = plan
        .conditions
        .iter()
        .take_while(|_| is_wanted())
        .filter(|planned| planned.realizable)
        .filter_map(condition)
        .filter(|condition| is_made(condition, study, cache, &programs))
        .collect();
    let making_s = making_s(there.iter(), study);
    plan.estimated_s -= making_s;
    plan.data_s -= making_s;
}

/// The condition with the settings of its trials; none if the plan does not contain them.
pub(super) fn condition(planned: &PlannedCondition) -> Option<Condition> {
    let settings = from_values(&planned.settings).ok()?;
    Some(Condition { name: planned.name.clone(), levels: planned.levels.clone(), settings })
}

fn is_made(condition: &Condition, study: &Study, cache: &Path, programs: &Programs) -> bool {
    let (settings, load) = (&condition.settings.engine, condition.settings.workload.load.load());
    let dataset = settings.named(load.dataset(study.sampling.seed));
    let is_prepared = |program| settings.kind.is_prepared(cache, &program, &settings.options, &dataset);
    condition.settings.makes_data() && programs.of(settings.kind, settings.binary.as_deref()).is_ok_and(is_prepared)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::builtin;
    use crate::language::document::Source;
    use crate::language::parse::{Overrides, parse};
    use crate::plan::resolve::{Where, resolve};
    use tare_topology::Machine;

    /// Next to six busy programs on two CPUs, attempts at these trials of 0.72 s take 1.1 to 1.3 s.
    #[test]
    fn the_longest_time_includes_slower_starts_next_to_other_programs() {
        let of = |attempts: u32| {
            let sets = vec![format!("sampling.attempts={attempts}")];
            let overrides = Overrides { quick: true, sets, ..Overrides::default() };
            let source = Source { origin: "luck", text: builtin::find("luck").unwrap().text };
            let study = parse(source, &overrides).unwrap();
            let plan = resolve(&study, &Machine::synthetic("core:2 pu:1").unwrap(), Where::Described).unwrap();
            assert_eq!(plan.trials.len(), 12);
            again_s(&study, &plan)
        };
        let once_s = 12.0 * 0.72;
        assert_eq!(of(1), 0.0);
        assert!((25.0 - once_s..28.0 - once_s).contains(&of(2)), "{}", of(2));
    }
}
