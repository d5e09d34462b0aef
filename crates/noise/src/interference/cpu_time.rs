//! CPU time that a measurement did not get: what other programs used on given CPUs, and throttling of this process and
//! its children by the CPU quota of a control group, from `cpu.stat` of its group and of those above it.

use super::counters::{self, CpuTimes, ProcessStat, parse_stat};
use crate::setting::CGROUP;
use crate::system::System;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use tare_cpuset::CpuSet;

/// CPU time of all processes and all CPUs at one moment. Taking it reads one small file per process.
#[derive(Debug, Clone)]
pub struct CpuUse {
    taken: Instant,
    cpus: BTreeMap<u32, CpuTimes>,
    /// Each with the time when it was read, because reading all of them takes long on busy CPUs.
    processes: BTreeMap<u32, (Instant, ProcessStat)>,
}

/// CPU time of other programs on given CPUs between two moments.
#[derive(Debug, Clone, PartialEq)]
pub struct Foreign {
    /// CPU time of other user processes, seconds. Over short times it may be one or two ticks below 0, because CPUs and
    /// processes are accounted by different clocks. Keep negative values in sums over many short times.
    pub cpu_s: f64,
    /// `cpu_s` divided by the total time of these CPUs.
    pub fraction: f64,
    /// The processes that used most CPU time, on any CPU: name, process id, CPU time divided by wall-clock time. At
    /// most three, with at least 1% each. Processes that began and ended meanwhile only count in `cpu_s`.
    pub users: Vec<(String, u32, f64)>,
}

/// Another run of this program must not be taken for the one that measures.
fn foreign_name(name: &str) -> String {
    if name == "tare" { "another tare".to_owned() } else { name.to_owned() }
}

impl CpuUse {
    /// Reads this machine now.
    pub fn take() -> Self {
        Self::take_from(&System::real())
    }

    /// Reads the counters of `system` as they are now.
    fn take_from(system: &System) -> Self {
        let taken = Instant::now();
        let (cpus, _) = parse_stat(&system.read_optional("/proc/stat").unwrap_or_default());
        let process = |name: String| {
            let pid: u32 = name.parse().ok()?;
            let stat = counters::parse_process_stat(&system.read_optional(&format!("/proc/{pid}/stat"))?)?;
            Some((pid, (Instant::now(), stat)))
        };
        let processes = system.names("/proc").into_iter().filter_map(process).collect();
        Self { taken, cpus, processes }
    }

    /// CPU time of other programs on `cpus` since `earlier`. The processes `own` and their descendants do not count.
    ///
    /// It is the user and system time of these CPUs minus that of own processes and kernel threads. Kernel threads and
    /// interrupts are not counted, because they also work for the benchmark (network, writeback) and their time cannot
    /// be attributed. The time of own processes and kernel threads on other CPUs is subtracted too: the result tends to
    /// be too small.
    pub fn since(&self, earlier: &Self, cpus: &CpuSet, own: &[u32]) -> Foreign {
        let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
        let (mut worked, mut all) = (0, 0);
        for cpu in cpus.iter() {
            if let (Some(now), Some(before)) = (self.cpus.get(&cpu), earlier.cpus.get(&cpu)) {
                let times = now.since(before);
                worked += times.user + times.nice + times.system;
                all += times.total();
            }
        }
        let tree = self.descendants(earlier, own);
        let known: u64 =
            self.used_since(earlier).filter(|(pid, p, _)| p.kernel_thread || tree.contains(pid)).map(|u| u.2).sum();
        let foreign = worked as f64 - known as f64;
        let mut users: Vec<(String, u32, f64)> = self
            .used_since(earlier)
            .filter(|(pid, p, _)| !p.kernel_thread && !tree.contains(pid))
            .map(|(pid, p, ticks)| {
                let ticks_it_had = self.time_of(earlier, pid).as_secs_f64() * ticks_per_s;
                (foreign_name(&p.name), pid, ticks as f64 / ticks_it_had.max(1.0))
            })
            .filter(|user| user.2 >= 0.01)
            .collect();
        users.sort_by(|a, b| b.2.total_cmp(&a.2));
        users.truncate(3);
        Foreign { cpu_s: foreign / ticks_per_s, fraction: if all > 0 { foreign / all as f64 } else { 0.0 }, users }
    }

    /// Ticks that each process used since `earlier`; for a process that began since then, all of its ticks.
    fn used_since<'a>(&'a self, earlier: &'a Self) -> impl Iterator<Item = (u32, &'a ProcessStat, u64)> {
        self.processes.iter().map(|(pid, (_, process))| {
            let before = earlier.processes.get(pid).map_or(0, |(_, p)| p.ticks);
            (*pid, process, process.ticks.saturating_sub(before))
        })
    }

    /// The time between the two readings of a process; for a process that began in between, the time since the start of
    /// `earlier`.
    fn time_of(&self, earlier: &Self, pid: u32) -> Duration {
        let now = self.processes.get(&pid).map_or(self.taken, |(read, _)| *read);
        now.saturating_duration_since(earlier.processes.get(&pid).map_or(earlier.taken, |(read, _)| *read))
    }

    /// `own` and their descendants at either moment.
    fn descendants(&self, earlier: &Self, own: &[u32]) -> BTreeSet<u32> {
        let mut tree: BTreeSet<u32> = own.iter().copied().collect();
        loop {
            let all = self.processes.iter().chain(&earlier.processes);
            let born: Vec<u32> = all
                .filter(|(pid, (_, process))| tree.contains(&process.parent) && !tree.contains(pid))
                .map(|(pid, _)| *pid)
                .collect();
            if born.is_empty() {
                return tree;
            }
            tree.extend(born);
        }
    }
}

/// A reading of all control groups that this process is in. The kernel describes the figures in
/// Documentation/admin-guide/cgroup-v2.rst, those of cgroup v1 in Documentation/scheduler/sched-bwc.rst.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Throttling(Vec<Group>);

#[derive(Debug, Clone, PartialEq)]
struct Group {
    folder: String,
    periods: u64,
    throttled: u64,
    throttled_s: f64,
}

/// Throttling by a quota between two readings.
#[derive(Debug, Clone, PartialEq)]
pub struct Throttled {
    /// Folder of the group that was throttled most often.
    pub group: String,
    /// Fraction of the quota's periods in which it was used up.
    pub periods_fraction: f64,
    /// Time in which threads were stopped, seconds, summed over CPUs.
    pub stopped_s: f64,
}

impl Throttling {
    /// Reads the counters of this process's groups on this machine.
    pub fn take() -> Self {
        Self::of(&System::real())
    }

    fn of(system: &System) -> Self {
        Self(quota_folders(system).into_iter().filter_map(|folder| group(system, folder)).collect())
    }

    /// Throttling since an earlier reading; `None` if no group with a quota counted a period meanwhile.
    pub fn since(&self, before: &Self) -> Option<Throttled> {
        let differences = self.0.iter().filter_map(|now| {
            let before = before.0.iter().find(|group| group.folder == now.folder)?;
            let periods = now.periods.checked_sub(before.periods).filter(|periods| *periods > 0)?;
            Some(Throttled {
                group: now.folder.clone(),
                periods_fraction: now.throttled.saturating_sub(before.throttled) as f64 / periods as f64,
                stopped_s: (now.throttled_s - before.throttled_s).max(0.0),
            })
        });
        differences.max_by(|a, b| a.periods_fraction.total_cmp(&b.periods_fraction))
    }
}

/// The folders of this process's groups that may have a CPU quota, and of all groups above them, outer ones first.
pub(crate) fn quota_folders(system: &System) -> Vec<String> {
    let own = system.read_optional("/proc/self/cgroup").unwrap_or_default();
    own.lines().flat_map(|line| folders(line).unwrap_or_default()).collect()
}

/// The folders of the group in a line of `/proc/self/cgroup` and of all groups above it: "0::/a/b" in version 2,
/// "2:cpu,cpuacct:/a/b" in version 1.
fn folders(line: &str) -> Option<Vec<String>> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    let root = match controllers {
        "" => CGROUP.to_owned(),
        some if some.split(',').any(|controller| controller == "cpu") => format!("{CGROUP}/{some}"),
        _ => return None,
    };
    let path = path.trim_end_matches('/');
    let above = path.match_indices('/').map(|(at, _)| format!("{root}{}", &path[..at]));
    Some(above.chain([format!("{root}{path}")]).collect())
}

fn group(system: &System, folder: String) -> Option<Group> {
    let text = system.read_optional(&format!("{folder}/cpu.stat"))?;
    let of = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        value.trim().parse::<u64>().ok()
    };
    // Microseconds in version 2, nanoseconds in version 1.
    let throttled_s = of("throttled_usec").map(|us| us as f64 / 1e6);
    let throttled_s = throttled_s.or_else(|| of("throttled_time").map(|ns| ns as f64 / 1e9))?;
    Some(Group { periods: of("nr_periods")?, throttled: of("nr_throttled")?, throttled_s, folder })
}

#[cfg(test)]
mod tests {
    use super::super::counters::KERNEL_THREAD;
    use super::*;
    use std::fs;

    /// A machine with two CPUs and these processes: (pid, parent, flags, ticks).
    fn machine(cpu0: u64, cpu1: u64, processes: &[(u32, u32, u64, u64)]) -> CpuUse {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("proc")).unwrap();
        let stat = format!("cpu 0\ncpu0 {cpu0} 0 0 {} 0 7 0 0\ncpu1 {cpu1} 0 0 {} 0 0 0 0\n", 1000 - cpu0, 1000 - cpu1);
        fs::write(dir.path().join("proc/stat"), stat).unwrap();
        for (pid, parent, flags, ticks) in processes {
            fs::create_dir(dir.path().join(format!("proc/{pid}"))).unwrap();
            let text = format!("{pid} (p) {pid}) R {parent} 1 1 0 -1 {flags} 0 0 0 0 {ticks} 0 0 0 20 0 1 0 5 0 0\n");
            fs::write(dir.path().join(format!("proc/{pid}/stat")), text).unwrap();
        }
        CpuUse::take_from(&System::at(dir.path()))
    }

    #[test]
    fn processes_outside_the_own_tree_and_the_kernel_are_foreign() {
        let zero = machine(0, 0, &[(10, 1, 0, 0), (11, 10, 0, 0), (2, 0, KERNEL_THREAD, 0), (99, 1, 0, 40)]);
        // 300 ticks on CPU 0: own 100 + 50 (a child that began since), kernel 30, other programs the rest.
        let processes = [(10, 1, 0, 100), (11, 10, 0, 0), (12, 11, 0, 50), (2, 0, KERNEL_THREAD, 30), (99, 1, 0, 160)];
        let after = machine(300, 0, &processes);
        let found = after.since(&zero, &[0].into_iter().collect(), &[10]);
        let hz = rustix::param::clock_ticks_per_second() as f64;
        assert_eq!(found.cpu_s, 120.0 / hz);
        assert_eq!(found.users.len(), 1);
        assert_eq!((found.users[0].0.as_str(), found.users[0].1), ("p) 99", 99));
        // On an idle CPU there is no time of other programs; own time on other CPUs makes the result negative.
        assert!(after.since(&zero, &[1].into_iter().collect(), &[10]).cpu_s <= 0.0);
    }

    #[test]
    fn a_share_is_of_the_time_between_the_two_readings_of_that_process() {
        let hz = rustix::param::clock_ticks_per_second();
        let mut zero = machine(0, 0, &[(99, 1, 0, 0)]);
        let mut after = machine(0, 0, &[(99, 1, 0, 4 * hz), (100, 1, 0, hz)]);
        // Both readings began within a second, but process 99 was read late in the second one.
        let moment = zero.taken;
        let at = |s: u64| moment + Duration::from_secs(s);
        zero.processes.get_mut(&99).unwrap().0 = at(0);
        after.taken = at(1);
        after.processes.get_mut(&99).unwrap().0 = at(4);
        after.processes.get_mut(&100).unwrap().0 = at(4);
        let mut other = machine(0, 0, &[(7, 1, 0, hz)]);
        other.taken = at(1);
        let (moment, stat) = other.processes.get_mut(&7).unwrap();
        (*moment, stat.name) = (at(1), "tare".to_owned());
        assert_eq!(other.since(&zero, &[0].into_iter().collect(), &[]).users[0].0, "another tare");
        let shares = |found: Foreign| found.users.iter().map(|user| (user.1, user.2)).collect::<Vec<_>>();
        assert_eq!(shares(after.since(&zero, &[0].into_iter().collect(), &[])), [(99, 1.0), (100, 0.25)]);
    }

    #[test]
    fn this_machine_counts_its_own_work_as_its_own() {
        let before = CpuUse::take();
        let end = Instant::now() + Duration::from_millis(300);
        while Instant::now() < end {
            std::hint::black_box(0);
        }
        let after = CpuUse::take();
        let me = std::process::id();
        let own = after.used_since(&before).find(|(pid, ..)| *pid == me).unwrap().2;
        assert!(own >= 1, "{own}");
        assert!(after.descendants(&before, &[1]).contains(&me) || after.descendants(&before, &[me]).contains(&me));
    }

    fn machine_with_groups(own: &str, stats: &[(&str, &str)]) -> Throttling {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| crate::fake::put(root.path(), path, text).unwrap();
        put("proc/self/cgroup", own);
        stats.iter().for_each(|(path, text)| put(&format!("sys/fs/cgroup/{path}/cpu.stat"), text));
        Throttling::of(&System::at(root.path()))
    }

    #[test]
    fn the_group_that_took_most_is_named_in_either_version() {
        let second = |above: &str, own: &str| {
            machine_with_groups("0::/a/b\n", &[("a", above), ("a/b", own), ("a/c", "nr_periods 9\n")])
        };
        let before = second(
            "usage_usec 5\nnr_periods 10\nnr_throttled 0\nthrottled_usec 0\n",
            "usage_usec 5\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
        );
        let after = second(
            "usage_usec 9\nnr_periods 60\nnr_throttled 40\nthrottled_usec 2500000\n",
            "usage_usec 9\nnr_periods 50\nnr_throttled 1\nthrottled_usec 7\n",
        );
        let found = Throttled { group: "/sys/fs/cgroup/a".into(), periods_fraction: 0.8, stopped_s: 2.5 };
        assert_eq!(after.since(&before), Some(found));
        assert_eq!(after.since(&after), None, "no period has passed");

        let first =
            |text: &str| machine_with_groups("3:cpuset:/\n2:cpu,cpuacct:/c\n0::/\n", &[("cpu,cpuacct/c", text)]);
        let before = first("nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
        let after = first("nr_periods 10\nnr_throttled 5\nthrottled_time 500000000\n");
        let found = after.since(&before).unwrap();
        assert_eq!((found.periods_fraction, found.stopped_s), (0.5, 0.5));
    }

    #[test]
    fn a_machine_without_quotas_reports_no_throttling() {
        let none = machine_with_groups("0::/a\n", &[("a", "usage_usec 5\nuser_usec 1\n")]);
        assert_eq!((none.clone(), none.since(&none)), (Throttling::default(), None));
        assert_eq!(machine_with_groups("", &[]), Throttling::default());
    }
}
