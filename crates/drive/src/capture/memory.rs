//! Memory during a measurement: the server's by node, the allocation counters of the nodes, and L3 cache occupancy and
//! memory bandwidth of server and clients (resctrl monitoring groups).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;
use tare_cpuset::{NodeSet, ThreadRef};
use tare_noise::{CacheMonitor, CacheUse, System};
use tare_results::covariate::{HUGE_POOL, HUGE_TRANSPARENT};
use tare_topology::observe::{HugeMemory, NodePages, NodeStat};
use tare_topology::{MemoryPolicy, Nodes, observe};

const NODES: &str = "/sys/devices/system/node";

/// Allocation counters of all nodes at the start of a measurement.
pub(crate) struct MemoryWatch {
    before: BTreeMap<u32, NodeStat>,
}

impl MemoryWatch {
    /// Starts watching; reads one small file per node.
    pub(crate) fn start() -> Self {
        Self { before: observe::numastat(Path::new(NODES)) }
    }

    /// Pages of the whole machine by node; none on a single node, where no allocation can miss its node.
    pub(crate) fn finish(self) -> Vec<(String, f64)> {
        let after = observe::numastat(Path::new(NODES));
        if after.len() > 1 { allocated(&self.before, &after) } else { Vec::new() }
    }
}

fn allocated(before: &BTreeMap<u32, NodeStat>, after: &BTreeMap<u32, NodeStat>) -> Vec<(String, f64)> {
    let of_node = |(node, stat): (&u32, &NodeStat)| {
        let during = stat.since(before.get(node).unwrap_or(&NodeStat::default()));
        [("hit", during.hit), ("miss", during.miss), ("other", during.other)]
            .map(|(name, pages)| (format!("numa_{name}_pages_node{node}"), pages as f64))
    };
    after.iter().flat_map(of_node).collect()
}

/// Share of its memory that a server may have outside the nodes that it is bound to or interleaved over: memory that
/// the kernel itself placed for it.
const STRAY: f64 = 0.01;

/// The server's own allocations, and the pages of its mapped files, by OS node number.
pub(crate) fn covariates(pages: &BTreeMap<u32, NodePages>) -> impl Iterator<Item = (String, f64)> {
    pages.iter().flat_map(|(node, pages)| {
        [
            (format!("server_memory_bytes_node{node}"), pages.own_bytes() as f64),
            (format!("server_file_bytes_node{node}"), pages.file_bytes as f64),
        ]
    })
}

pub(crate) fn pool_covariates(pages: &BTreeMap<u32, NodePages>) -> impl Iterator<Item = (String, f64)> {
    pages.iter().map(|(node, pages)| (format!("server_pool_bytes_node{node}"), pages.bytes as f64))
}

pub(crate) fn huge_covariates(huge: HugeMemory) -> [(String, f64); 2] {
    [(HUGE_TRANSPARENT.to_owned(), huge.transparent_bytes as f64), (HUGE_POOL.to_owned(), huge.pool_bytes as f64)]
}

/// The nodes of a policy that binds to or interleaves over named nodes; [`misplaced`] looks for memory elsewhere.
pub(crate) fn named(policy: &MemoryPolicy) -> Option<&NodeSet> {
    match policy {
        MemoryPolicy::Bind(Nodes::These(requested))
        | MemoryPolicy::Interleave(Nodes::These(requested))
        | MemoryPolicy::WeightedInterleave(Nodes::These(requested)) => Some(requested),
        _ => None,
    }
}

/// Number of nodes of this machine, counted once; 0 on kernels without NUMA.
pub(crate) fn nodes() -> usize {
    static COUNTED: OnceLock<usize> = OnceLock::new();
    *COUNTED.get_or_init(|| observe::numastat(Path::new(NODES)).len())
}

/// The message when more than a hundredth of the memory `what` lies outside the nodes of a policy that binds to or
/// interleaves over named nodes: the kernel silently falls back to other nodes when one is full.
pub(crate) fn misplaced(what: &str, policy: &MemoryPolicy, pages: &BTreeMap<u32, NodePages>) -> Option<String> {
    let requested = named(policy)?;
    let bytes = |inside: bool| -> u64 {
        pages.iter().filter(|(node, _)| requested.contains(**node) == inside).map(|(_, pages)| pages.own_bytes()).sum()
    };
    let (inside, outside) = (bytes(true), bytes(false));
    let share = outside as f64 / (inside + outside).max(1) as f64;
    (share > STRAY)
        .then(|| format!("{what} should be {policy}, but {:.1}% of it ({outside} bytes) is elsewhere", 100.0 * share))
}

/// One monitoring group per side, kept for as long as the system under test is watched.
pub(crate) struct CacheWatch {
    server: Side,
    client: Side,
}

struct Side {
    class: &'static str,
    monitor: CacheMonitor,
    known: BTreeSet<ThreadRef>,
    before: CacheUse,
}

impl CacheWatch {
    /// `server` is the server's process if it runs on this machine. Returns None where the machine has no monitoring
    /// groups, or this user may not create them.
    pub(crate) fn begin(server: Option<i32>) -> Option<Self> {
        Self::begin_on(&System::of_environment(), server)
    }

    fn begin_on(system: &System, server: Option<i32>) -> Option<Self> {
        if !CacheMonitor::is_offered(system) {
            return None;
        }
        let side = |class, pid| {
            let monitor = CacheMonitor::make(system, class, pid).ok()?;
            Some(Side { class, monitor, known: BTreeSet::new(), before: CacheUse::default() })
        };
        Some(Self { server: side("server", server)?, client: side("client", None)? })
    }

    /// Starts a measurement of these threads and of the threads that they start.
    pub(crate) fn start(&mut self, server: Vec<ThreadRef>, clients: impl Iterator<Item = ThreadRef>) {
        self.server.start(server.into_iter());
        self.client.start(clients);
    }

    pub(crate) fn finish(&self) -> Vec<(String, f64)> {
        [&self.server, &self.client].into_iter().flat_map(Side::finish).collect()
    }
}

impl Side {
    fn start(&mut self, threads: impl Iterator<Item = ThreadRef>) {
        for thread in threads {
            if self.known.insert(thread) {
                // A thread that has ended needs no counting; a thread in another program's group stays there.
                let _ = self.monitor.add(thread.tid);
            }
        }
        self.before = self.monitor.read();
    }

    /// Returns nothing for a side without threads: it is on another host, or does not exist.
    fn finish(&self) -> Vec<(String, f64)> {
        if self.known.is_empty() {
            return Vec::new();
        }
        let now = self.monitor.read();
        let since = |now: Option<u64>, before: Option<u64>| now?.checked_sub(before?);
        let all = [
            ("l3_bytes", now.l3_bytes),
            ("memory_traffic_bytes", since(now.memory_bytes, self.before.memory_bytes)),
            ("own_node_traffic_bytes", since(now.own_node_bytes, self.before.own_node_bytes)),
        ];
        let named = |(name, value): (&str, Option<u64>)| Some((format!("{}_{name}", self.class), value? as f64));
        all.into_iter().filter_map(named).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tare_results::covariate::Covariate;

    #[test]
    fn page_counts_are_differences_by_node() {
        let stat = |hit, miss| NodeStat { hit, miss, ..NodeStat::default() };
        let (before, after) = ([(0, stat(5, 1)), (1, stat(7, 0))].into(), [(0, stat(9, 1)), (1, stat(7, 3))].into());
        let found: BTreeMap<String, f64> = allocated(&before, &after).into_iter().collect();
        let of = |name: &str| found[name];
        assert_eq!((of("numa_hit_pages_node0"), of("numa_miss_pages_node0")), (4.0, 0.0));
        assert_eq!((of("numa_hit_pages_node1"), of("numa_miss_pages_node1")), (0.0, 3.0));
        assert_eq!(found.len(), 6);
    }

    #[test]
    fn this_process_has_memory_on_some_node() {
        let own = observe::pages_by_node(std::process::id().cast_signed()).unwrap();
        let found = |(name, bytes): (String, f64)| name.starts_with("server_memory_bytes_node") && bytes > 1e5;
        assert!(covariates(&own).any(found));
    }

    fn pages(bytes: &[(u32, u64, u64)]) -> BTreeMap<u32, NodePages> {
        let one = |(node, bytes, file_bytes): &(u32, u64, u64)| {
            (*node, NodePages { pages: bytes / 4096, bytes: *bytes, file_bytes: *file_bytes })
        };
        bytes.iter().map(one).collect()
    }

    #[test]
    fn memory_outside_the_policy_is_reported_and_file_pages_are_not_counted() {
        let on_two = pages(&[(0, 1000, 0), (1, 1000, 0)]);
        for policy in ["bind:0", "interleave:1", "weighted-interleave:0"] {
            let text = misplaced("the data", &policy.parse().unwrap(), &on_two).unwrap();
            assert!(text.contains(policy) && text.contains("50.0%"), "{text}");
        }
        for policy in ["default", "local", "preferred:0", "bind:0-1", "interleave:0-2"] {
            assert_eq!(misplaced("the data", &policy.parse().unwrap(), &on_two), None, "{policy}");
        }
        let bound = "bind:0".parse().unwrap();
        assert_eq!(misplaced("the data", &bound, &pages(&[(0, 1000, 0), (1, 1005, 1000)])), None);
        assert_eq!(misplaced("the data", &bound, &BTreeMap::new()), None);
    }

    #[test]
    fn cache_use_and_traffic_are_recorded_by_side_for_the_sample_alone() {
        let root = tempfile::tempdir().unwrap();
        let system = System::at(root.path());
        assert!(CacheWatch::begin_on(&system, None).is_none());
        let groups = root.path().join("sys/fs/resctrl/mon_groups");
        fs::create_dir_all(&groups).unwrap();
        let mut watch = CacheWatch::begin_on(&system, None).unwrap();
        let of = |class: &str| {
            let names = fs::read_dir(&groups).unwrap().map(|entry| entry.unwrap().path());
            names.into_iter().find(|path| path.to_string_lossy().ends_with(class)).unwrap()
        };
        let put = |group: &Path, values: [u64; 3]| {
            for (event, value) in ["llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"].into_iter().zip(values) {
                fs::write(group.join("mon_data/mon_L3_00").join(event), format!("{value}\n")).unwrap();
            }
        };
        put(&of("server"), [10, 1_000, 500]);
        let thread = |tid| ThreadRef { pid: 7, tid };
        watch.start([7, 8].map(thread).to_vec(), std::iter::empty());
        watch.start([7, 9].map(thread).to_vec(), std::iter::empty());
        assert_eq!(fs::read_to_string(of("server").join("tasks")).unwrap(), "7\n8\n9\n");
        put(&of("server"), [30, 5_000, 1_500]);
        put(&of("client"), [99, 99, 99]);
        let expected = [("l3_bytes", 30.0), ("memory_traffic_bytes", 4_000.0), ("own_node_traffic_bytes", 1_000.0)];
        assert_eq!(watch.finish(), expected.map(|(name, value)| (format!("server_{name}"), value)));
        assert!(watch.finish().iter().all(|(name, _)| Covariate::of(name).is_some()), "not in the registry");
        // Nothing is reported for counters that were reset.
        put(&of("server"), [30, 10, 2_000]);
        assert_eq!(watch.finish().len(), 2);
        drop(watch);
        assert_eq!(fs::read_dir(&groups).unwrap().count(), 0);
    }
}
