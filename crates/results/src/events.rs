//! Events of processors and kernel in a capture sample, counted in the threads of either side by `perf stat`, and the
//! measurement facilities of a machine that such data needs.

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

/// Key in an environment's settings: names of the kernel's event sources; missing in results of older versions.
pub const EVENT_SOURCES: &str = "event_sources";
/// Key in an environment's settings: state of resctrl, which measures caches and memory bandwidth.
pub const RESCTRL: &str = "resctrl";
/// Value of [`RESCTRL`] if it can be read.
pub const MOUNTED: &str = "mounted";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hardware {
    pub counters: bool,
    /// Sampling of memory accesses, which `perf c2c` needs.
    pub accesses: bool,
    /// Memory bandwidth and cache occupancy.
    pub resctrl: bool,
}

impl Hardware {
    /// From the settings of an environment; none if they lack the event sources.
    pub fn of(settings: &BTreeMap<String, String>) -> Option<Self> {
        let sources: Vec<&str> = settings.get(EVENT_SOURCES)?.split(' ').collect();
        let any = |starts: &[&str]| sources.iter().any(|source| starts.iter().any(|start| source.starts_with(start)));
        let intel = sources.contains(&"cpu") || any(&["cpu_core", "cpu_atom"]);
        // Intel samples loads with the counters themselves; AMD's `cpu` counts, and `ibs_op` samples.
        let amd = any(&["ibs_fetch", "amd_"]);
        Some(Self {
            counters: intel || any(&["armv8", "armv9", "apple_"]),
            accesses: any(&["ibs_op", "arm_spe"]) || intel && !amd,
            resctrl: settings.get(RESCTRL).is_some_and(|found| found == MOUNTED),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_known_by_the_kernels_sources_of_events() {
        // Event sources of a virtual machine, an Intel, an AMD and an Arm server.
        let machines = [
            ("breakpoint msr software tracepoint uprobe", "not mounted", (false, false, false)),
            (
                "breakpoint cpu cstate_core intel_pt msr power software tracepoint uncore_imc_0",
                "mounted",
                (true, true, true),
            ),
            ("cpu_atom cpu_core msr software", "not mounted", (true, true, false)),
            ("amd_df cpu ibs_fetch ibs_op msr software", "mounted", (true, true, true)),
            ("amd_df cpu ibs_fetch msr software", "not mounted", (true, false, false)),
            ("armv8_pmuv3_0 arm_spe_0 software", "not mounted", (true, true, false)),
        ];
        for (sources, resctrl, (counters, accesses, mounted)) in machines {
            let settings = [(EVENT_SOURCES, sources), (RESCTRL, resctrl)];
            let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
            let expected = Hardware { counters, accesses, resctrl: mounted };
            assert_eq!(Hardware::of(&settings), Some(expected), "{sources}");
        }
        assert_eq!(Hardware::of(&BTreeMap::new()), None);
    }
}
