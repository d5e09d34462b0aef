//! Settings that are values in files: their paths, and how levels are written and read.

use super::Setting;
use crate::error::{NoiseError, Result};
use crate::journal::Format;
use crate::system::System;

/// Folder of the kernel's CPU files.
pub(crate) const CPUS: &str = "/sys/devices/system/cpu";

/// The files of `setting`, which are all written; empty if this machine has none.
pub(crate) fn paths(setting: Setting, system: &System) -> Vec<String> {
    let one = |path: &str| vec![path.to_owned()];
    let all = match setting {
        Setting::NumaBalancing => one("/proc/sys/kernel/numa_balancing"),
        Setting::NumaDemotion => one("/sys/kernel/mm/numa/demotion_enabled"),
        Setting::Thp => one("/sys/kernel/mm/transparent_hugepage/enabled"),
        Setting::ThpDefrag => one("/sys/kernel/mm/transparent_hugepage/defrag"),
        Setting::Swappiness => one("/proc/sys/vm/swappiness"),
        Setting::AslrSystem => one("/proc/sys/kernel/randomize_va_space"),
        Setting::PerfEventParanoid => one("/proc/sys/kernel/perf_event_paranoid"),
        Setting::IntelPstate => vec![format!("{CPUS}/intel_pstate/status")],
        // By policy, not by CPU: CPUs that share a policy share its file.
        Setting::Governor => policies(system).iter().map(|p| format!("{p}/scaling_governor")).collect(),
        Setting::Turbo => {
            let intel = format!("{CPUS}/intel_pstate/no_turbo");
            if system.exists(&intel) { vec![intel] } else { vec![format!("{CPUS}/cpufreq/boost")] }
        }
        Setting::Smt => vec![format!("{CPUS}/smt/control")],
        Setting::Frequency => policies(system)
            .iter()
            .flat_map(|policy| ["scaling_min_freq", "scaling_max_freq"].map(|name| format!("{policy}/{name}")))
            .collect(),
        Setting::CStates | Setting::IrqAffinity | Setting::CpuShield | Setting::PageCache => Vec::new(),
    };
    all.into_iter().filter(|path| system.exists(path)).collect()
}

/// Files that the kernel changes when those of [`paths`] are written, and that are restored after them: CPUs that an
/// administrator had taken offline come online with SMT; a policy's own boost follows the common one; another frequency
/// driver starts with its own governor and bounds.
pub(crate) fn followers(setting: Setting, system: &System) -> Vec<String> {
    let all: Vec<String> = match setting {
        Setting::Smt => cpus(system).iter().map(|cpu| format!("{cpu}/online")).collect(),
        Setting::Turbo => policies(system).iter().map(|p| format!("{p}/boost")).collect(),
        Setting::IntelPstate => {
            let of_policies = policies(system);
            let files = |policy: &String| {
                ["scaling_governor", "scaling_min_freq", "scaling_max_freq"].map(|name| format!("{policy}/{name}"))
            };
            let turbo = format!("{CPUS}/intel_pstate/no_turbo");
            of_policies.iter().flat_map(files).chain([turbo]).collect()
        }
        _ => Vec::new(),
    };
    all.into_iter().filter(|path| system.exists(path)).collect()
}

/// The folders of all CPUs.
pub(super) fn cpus(system: &System) -> Vec<String> {
    let is_cpu = |name: &String| name.strip_prefix("cpu").is_some_and(|digits| digits.parse::<u32>().is_ok());
    system.names(CPUS).into_iter().filter(is_cpu).map(|name| format!("{CPUS}/{name}")).collect()
}

/// The folders of frequency domains.
pub(crate) fn policies(system: &System) -> Vec<String> {
    let folder = format!("{CPUS}/cpufreq");
    system.names(&folder).iter().filter(|n| n.starts_with("policy")).map(|n| format!("{folder}/{n}")).collect()
}

/// The format of the files of `setting`.
pub(crate) fn format(setting: Setting) -> Format {
    match setting {
        Setting::Thp | Setting::ThpDefrag => Format::Choice,
        _ => Format::Plain,
    }
}

pub(crate) fn encode(setting: Setting, path: &str, level: &str) -> String {
    let on = level == "on";
    match setting {
        Setting::NumaBalancing if level == "tiering" => "2".to_owned(),
        Setting::NumaBalancing => if on { "1" } else { "0" }.to_owned(),
        Setting::NumaDemotion => on.to_string(),
        Setting::Turbo => if on == path.ends_with("no_turbo") { "0" } else { "1" }.to_owned(),
        _ => level.to_owned(),
    }
}

fn decode(setting: Setting, path: &str, value: &str) -> String {
    match (setting, value) {
        (Setting::NumaBalancing, "0") => "off",
        (Setting::NumaBalancing, "1") => "on",
        // 3 is both (admin-guide/sysctl/kernel), which is not a level here.
        (Setting::NumaBalancing, "2") => "tiering",
        (Setting::NumaDemotion, "true") => "on",
        (Setting::NumaDemotion, "false") => "off",
        (Setting::Turbo, "0" | "1") => {
            if (value == "0") == path.ends_with("no_turbo") {
                "on"
            } else {
                "off"
            }
        }
        // Without SMT, or if SMT was disabled permanently at boot, there are no siblings: this is off.
        (Setting::Smt, "notsupported" | "forceoff") => "off",
        _ => value,
    }
    .to_owned()
}

/// The present level, from the machine's files; several different ones are joined by `+`.
pub(crate) fn read(setting: Setting, system: &System) -> Result<String> {
    let paths = paths(setting, system);
    if paths.is_empty() {
        return Err(NoiseError::NotAvailable {
            setting: setting.name(),
            level: "any level".to_owned(),
            reason: missing(setting).to_owned(),
        });
    }
    let mut levels = Vec::new();
    for path in paths {
        let level = decode(setting, &path, &format(setting).value(&system.read(&path)?));
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    levels.sort();
    Ok(levels.join("+"))
}

/// Why a machine does not support `setting`.
pub(crate) fn missing(setting: Setting) -> &'static str {
    match setting {
        Setting::NumaBalancing => "this kernel has no automatic NUMA balancing (CONFIG_NUMA_BALANCING)",
        Setting::NumaDemotion => {
            "this kernel demotes no pages between nodes (CONFIG_NUMA and CONFIG_MIGRATION, Linux 5.18)"
        }
        Setting::Thp | Setting::ThpDefrag => "this kernel has no transparent huge pages",
        Setting::Swappiness => "this kernel has no vm.swappiness",
        Setting::AslrSystem => "this kernel has no kernel.randomize_va_space",
        Setting::PerfEventParanoid => "this kernel has no kernel.perf_event_paranoid",
        Setting::IntelPstate => "this machine has no intel_pstate driver (no intel_pstate/status)",
        Setting::Governor | Setting::Frequency => {
            "this machine has no CPU frequency control (no cpufreq driver, as on most virtual machines)"
        }
        Setting::Turbo => "this machine has no turbo switch (no intel_pstate/no_turbo and no cpufreq/boost)",
        Setting::Smt => "this kernel has no SMT control",
        Setting::CStates => "this kernel has no /dev/cpu_dma_latency",
        Setting::IrqAffinity => "this kernel cannot move interrupts (no /proc/irq/*/smp_affinity_list)",
        Setting::CpuShield => "this machine has no cgroup v2 cpuset controller",
        Setting::PageCache => "this kernel has no vm.drop_caches",
    }
}
