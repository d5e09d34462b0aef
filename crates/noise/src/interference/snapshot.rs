//! A reading of all counters of the machine, and the difference of two.

use super::counters::{CpuTimes, parse_pairs, parse_pressure, parse_stat};
use crate::system::System;
use std::collections::BTreeMap;
use std::time::Instant;
use tare_cpuset::CpuSet;

/// A reading of the machine's counters since boot. Taking one reads a few small files (well under a millisecond on a
/// small machine) and never fails: counters that this kernel does not have are left out of the differences.
#[derive(Debug, Clone)]
pub struct Snapshot {
    taken: Instant,
    cpus: BTreeMap<u32, CpuTimes>,
    /// Counters of /proc/stat.
    stat: BTreeMap<String, u64>,
    vmstat: BTreeMap<String, u64>,
    /// Sums over the nodes of numastat.
    numa: BTreeMap<String, u64>,
    /// By (resource, kind), microseconds.
    pressure: BTreeMap<(&'static str, String), u64>,
    throttle_events: Option<u64>,
}

impl Snapshot {
    /// Reads this machine now.
    pub fn take() -> Self {
        Self::take_from(&System::real())
    }

    /// Reads the counters of `system` as they are now.
    pub(crate) fn take_from(system: &System) -> Self {
        let text = |path: &str| system.read_optional(path).unwrap_or_default();
        let (cpus, stat) = parse_stat(&text("/proc/stat"));
        let mut pressure = BTreeMap::new();
        for resource in ["cpu", "io", "memory"] {
            for (kind, us) in parse_pressure(&text(&format!("/proc/pressure/{resource}"))) {
                pressure.insert((resource, kind), us);
            }
        }
        Self {
            taken: Instant::now(),
            cpus,
            stat,
            vmstat: parse_pairs(&text("/proc/vmstat")),
            numa: numa_counters(system),
            pressure,
            throttle_events: throttle_events(system),
        }
    }

    /// CPU time by OS CPU number, in clock ticks.
    pub fn cpus(&self) -> &BTreeMap<u32, CpuTimes> {
        &self.cpus
    }

    /// What happened on the whole machine since `earlier`. Names end with their unit and can be stored with a sample as
    /// they are. Counters that this kernel does not have are not in the map.
    ///
    /// | name | meaning |
    /// | --- | --- |
    /// | `elapsed_s` | time between the two readings |
    /// | `busy_fraction`, `steal_fraction`, `iowait_fraction`, `irq_fraction` | of all CPUs' time; irq with softirq |
    /// | `psi_{cpu,io,memory}_{some,full}_fraction` | fraction of the time in which some or all tasks stalled |
    /// | `swap_pages`, `major_faults`, `numa_hint_faults`, `numa_migrated_pages` | from /proc/vmstat |
    /// | `numa_promoted_pages`, `numa_demoted_pages` | moved to a faster or a slower node (tiering) |
    /// | `numa_miss_pages`, `numa_foreign_pages` | allocated on another node than intended (numastat) |
    /// | `throttle_events` | thermal throttling of cores and packages |
    /// | `context_switches`, `forks` | of the whole machine |
    pub fn since(&self, earlier: &Self) -> BTreeMap<String, f64> {
        let elapsed_s = self.taken.saturating_duration_since(earlier.taken).as_secs_f64();
        let mut out = BTreeMap::from([("elapsed_s".to_owned(), elapsed_s)]);
        self.cpu_fractions(earlier, &self.cpus.keys().copied().collect(), "", &mut out);
        for (key, us) in &self.pressure {
            if let Some(before) = earlier.pressure.get(key).filter(|_| elapsed_s > 0.0) {
                // The kernel updates PSI totals periodically, so over a short time the difference may exceed the time.
                let fraction = (us.saturating_sub(*before) as f64 / 1e6 / elapsed_s).min(1.0);
                out.insert(format!("psi_{}_{}_fraction", key.0, key.1), fraction);
            }
        }
        let mut count = |name: &str, now: Option<u64>, before: Option<u64>| {
            if let (Some(now), Some(before)) = (now, before) {
                out.insert(name.to_owned(), now.saturating_sub(before) as f64);
            }
        };
        let swap = |s: &Self| Some(s.vmstat.get("pswpin")? + s.vmstat.get("pswpout")?);
        count("swap_pages", swap(self), swap(earlier));
        count("throttle_events", self.throttle_events, earlier.throttle_events);
        // Demotions to a slower memory tier, summed over the parts of the kernel that demote pages.
        let demoted = |s: &Self| {
            let by = ["pgdemote_kswapd", "pgdemote_direct", "pgdemote_khugepaged", "pgdemote_proactive"];
            by.iter().filter_map(|key| s.vmstat.get(*key).copied()).reduce(|sum, more| sum + more)
        };
        count("numa_demoted_pages", demoted(self), demoted(earlier));
        let (vmstat, numa, stat) =
            ((&self.vmstat, &earlier.vmstat), (&self.numa, &earlier.numa), (&self.stat, &earlier.stat));
        for (name, (now, before), key) in [
            ("major_faults", vmstat, "pgmajfault"),
            ("numa_hint_faults", vmstat, "numa_hint_faults"),
            ("numa_migrated_pages", vmstat, "numa_pages_migrated"),
            ("numa_promoted_pages", vmstat, "pgpromote_success"),
            ("numa_miss_pages", numa, "numa_miss"),
            ("numa_foreign_pages", numa, "numa_foreign"),
            ("context_switches", stat, "ctxt"),
            ("forks", stat, "processes"),
        ] {
            count(name, now.get(key).copied(), before.get(key).copied());
        }
        out
    }

    /// As [`Self::since`], only for the CPUs of a benchmark: `bound_busy_fraction`, `bound_steal_fraction`,
    /// `bound_iowait_fraction`, `bound_irq_fraction`, and `bound_busy_s`. Subtract the benchmark's own CPU time from
    /// `bound_busy_s` to get that of other programs.
    pub fn since_on(&self, earlier: &Self, cpus: &CpuSet) -> BTreeMap<String, f64> {
        let mut out = BTreeMap::new();
        let times = self.cpu_fractions(earlier, cpus, "bound_", &mut out);
        let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
        out.insert("bound_busy_s".to_owned(), times.busy() as f64 / ticks_per_s);
        out
    }

    /// Most time that the hypervisor took from one CPU since `earlier`, in seconds.
    pub fn most_stolen_s(&self, earlier: &Self) -> f64 {
        let of_each = self.cpus.iter().filter_map(|(cpu, now)| Some(now.since(earlier.cpus.get(cpu)?).steal));
        of_each.max().unwrap_or(0) as f64 / rustix::param::clock_ticks_per_second() as f64
    }

    fn cpu_fractions(&self, earlier: &Self, cpus: &CpuSet, prefix: &str, out: &mut BTreeMap<String, f64>) -> CpuTimes {
        let times = cpus
            .iter()
            // A CPU that went online or offline meanwhile has no difference.
            .filter_map(|cpu| Some(self.cpus.get(&cpu)?.since(earlier.cpus.get(&cpu)?)))
            .fold(CpuTimes::default(), |sum, t| sum.plus(&t));
        if times.total() > 0 {
            for (name, ticks) in [
                ("busy", times.busy()),
                ("steal", times.steal),
                ("iowait", times.iowait),
                ("irq", times.irq + times.softirq),
            ] {
                out.insert(format!("{prefix}{name}_fraction"), ticks as f64 / times.total() as f64);
            }
        }
        times
    }
}

fn numa_counters(system: &System) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    let nodes = "/sys/devices/system/node";
    for name in system.names(nodes).iter().filter(|n| n.starts_with("node")) {
        for (key, n) in parse_pairs(&system.read_optional(&format!("{nodes}/{name}/numastat")).unwrap_or_default()) {
            *sums.entry(key).or_default() += n;
        }
    }
    sums
}

/// Sum of all cores' and packages' counts. CPUs that share a core or a package show the same count, so one event may be
/// counted several times. What matters is whether the sum is 0.
fn throttle_events(system: &System) -> Option<u64> {
    let cpus = "/sys/devices/system/cpu";
    let mut sum = None;
    for cpu in system.names(cpus).iter().filter(|n| n.starts_with("cpu")) {
        for file in ["core_throttle_count", "package_throttle_count"] {
            let text = system.read_optional(&format!("{cpus}/{cpu}/thermal_throttle/{file}"));
            if let Some(n) = text.and_then(|t| t.trim().parse::<u64>().ok()) {
                *sum.get_or_insert(0) += n;
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn put(root: &Path, path: &str, text: &str) {
        crate::fake::put(root, path, text).unwrap();
    }

    #[test]
    fn differences_of_a_fake_machine() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        put(root, "proc/stat", "cpu 0\ncpu0 100 0 100 100 0 0 0 0\ncpu1 0 0 0 100 0 0 0 0\nctxt 10\nprocesses 3\n");
        put(
            root,
            "proc/vmstat",
            "pswpin 5\npswpout 6\nnuma_hint_faults 1\npgpromote_success 10\npgdemote_kswapd 1\npgdemote_direct 2\n",
        );
        put(root, "proc/pressure/io", "some avg10=0 avg60=0 avg300=0 total=1000\n");
        put(root, "sys/devices/system/node/node0/numastat", "numa_miss 1\n");
        put(root, "sys/devices/system/node/node1/numastat", "numa_miss 2\n");
        put(root, "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "4\n");
        let system = System::at(root);
        let before = Snapshot::take_from(&system);
        put(root, "proc/stat", "cpu 0\ncpu0 130 0 110 140 0 5 5 10\ncpu1 0 0 0 200 0 0 0 0\nctxt 15\nprocesses 4\n");
        put(
            root,
            "proc/vmstat",
            "pswpin 7\npswpout 9\nnuma_hint_faults 1\npgpromote_success 14\npgdemote_kswapd 3\npgdemote_direct 5\n",
        );
        put(root, "sys/devices/system/node/node1/numastat", "numa_miss 9\n");
        put(root, "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "6\n");
        let after = Snapshot::take_from(&system);

        let all = after.since(&before);
        assert_eq!((all["steal_fraction"], all["busy_fraction"], all["irq_fraction"]), (0.05, 0.25, 0.05));
        assert_eq!((all["swap_pages"], all["numa_miss_pages"], all["throttle_events"]), (5.0, 7.0, 2.0));
        assert_eq!((all["context_switches"], all["forks"], all["numa_hint_faults"]), (5.0, 1.0, 0.0));
        assert_eq!((all["numa_promoted_pages"], all["numa_demoted_pages"]), (4.0, 5.0));
        assert_eq!(all["psi_io_some_fraction"], 0.0);
        assert!(!all.contains_key("psi_cpu_some_fraction"), "a missing source is not reported as zero");
        assert!(!all.contains_key("major_faults"));

        assert_eq!(after.most_stolen_s(&before), 10.0 / rustix::param::clock_ticks_per_second() as f64);

        let bound = after.since_on(&before, &[0].into_iter().collect());
        assert_eq!((bound["bound_steal_fraction"], bound["bound_busy_fraction"]), (0.1, 0.5));
        assert_eq!(bound["bound_busy_s"], 50.0 / rustix::param::clock_ticks_per_second() as f64);
    }

    #[test]
    fn pressure_is_a_fraction_of_the_time_between() {
        let dir = tempfile::tempdir().unwrap();
        let system = System::at(dir.path());
        let path = "proc/pressure/cpu";
        put(dir.path(), path, "some avg10=0 avg60=0 avg300=0 total=1000\n");
        let before = Snapshot::take_from(&system);
        std::thread::sleep(std::time::Duration::from_millis(5));
        put(dir.path(), path, "some avg10=0 avg60=0 avg300=0 total=2000\n");
        let seen = Snapshot::take_from(&system).since(&before);
        assert!((seen["psi_cpu_some_fraction"] * seen["elapsed_s"] - 1e-3).abs() < 1e-12, "1000 us: {seen:?}");
        put(dir.path(), path, "some avg10=0 avg60=0 avg300=0 total=99000000\n");
        assert_eq!(Snapshot::take_from(&system).since(&before)["psi_cpu_some_fraction"], 1.0);
    }

    #[test]
    fn this_machine_has_the_essential_sources() {
        let before = Snapshot::take();
        let all = Snapshot::take().since(&before);
        assert!(all["elapsed_s"] >= 0.0);
        for name in ["context_switches", "forks", "major_faults", "swap_pages"] {
            assert!(all.contains_key(name), "{name} in {all:?}");
        }
        assert!(before.cpus().len() >= std::thread::available_parallelism().unwrap().get());
        assert!(all.values().all(|v| v.is_finite() && *v >= 0.0), "{all:?}");
    }

    #[test]
    fn an_empty_machine_yields_nothing_but_time() {
        let dir = tempfile::tempdir().unwrap();
        let system = System::at(dir.path());
        let (a, b) = (Snapshot::take_from(&system), Snapshot::take_from(&system));
        assert_eq!(b.since(&a).keys().collect::<Vec<_>>(), ["elapsed_s"]);
    }
}
