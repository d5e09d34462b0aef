//! A fake machine: a folder of plain files, for tests of this crate and of crates that use it (feature `test-support`).

use std::path::Path;
use std::{fs, io};

/// Files of a small server with all settings of this crate: two packages with two cores, cpufreq, SMT, cgroup v2.
const FILES: &[(&str, &str)] = &[
    ("/proc/sys/kernel/numa_balancing", "1\n"),
    ("/sys/kernel/mm/numa/demotion_enabled", "false\n"),
    ("/proc/sys/kernel/randomize_va_space", "2\n"),
    ("/proc/sys/kernel/perf_event_paranoid", "2\n"),
    ("/proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n"),
    ("/proc/sys/vm/swappiness", "60\n"),
    ("/proc/sys/vm/drop_caches", "0\n"),
    ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ("/sys/kernel/mm/transparent_hugepage/defrag", "always defer defer+madvise [madvise] never\n"),
    ("/sys/devices/system/cpu/online", "0-3\n"),
    ("/sys/devices/system/cpu/isolated", "\n"),
    ("/sys/devices/system/cpu/nohz_full", "\n"),
    ("/sys/devices/system/cpu/smt/control", "on\n"),
    ("/sys/devices/system/cpu/smt/active", "1\n"),
    ("/sys/devices/system/cpu/cpu1/online", "1\n"),
    ("/sys/devices/system/cpu/cpu2/online", "1\n"),
    ("/sys/devices/system/cpu/cpu3/online", "1\n"),
    ("/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
    ("/sys/devices/system/cpu/intel_pstate/status", "active\n"),
    ("/sys/devices/system/cpu/cpuidle/current_driver", "intel_idle\n"),
    ("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n"),
    ("/sys/devices/system/cpu/cpufreq/policy0/scaling_available_governors", "performance powersave\n"),
    ("/sys/devices/system/cpu/cpu0/cpuidle/state0/name", "POLL\n"),
    ("/sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "0\n"),
    ("/sys/devices/system/cpu/cpu0/cpuidle/state1/name", "C1\n"),
    ("/sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "2\n"),
    ("/sys/devices/system/cpu/cpu0/cpuidle/state2/name", "C6\n"),
    ("/sys/devices/system/cpu/cpu0/cpuidle/state2/latency", "133\n"),
    ("/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_min_freq", "800000\n"),
    ("/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq", "3600000\n"),
    ("/sys/devices/system/cpu/cpufreq/policy2/cpuinfo_min_freq", "800000\n"),
    ("/sys/devices/system/cpu/cpufreq/policy2/cpuinfo_max_freq", "3600000\n"),
    ("/sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq", "800000\n"),
    ("/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq", "3600000\n"),
    ("/sys/devices/system/cpu/cpufreq/policy2/scaling_governor", "performance\n"),
    ("/sys/devices/system/cpu/cpufreq/policy2/scaling_available_governors", "performance powersave\n"),
    ("/sys/devices/system/cpu/cpufreq/policy2/scaling_min_freq", "800000\n"),
    ("/sys/devices/system/cpu/cpufreq/policy2/scaling_max_freq", "3600000\n"),
    ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n"),
    ("/sys/fs/cgroup/cgroup.subtree_control", "cpu io memory pids\n"),
    ("/sys/fs/cgroup/cgroup.procs", ""),
    ("/sys/fs/cgroup/cpuset.cpus.effective", "0-3\n"),
    ("/dev/cpu_dma_latency", "\u{0}\u{0}\u{0}\u{1}"),
    ("/proc/irq/24/smp_affinity_list", "0-3\n"),
    ("/proc/irq/25/smp_affinity_list", "2\n"),
    ("/proc/irq/26/smp_affinity_list", "0\n"),
];

/// Writes [`FILES`] below `root`.
///
/// # Errors
/// The errors of creating folders and files.
pub fn create(root: &Path) -> io::Result<()> {
    FILES.iter().try_for_each(|(path, text)| put(root, path, text))
}

/// Writes a file below `root`, with the folders above it.
pub(crate) fn put(root: &Path, path: &str, text: &str) -> io::Result<()> {
    let path = root.join(path.trim_start_matches('/'));
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, text)
}
