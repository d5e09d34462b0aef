//! The machine and its settings as they were found: read only, and nothing is an error when it is missing.

use super::platform;
use std::collections::BTreeMap;
use std::fs;
use tare_results::schema::{Environment, SCHEMA};
use tare_topology::Machine;

/// Files whose content explains differences between machines and days.
const SETTINGS: &[&str] = &[
    "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/kernel/perf_event_paranoid",
    "/proc/sys/kernel/sched_autogroup_enabled",
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/zone_reclaim_mode",
    "/proc/cmdline",
    "/proc/loadavg",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/mm/transparent_hugepage/defrag",
    "/sys/kernel/mm/numa/demotion_enabled",
    "/sys/devices/system/cpu/smt/control",
    "/sys/devices/system/cpu/isolated",
    "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "/sys/devices/system/cpu/cpufreq/boost",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq",
    "/sys/devices/system/cpu/cpuidle/current_driver",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/fs/cgroup/cpu.max",
];

/// Takes stock of this machine, and of the command line of this process, which repeats the run.
pub fn environment(machine: &Machine) -> Environment {
    // What is no UTF-8 in it is shown as such: the command is for people.
    let command = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ");
    let uname = rustix::system::uname();
    Environment {
        schema: SCHEMA,
        tare_version: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        kernel: format!("{} {}", uname.release().to_string_lossy(), uname.version().to_string_lossy()),
        cpu_model: cpu_model(machine),
        hypervisor: hypervisor(),
        os: os_name(),
        settings: settings().into_iter().chain(platform::facts(&uname.version().to_string_lossy())).collect(),
        machine: machine.clone(),
    }
}

fn settings() -> BTreeMap<String, String> {
    SETTINGS
        .iter()
        .filter_map(|path| Some(((*path).to_owned(), fs::read_to_string(path).ok()?.trim().to_owned())))
        .collect()
}

/// x86 says `model name`; Arm kernels have numbers of their cores, which have names.
fn cpu_model(machine: &Machine) -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let value = |key: &str| {
        text.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(k, _)| k.trim() == key)
            .map(|(_, v)| v.trim().to_owned())
    };
    value("model name")
        .or_else(|| machine.core_designs())
        .or_else(|| Some(format!("ARM implementer {} part {}", value("CPU implementer")?, value("CPU part")?)))
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

fn hypervisor() -> Option<String> {
    let flagged = fs::read_to_string("/proc/cpuinfo").is_ok_and(|t| t.contains(" hypervisor"));
    let named = fs::read_to_string("/sys/hypervisor/type").ok().map(|t| t.trim().to_owned());
    let vendor = fs::read_to_string("/sys/class/dmi/id/sys_vendor").ok().map(|t| t.trim().to_owned());
    named.or_else(|| flagged.then(|| vendor.filter(|v| !v.is_empty()).unwrap_or_else(|| "virtual machine".into())))
}

fn os_name() -> String {
    fs::read_to_string("/etc/os-release")
        .ok()
        .and_then(|text| {
            let line = text.lines().find_map(|l| l.strip_prefix("PRETTY_NAME="))?;
            Some(line.trim_matches('"').to_owned())
        })
        .unwrap_or_else(|| "Linux".into())
}
