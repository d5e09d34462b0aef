//! Throttling of this process and its children by the CPU quota of a control group, from `cpu.stat` of its group and of
//! the groups above it (Documentation/admin-guide/cgroup-v2.rst; cgroup-v1 in Documentation/scheduler/sched-bwc.rst).

use crate::setting::CGROUP;
use crate::system::System;

/// A reading of all control groups that this process is in.
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
        let own = system.read_optional("/proc/self/cgroup").unwrap_or_default();
        let folders = own.lines().flat_map(|line| folders(line).unwrap_or_default());
        Self(folders.filter_map(|folder| group(system, folder)).collect())
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
    use super::*;

    fn machine(own: &str, stats: &[(&str, &str)]) -> Throttling {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| crate::fake::put(root.path(), path, text).unwrap();
        put("proc/self/cgroup", own);
        stats.iter().for_each(|(path, text)| put(&format!("sys/fs/cgroup/{path}/cpu.stat"), text));
        Throttling::of(&System::at(root.path()))
    }

    #[test]
    fn the_group_that_took_most_is_named_in_either_version() {
        let second =
            |above: &str, own: &str| machine("0::/a/b\n", &[("a", above), ("a/b", own), ("a/c", "nr_periods 9\n")]);
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

        let first = |text: &str| machine("3:cpuset:/\n2:cpu,cpuacct:/c\n0::/\n", &[("cpu,cpuacct/c", text)]);
        let before = first("nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
        let after = first("nr_periods 10\nnr_throttled 5\nthrottled_time 500000000\n");
        let found = after.since(&before).unwrap();
        assert_eq!((found.periods_fraction, found.stopped_s), (0.5, 0.5));
    }

    #[test]
    fn a_machine_without_quotas_reports_no_throttling() {
        let none = machine("0::/a\n", &[("a", "usage_usec 5\nuser_usec 1\n")]);
        assert_eq!((none.clone(), none.since(&none)), (Throttling::default(), None));
        assert_eq!(machine("", &[]), Throttling::default());
    }
}
