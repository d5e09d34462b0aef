//! Events per transaction in A and in B, all tested together.

use super::changes::together;
use super::trials::{FALSE_DISCOVERIES, Trials};
use crate::ends;
use crate::time::{Event, events_in_all, events_of_trial};
use serde::Serialize;
use std::collections::BTreeMap;
use tare_stats::Interval;
use tare_stats::ratio::Shift;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventChange {
    #[serde(flatten)]
    pub event: Event,
    pub a: f64,
    pub b: f64,
    pub difference: f64,
    /// 95% interval for this event alone.
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
    /// Probability of such a difference if there is none, adjusted over all events (false discovery rate).
    pub p_value: f64,
    /// Whether it is shown: the adjusted p-value is at most 5%.
    pub shown: bool,
}

/// The events that every trial of both sides has; empty if a trial counted none.
pub(super) fn events(trials: &Trials<'_, '_>) -> Vec<EventChange> {
    let [a, b] =
        [trials.a, trials.b].map(|side| side.iter().map(events_of_trial).collect::<Vec<BTreeMap<Event, f64>>>());
    let change = |(event, [a, b], shift): (&Event, [f64; 2], Shift)| EventChange {
        event: event.clone(),
        a,
        b,
        difference: shift.value,
        ci: shift.ci,
        p_value: shift.p_value,
        shown: shift.p_value <= FALSE_DISCOVERIES,
    };
    together(trials, [&a, &b], events_in_all(a.iter().chain(&b))).into_iter().map(change).collect()
}
