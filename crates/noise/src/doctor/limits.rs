//! Findings about limits of this process's control groups and cpusets, isolated CPUs, and swap.

use super::finding::{Finding, Severity};
use crate::control_group::ControlGroup;
use crate::interference::quota_folders;
use crate::setting::{Setting, online_cpus};
use crate::system::System;
use tare_cpuset::CpuSet;

/// Findings about limits; `cpus` are those of the benchmark.
pub(crate) fn findings(system: &System, cpus: &CpuSet) -> Vec<Finding> {
    let mut all = vec![quota(system), cpuset(system), isolation(system, cpus), swap(system)];
    // Not known for a fake system.
    if !system.is_fake() {
        all.push(server_group(ControlGroup::planned("doctor").is_some(), system.exists(SYSTEMD)));
    }
    all
}

/// Exists if systemd is the init process (sd_booted(3)).
const SYSTEMD: &str = "/run/systemd/system";

/// Whether each server gets a control group of its own, so that all processes that it starts are found and ended.
fn server_group(is_made: bool, systemd: bool) -> Finding {
    if is_made {
        return Finding::new("server_group", "each server gets its own control group", Severity::Good, "");
    }
    let how = "systemd-run --user --scope -p Delegate=yes tare run ... (tare doctor, run in the same way, says whether \
               that is enough here)";
    Finding::new(
        "server_group",
        "this user may not create a control group below its own",
        Severity::Note,
        "processes that a server starts are found by an environment variable: one that clears it and leaves its \
         session outlives a trial that is killed with SIGKILL",
    )
    .command(systemd.then(|| how.to_owned()))
}

/// The tightest CPU quota of this process's group and the groups above it.
fn quota(system: &System) -> Finding {
    let of = |folder: String| Some((cpus_allowed(system, &folder)?, folder));
    // Of equal ones the innermost.
    let all = quota_folders(system).into_iter().rev().filter_map(of);
    match all.min_by(|(a, _), (b, _)| a.total_cmp(b)) {
        None => Finding::new("cpu_quota", "none", Severity::Good, ""),
        Some((cpus, group)) => Finding::new(
            "cpu_quota",
            format!("{cpus:.2} CPUs by {group}"),
            Severity::Warning,
            "threads stop for the rest of each period (100 ms as a rule) once the quota is used up",
        )
        .command(Some("run outside of this container or slice, or without its CPU limit".to_owned())),
    }
}

/// The quota of one group in CPUs: cpu.max in v2, cfs quota and period in v1.
fn cpus_allowed(system: &System, folder: &str) -> Option<f64> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| *n > 0.0);
    if let Some(text) = system.read_optional(&format!("{folder}/cpu.max")) {
        let (quota, period) = text.trim().split_once(' ')?;
        return Some(number(quota)? / number(period)?);
    }
    let quota = number(&system.read_optional(&format!("{folder}/cpu.cfs_quota_us"))?)?;
    Some(quota / number(&system.read_optional(&format!("{folder}/cpu.cfs_period_us"))?)?)
}

fn cpuset(system: &System) -> Finding {
    let status = system.read_optional("/proc/self/status").unwrap_or_default();
    let allowed = status.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:")?.trim().parse::<CpuSet>().ok());
    let online = online_cpus(system);
    match allowed {
        Some(allowed) if !online.is_subset(&allowed) => Finding::new(
            "cpuset",
            format!("{} of the online CPUs {online}", allowed.intersection(&online)),
            Severity::Note,
            "placements on the other CPUs are not realizable from here",
        ),
        _ => Finding::new("cpuset", format!("all online CPUs ({online})"), Severity::Good, ""),
    }
}

fn isolation(system: &System, cpus: &CpuSet) -> Finding {
    let list = |name: &str| {
        let text = system.read_optional(&format!("/sys/devices/system/cpu/{name}")).unwrap_or_default();
        // An empty mask reads "(null)" on some kernels.
        text.trim().trim_matches(['(', ')']).replace("null", "")
    };
    let (isolated, nohz_full) = (list("isolated"), list("nohz_full"));
    if isolated.is_empty() && nohz_full.is_empty() {
        return Finding::new(
            "isolation",
            "no CPU is isolated",
            Severity::Note,
            "the scheduler may put any other task on the benchmark's CPUs, and each has its timer tick",
        )
        .study(system, Setting::CpuShield, &format!("cpus:{cpus}"));
    }
    Finding::new("isolation", format!("isolcpus {isolated:?}, nohz_full {nohz_full:?}"), Severity::Good, "")
}

fn swap(system: &System) -> Finding {
    let meminfo = system.read_optional("/proc/meminfo").unwrap_or_default();
    let kib = |name: &str| {
        let rest = meminfo.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'))?;
        rest.split_whitespace().next()?.parse::<u64>().ok()
    };
    let total = kib("SwapTotal").unwrap_or(0);
    let used = total.saturating_sub(kib("SwapFree").unwrap_or(0));
    let value = match total {
        0 => "none".to_owned(),
        _ => format!("{} of {} MiB used", used / 1024, total / 1024),
    };
    Finding::check("swap", value, used > 0, "a page that was swapped out costs a disk read when it is touched")
        .command(Some("sudo swapoff -a && sudo swapon -a".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_and_cpu_limits_of_a_container_are_reported() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| crate::fake::put(dir.path(), path, text).unwrap();
        put("proc/self/cgroup", "0::/a/b\n");
        put("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-1\n");
        put("sys/devices/system/cpu/online", "0-3\n");
        put("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
        put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
        put("proc/meminfo", "SwapTotal: 2048 kB\nSwapFree: 1024 kB\n");
        let all = findings(&System::at(dir.path()), &CpuSet::from(1));
        let value = |name: &str| all.iter().find(|f| f.name == name).unwrap().value.as_str();
        assert_eq!(value("cpu_quota"), "1.50 CPUs by /sys/fs/cgroup/a");
        assert_eq!(value("cpuset"), "0-1 of the online CPUs 0-3");
        assert_eq!(value("swap"), "1 of 2 MiB used");
        put("proc/self/cgroup", "3:cpuset:/\n2:cpu,cpuacct:/c\n");
        put("sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", "50000\n");
        put("sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_period_us", "100000\n");
        assert_eq!(quota(&System::at(dir.path())).value, "0.50 CPUs by /sys/fs/cgroup/cpu,cpuacct/c");
        put("sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", "-1\n");
        assert_eq!(quota(&System::at(dir.path())).severity, Severity::Good);
    }

    #[test]
    fn a_server_without_a_group_is_noted_with_systemds_way_where_systemd_is() {
        assert_eq!(server_group(true, true).severity, Severity::Good);
        let without = server_group(false, true);
        assert!(without.severity == Severity::Note && without.command.unwrap().contains("-p Delegate=yes"));
        assert_eq!(server_group(false, false).command, None);
    }
}
