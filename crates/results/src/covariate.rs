//! The registry of covariates (values recorded alongside the metrics): unit, how two readings of one sample are merged,
//! and whether a covariate may explain differences.

use crate::probe::Probe;
use crate::unit::Unit;
use std::collections::BTreeMap;

/// How the readings of two parts of one sample are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// Counts and times are added.
    Sum,
    /// Fractions of time are averaged, weighted by the length of each part.
    ByTime,
    /// The later reading of a state counts.
    Last,
    /// The largest of all readings counts.
    Largest,
}

/// Whether a covariate may be named as the reason why trials differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It can make a trial slower or faster, so it may explain a mode, an outlier or a residual.
    Cause,
    /// It is a consequence of the trial's speed: correlated with every metric, but never the reason.
    Consequence,
    /// A length, or redundant with another covariate: it explains nothing.
    Neither,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    One(&'static str),
    /// This prefix, then the number of a NUMA node: one reading per node.
    EachNode(&'static str),
    /// This prefix, then any word.
    Family(&'static str),
    /// `client_`, `server_` and `background_` with this suffix: one reading per class of threads.
    EachClass(&'static str),
}

/// Prefix of readings from the clients' host, if it is not the server's.
pub const CLIENT_HOST: &str = "client_host_";
/// How long tare, or the server, could not run because a control group was frozen or a signal stopped it, seconds.
pub const STOPPED: &str = "stopped_s";
pub const SERVER_STOPPED: &str = "server_stopped_s";
/// Seconds of it above which a sample is disturbed: the server is looked at twenty times per second.
const STOPPED_LEAST_S: f64 = 0.1;
/// Seconds of suspension during a sample, above which it is disturbed; less may be the difference of two clock reads.
const SUSPENDED_S: f64 = 0.01;
/// How long clients spun while waiting for an answer, seconds over all clients: CPU time without work.
pub const CLIENT_SPUN: &str = "client_spun_s";

/// Prefixes of the names that are recorded for each class of threads.
const CLASSES: [&str; 3] = ["client_", "server_", "background_"];

impl Names {
    fn hold(self, name: &str) -> bool {
        match self {
            Self::One(own) => own == name,
            Self::EachNode(prefix) => name.strip_prefix(prefix).is_some_and(|rest| rest.parse::<u32>().is_ok()),
            Self::Family(prefix) => name.starts_with(prefix),
            Self::EachClass(end) => CLASSES.iter().any(|class| name.strip_prefix(class) == Some(end)),
        }
    }
}

/// A disturbance of a sample whose effect on the metrics has no known upper bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unbounded {
    /// Bytes of the server that were swapped out.
    Swapped(f64),
    /// Seconds for which the machine was suspended.
    Suspended(f64),
    /// A signal stopped tare, its server or its client program.
    Signal,
    /// Seconds for which tare could not run.
    StoodStill(f64),
    /// Seconds for which the server could not run.
    ServerStoodStill(f64),
}

/// The disturbances of a sample that have no bound, from its covariates. A signal explains why a process stood still.
pub fn unbounded(covariates: &BTreeMap<String, f64>) -> Vec<Unbounded> {
    let above = |name: &str, limit: f64| covariates.get(name).copied().filter(|value| *value > limit);
    let swapped = above("server_swapped_bytes", 0.0).map(Unbounded::Swapped);
    let suspended = above("suspended_s", SUSPENDED_S).map(Unbounded::Suspended);
    let signal = above("stopped_processes", 0.0).map(|_| Unbounded::Signal);
    let still = above(STOPPED, STOPPED_LEAST_S).map(Unbounded::StoodStill);
    let server = above(SERVER_STOPPED, STOPPED_LEAST_S).map(Unbounded::ServerStoodStill);
    let stops = if signal.is_some() { [signal, None] } else { [still, server] };
    [swapped, suspended].into_iter().chain(stops).flatten().collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Covariate {
    names: Names,
    pub unit: Unit,
    /// How two readings of one sample are merged.
    pub merge: Merge,
    /// Whether it may be named as a reason.
    pub standing: Standing,
}

const fn entry(names: Names, unit: Unit, merge: Merge, standing: Standing) -> Covariate {
    Covariate { names, unit, merge, standing }
}

/// Bytes that the server allocated, by node of the memory.
pub const SERVER_MEMORY: Covariate =
    entry(Names::EachNode("server_memory_bytes_node"), Unit::Bytes, Merge::Last, Standing::Cause);
/// Bytes of the server's buffer pool, if it has a memory policy of its own, by node: from the process that has most of
/// it mapped.
pub const SERVER_POOL: Covariate =
    entry(Names::EachNode("server_pool_bytes_node"), Unit::Bytes, Merge::Last, Standing::Cause);
/// Pages allocated on the intended node (numa_hit), whole machine. A consequence of the amount of work.
pub const NUMA_HIT: Covariate =
    entry(Names::EachNode("numa_hit_pages_node"), Unit::Pages, Merge::Sum, Standing::Consequence);
/// Pages allocated on a node because another one was full (numa_miss), whole machine.
pub const NUMA_MISS: Covariate =
    entry(Names::EachNode("numa_miss_pages_node"), Unit::Pages, Merge::Sum, Standing::Cause);
/// Pages allocated on a node for a thread that ran on another node (other_node), whole machine.
pub const NUMA_OTHER: Covariate =
    entry(Names::EachNode("numa_other_pages_node"), Unit::Pages, Merge::Sum, Standing::Cause);

/// Pages with global counters, by node: for the counter workload.
pub const COUNTER_PAGES: Covariate =
    entry(Names::EachNode("counter_pages_node"), Unit::Pages, Merge::Last, Standing::Cause);
/// Pages with the data blocks of the counter workload, or a sample of them, by node.
pub const DATA_PAGES: Covariate = entry(Names::EachNode("data_pages_node"), Unit::Pages, Merge::Last, Standing::Cause);

/// The server's memory in huge pages: transparent ones, and ones from the huge page pool.
pub const HUGE_TRANSPARENT: &str = "server_transparent_huge_bytes";
pub const HUGE_POOL: &str = "server_huge_pool_bytes";
/// Page faults by which the kernel detects which node uses a page, whole machine.
pub const NUMA_HINT_FAULTS: &str = "numa_hint_faults";

/// The share of the time of the benchmark's CPUs that other programs took.
pub const FOREIGN_FRACTION: &str = "foreign_cpu_fraction";

/// How long clients counted statements, over all clients: those of the transactions that began in the sample.
pub const CLIENTS_TIMED: &str = "clients_timed_s";

/// Disk space of the server's data at the end of the sample, including log and temporary files.
pub const DATA_BYTES: Covariate =
    entry(Names::One("server_data_bytes"), Unit::Bytes, Merge::Last, Standing::Consequence);

/// CPU time of recording a sample: observing threads during it, reading counters at its start and end.
pub const RECORDING: Covariate = entry(Names::One("recording_cpu_s"), Unit::S, Merge::Sum, Standing::Neither);

/// Increments of global counters that the counter workload made, and increments that its counters show.
pub const INCREMENTS_EXPECTED: Covariate =
    entry(Names::One("increments_expected"), Unit::Plain, Merge::Sum, Standing::Consequence);
pub const INCREMENTS_COUNTED: Covariate =
    entry(Names::One("increments_counted"), Unit::Plain, Merge::Sum, Standing::Consequence);

/// Every covariate that a trial records. Unknown names come from an older or a newer program.
const ALL: &[Covariate] = {
    use Merge::{ByTime, Largest, Last, Sum};
    use Names::{EachClass, EachNode, Family, One};
    use Standing::{Cause, Consequence, Neither};
    &[
        entry(One("elapsed_s"), Unit::S, Sum, Neither),
        entry(One("busy_fraction"), Unit::Fraction, ByTime, Consequence),
        entry(One("steal_fraction"), Unit::Fraction, ByTime, Cause),
        entry(One("iowait_fraction"), Unit::Fraction, ByTime, Cause),
        entry(One("irq_fraction"), Unit::Fraction, ByTime, Cause),
        entry(One("bound_busy_fraction"), Unit::Fraction, ByTime, Consequence),
        entry(One("bound_busy_s"), Unit::S, Sum, Consequence),
        entry(One("bound_steal_fraction"), Unit::Fraction, ByTime, Cause),
        entry(One("bound_iowait_fraction"), Unit::Fraction, ByTime, Cause),
        entry(One("bound_irq_fraction"), Unit::Fraction, ByTime, Cause),
        // Undefined for the whole machine; newer kernels write 0 (Documentation/accounting/psi.rst).
        entry(One("psi_cpu_full_fraction"), Unit::Fraction, ByTime, Neither),
        entry(Family("psi_"), Unit::Fraction, ByTime, Cause),
        entry(One("swap_pages"), Unit::Pages, Sum, Cause),
        entry(One("major_faults"), Unit::Plain, Sum, Cause),
        entry(One(NUMA_HINT_FAULTS), Unit::Plain, Sum, Cause),
        entry(One("numa_migrated_pages"), Unit::Pages, Sum, Cause),
        entry(One("numa_promoted_pages"), Unit::Pages, Sum, Cause),
        entry(One("numa_demoted_pages"), Unit::Pages, Sum, Cause),
        entry(One("numa_miss_pages"), Unit::Pages, Sum, Cause),
        entry(One("numa_foreign_pages"), Unit::Pages, Sum, Cause),
        entry(One("throttle_events"), Unit::Plain, Sum, Cause),
        entry(One("context_switches"), Unit::Plain, Sum, Consequence),
        entry(One("forks"), Unit::Plain, Sum, Consequence),
        // Redundant with the fraction, which does not grow with the length of a slow sample.
        entry(One("foreign_cpu_s"), Unit::S, Sum, Neither),
        entry(One(FOREIGN_FRACTION), Unit::Fraction, ByTime, Cause),
        entry(One("suspended_s"), Unit::S, Sum, Cause),
        entry(One("stopped_processes"), Unit::Plain, Sum, Cause),
        entry(One(STOPPED), Unit::S, Sum, Cause),
        entry(One(SERVER_STOPPED), Unit::S, Sum, Cause),
        entry(One("server_swapped_bytes"), Unit::Bytes, Largest, Cause),
        entry(One("server_waited_for_cpu_fraction"), Unit::Fraction, ByTime, Cause),
        entry(One("restarts"), Unit::Plain, Sum, Consequence),
        entry(One("errors"), Unit::Plain, Sum, Consequence),
        INCREMENTS_EXPECTED,
        INCREMENTS_COUNTED,
        entry(One("reconnects"), Unit::Plain, Sum, Consequence),
        // Counts of executed work, by statement or transaction.
        entry(One(CLIENTS_TIMED), Unit::S, Sum, Neither),
        entry(Family("statement_"), Unit::Plain, Sum, Consequence),
        entry(Family("tpcc_"), Unit::Plain, Sum, Consequence),
        // Throughput of each part of a load with a changing rate.
        entry(Family("slice_"), Unit::PerS, ByTime, Consequence),
        entry(One("client_cpu_s"), Unit::S, Sum, Consequence),
        entry(One("client_busy_fraction"), Unit::Fraction, ByTime, Consequence),
        entry(One("client_waited_for_cpu_fraction"), Unit::Fraction, ByTime, Cause),
        entry(One("client_throttled_fraction"), Unit::Fraction, ByTime, Cause),
        entry(One("client_throttled_s"), Unit::S, Sum, Neither),
        entry(One(CLIENT_SPUN), Unit::S, Sum, Consequence),
        entry(One("client_stalled_s"), Unit::S, Sum, Cause),
        entry(One("stalled_s"), Unit::S, Sum, Consequence),
        entry(One("longest_stall_s"), Unit::S, Largest, Consequence),
        entry(One("longest_stall_from_s"), Unit::S, Last, Neither),
        entry(One("slow_seconds"), Unit::Plain, Sum, Consequence),
        entry(One("client_memory_bytes"), Unit::Bytes, Largest, Consequence),
        entry(EachClass("migrations"), Unit::Plain, Sum, Cause),
        entry(EachClass("involuntary_switches"), Unit::Plain, Sum, Cause),
        entry(EachClass("voluntary_switches"), Unit::Plain, Sum, Consequence),
        // From resctrl: L3 occupancy at the end; memory traffic of all nodes and of the threads' own node.
        entry(EachClass("l3_bytes"), Unit::Bytes, Last, Cause),
        entry(EachClass("memory_traffic_bytes"), Unit::Bytes, Sum, Consequence),
        entry(EachClass("own_node_traffic_bytes"), Unit::Bytes, Sum, Consequence),
        entry(Family("layout_"), Unit::Plain, Last, Cause),
        entry(One(Probe::Chain.covariate()), Unit::Ns, ByTime, Cause),
        entry(One(Probe::Spin.covariate()), Unit::Ns, ByTime, Cause),
        entry(One(Probe::Wakeup.covariate()), Unit::Ns, ByTime, Cause),
        // Readings alongside one metric, as the ones above are for the whole sample.
        entry(Family("probe_"), Unit::Ns, Last, Neither),
        // The number of packets is a consequence of the amount of work.
        entry(Family("network_"), Unit::Plain, Sum, Consequence),
        entry(EachNode("server_file_bytes_node"), Unit::Bytes, Last, Cause),
        entry(One(HUGE_TRANSPARENT), Unit::Bytes, Last, Cause),
        entry(One(HUGE_POOL), Unit::Bytes, Last, Cause),
        DATA_BYTES,
        RECORDING,
        SERVER_MEMORY,
        SERVER_POOL,
        NUMA_HIT,
        NUMA_MISS,
        NUMA_OTHER,
        COUNTER_PAGES,
        DATA_PAGES,
    ]
};

impl Covariate {
    /// The entry of a recorded name; none for a name that this program does not know.
    pub fn of(name: &str) -> Option<&'static Self> {
        let name = name.strip_prefix(CLIENT_HOST).unwrap_or(name);
        ALL.iter().find(|known| known.names.hold(name))
    }

    /// The NUMA node (OS number) in a recorded name of this family.
    pub fn node(&self, name: &str) -> Option<u32> {
        match self.names {
            Names::EachNode(prefix) => name.strip_prefix(prefix)?.parse().ok(),
            Names::One(_) | Names::Family(_) | Names::EachClass(_) => None,
        }
    }

    /// The recorded name of this family for a node; the plain name of any other entry.
    pub fn name_at(&self, node: u32) -> String {
        match self.names {
            Names::EachNode(prefix) => format!("{prefix}{node}"),
            Names::One(name) | Names::Family(name) | Names::EachClass(name) => name.to_owned(),
        }
    }
}

/// Whether a recorded covariate may be named as the reason for a difference. Unknown ones may: the program that
/// recorded them had a reason to.
pub fn may_explain(name: &str) -> bool {
    Covariate::of(name).is_none_or(|known| known.standing == Standing::Cause)
}

/// Merges the readings of a later part of one sample into those of the earlier parts, weighted by the parts' own
/// `elapsed_s`. Readings whose names are not in the registry are summed.
pub fn merge(into: &mut BTreeMap<String, f64>, later: BTreeMap<String, f64>) {
    let elapsed = |of: &BTreeMap<String, f64>| of.get("elapsed_s").copied().unwrap_or(0.0);
    let (before_s, later_s) = (elapsed(into), elapsed(&later));
    for (name, value) in later {
        let how = Covariate::of(&name).map_or(Merge::Sum, |known| known.merge);
        into.entry(name).and_modify(|sum| *sum = merged(how, (*sum, before_s), (value, later_s))).or_insert(value);
    }
}

fn merged(how: Merge, (before, before_s): (f64, f64), (later, later_s): (f64, f64)) -> f64 {
    match how {
        Merge::Sum => before + later,
        Merge::Last => later,
        Merge::Largest => before.max(later),
        Merge::ByTime if before_s + later_s > 0.0 => (before * before_s + later * later_s) / (before_s + later_s),
        // Both lengths are 0, so there is no weight.
        Merge::ByTime => f64::midpoint(before, later),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_reading_merges_in_its_own_way() {
        let part = |values: &[(&str, f64)]| values.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
        let mut all: BTreeMap<String, f64> = part(&[
            ("elapsed_s", 1.0),
            ("steal_fraction", 0.3),
            ("context_switches", 10.0),
            ("server_memory_bytes_node0", 500.0),
            ("server_swapped_bytes", 9.0),
            ("layout_heap_page", 7.0),
        ]);
        merge(
            &mut all,
            part(&[
                ("elapsed_s", 3.0),
                ("steal_fraction", 0.1),
                ("context_switches", 5.0),
                ("server_memory_bytes_node0", 400.0),
                ("server_swapped_bytes", 2.0),
                ("layout_heap_page", 7.0),
                ("major_faults", 2.0),
            ]),
        );
        let of = |name: &str| all[name];
        assert!((of("steal_fraction") - 0.15).abs() < 1e-12, "weighted by time, not by parts");
        assert_eq!((of("elapsed_s"), of("context_switches"), of("major_faults")), (4.0, 15.0, 2.0));
        assert_eq!(
            (of("server_memory_bytes_node0"), of("server_swapped_bytes"), of("layout_heap_page")),
            (400.0, 9.0, 7.0)
        );
    }

    #[test]
    fn covariates_that_follow_from_speed_never_explain_it() {
        for name in ["elapsed_s", "busy_fraction", "server_voluntary_switches", "restarts", "numa_hit_pages_node3"] {
            assert!(!may_explain(name), "{name}");
        }
        for name in
            ["server_involuntary_switches", "client_migrations", "layout_mmap_page", "psi_io_some_fraction", "x"]
        {
            assert!(may_explain(name), "{name}");
        }
    }

    #[test]
    fn a_slow_machine_may_be_a_reason_and_is_counted_once() {
        for probe in Probe::ALL {
            assert!(may_explain(probe.covariate()));
            assert!(!may_explain(&probe.covariate_of("query_s_q12")));
            assert_eq!(Covariate::of(probe.covariate()).map(|known| known.unit), Some(Unit::Ns));
        }
    }

    #[test]
    fn a_node_is_read_from_a_name_of_its_family_alone() {
        assert_eq!(SERVER_MEMORY.node("server_memory_bytes_node12"), Some(12));
        assert_eq!(SERVER_MEMORY.node("numa_hit_pages_node12"), None);
        assert_eq!(SERVER_MEMORY.node("server_memory_bytes_nodes"), None);
        assert_eq!(NUMA_MISS.name_at(2), "numa_miss_pages_node2");
        assert_eq!(Covariate::of("numa_miss_pages_node2"), Some(&NUMA_MISS));
        assert_eq!(Covariate::of("numa_miss_pages").map(|known| known.unit), Some(Unit::Pages));
    }
}
