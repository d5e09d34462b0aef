//! Events of processors and kernel, per transaction of the capture sample. They are counted for slightly longer than
//! the sample; the throughput of that time is taken to be that of the sample.

use super::trial::TrialTime;
use crate::confidence::CONFIDENCE;
use crate::ends;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use tare_results::events::EventCounts;
use tare_stats::Interval;
use tare_stats::trials::mean_interval;

const CYCLES: &str = "cycles";
const INSTRUCTIONS: &str = "instructions";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventSide {
    Client,
    Server,
}

/// An event of one side: an event by perf's name, or a value derived from two events.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Event {
    pub side: EventSide,
    #[serde(flatten)]
    pub what: Counted,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "event", content = "name", rename_all = "snake_case")]
pub enum Counted {
    InstructionsPerCycle,
    /// Number of events per transaction.
    PerTransaction(String),
}

/// Events that the kernel counts itself, on any machine.
const OF_THE_KERNEL: [&str; 3] = ["context-switches", "cpu-migrations", "page-faults"];

impl Counted {
    pub fn is_of_hardware(&self) -> bool {
        match self {
            Self::InstructionsPerCycle => true,
            Self::PerTransaction(name) => !OF_THE_KERNEL.contains(&name.as_str()),
        }
    }
}

/// An event of one condition, mean over its trials that counted it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventMean {
    #[serde(flatten)]
    pub event: Event,
    pub value: f64,
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
}

/// The events of one trial; empty without the capture `events`.
pub(crate) fn of_trial(time: &TrialTime<'_>) -> BTreeMap<Event, f64> {
    let Some(sample) = &time.trial.capture_sample else { return BTreeMap::new() };
    let Some(counted) = &sample.events else { return BTreeMap::new() };
    let mut all = BTreeMap::new();
    for (side, counts) in [(EventSide::Client, &counted.client), (EventSide::Server, &counted.server)] {
        let Some(counts) = counts else { continue };
        let transactions = sample.tps * counts.elapsed_s;
        all.extend(of_side(counts, transactions).into_iter().map(|(what, value)| (Event { side, what }, value)));
    }
    all.retain(|_, value| value.is_finite());
    all
}

fn of_side(counted: &EventCounts, transactions: f64) -> BTreeMap<Counted, f64> {
    let each = counted.counts.iter().map(|(name, n)| (Counted::PerTransaction(name.clone()), n / transactions));
    let rate = counted.counts.get(INSTRUCTIONS).zip(counted.counts.get(CYCLES));
    each.chain(rate.map(|(instructions, cycles)| (Counted::InstructionsPerCycle, instructions / cycles))).collect()
}

/// The events that all trials of a condition have, of those that counted any.
pub(crate) fn of_condition(times: &[TrialTime<'_>]) -> Vec<EventMean> {
    let trials: Vec<BTreeMap<Event, f64>> = times.iter().map(of_trial).filter(|trial| !trial.is_empty()).collect();
    let mean = |event: &Event| {
        let values: Vec<f64> = trials.iter().filter_map(|trial| trial.get(event).copied()).collect();
        let value = values.iter().sum::<f64>() / values.len() as f64;
        EventMean { event: event.clone(), value, ci: mean_interval(&values, CONFIDENCE) }
    };
    in_all(trials.iter()).into_iter().map(mean).collect()
}

pub(crate) fn in_all<'t>(mut trials: impl Iterator<Item = &'t BTreeMap<Event, f64>>) -> BTreeSet<&'t Event> {
    let first = trials.next().map(|trial| trial.keys().collect::<BTreeSet<_>>()).unwrap_or_default();
    trials.fold(first, |all, trial| all.into_iter().filter(|event| trial.contains_key(*event)).collect())
}
