//! L3 cache occupancy and memory bandwidth of server and clients during a measurement (resctrl monitoring groups).

use std::collections::BTreeSet;
use tare_cpuset::ThreadRef;
use tare_noise::{CacheMonitor, CacheUse, System};

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
    use std::path::Path;
    use tare_results::covariate::Covariate;

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
