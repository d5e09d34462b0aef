//! Events of processors and kernel in a capture sample, counted in the threads of either side by `perf stat`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the capture, also among those that are missing.
pub const EVENTS: &str = "events";
/// Name, among the missing captures, of the events that need counters which the machine does not have.
pub const NO_COUNTERS: &str = "events.hardware";

/// What was counted on each side; a side on another host has none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SidesEvents {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<EventCounts>,
    /// Of the threads that serve connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<EventCounts>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EventCounts {
    /// How long events were counted, a little longer than the capture sample, seconds.
    pub elapsed_s: f64,
    /// CPU time of these threads meanwhile, seconds.
    pub cpu_s: f64,
    /// Whether hardware events are those of user code alone, as where the kernel may not be looked into.
    pub user_only: bool,
    /// perf's name of an event -> how often it happened. Where there are fewer counters than events they took turns,
    /// and this is perf's estimate for the whole time.
    pub counts: BTreeMap<String, f64>,
}
