//! Events of processors and kernel in a capture sample, counted in the threads of either side by `perf stat`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the capture, also in the list of missing captures.
pub const EVENTS: &str = "events";
/// Name, in the list of missing captures, of the events that need hardware counters which the machine lacks.
pub const NO_COUNTERS: &str = "events.hardware";

/// Counts of each side; none for a side on another host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SidesEvents {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<EventCounts>,
    /// Counts of the threads that serve connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<EventCounts>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EventCounts {
    /// How long events were counted, slightly longer than the capture sample, seconds.
    pub elapsed_s: f64,
    /// CPU time of these threads during that time, seconds.
    pub cpu_s: f64,
    /// Whether hardware events cover user code only, because access to the kernel's was not allowed.
    pub user_only: bool,
    /// perf's name of an event -> its count. With fewer counters than events they were multiplexed, and this is perf's
    /// estimate for the whole time.
    pub counts: BTreeMap<String, f64>,
}
