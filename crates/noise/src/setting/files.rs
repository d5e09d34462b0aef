//! The list of settings with their names, and the files of those that are values in files: their paths, and how levels
//! are written and read.

use crate::error::{NoiseError, Result};
use crate::journal::Format;
use crate::system::System;
use std::str::FromStr;

/// A setting of the whole machine, which is restored after a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Setting {
    /// Automatic NUMA balancing: the kernel moves pages and tasks between nodes (kernel.numa_balancing).
    NumaBalancing,
    /// Demotion: when memory is short, pages move to a slower node instead of swap (kernel mm/numa/demotion_enabled).
    NumaDemotion,
    /// Transparent huge pages.
    Thp,
    /// How much work a page fault does to allocate a huge page.
    ThpDefrag,
    /// Preference for swapping over dropping page cache (vm.swappiness).
    Swappiness,
    /// Address-space randomisation of all new processes (kernel.randomize_va_space). A single process needs no
    /// privileges for it: personality(2).
    AslrSystem,
    /// Who may use hardware counters (kernel.perf_event_paranoid).
    PerfEventParanoid,
    /// Mode of Intel's frequency driver: it chooses frequencies itself, leaves that to governors, or is off.
    IntelPstate,
    /// CPU frequency governor of every frequency domain.
    Governor,
    /// Turbo or boost frequencies (intel_pstate/no_turbo, or cpufreq/boost).
    Turbo,
    /// Whether the SMT siblings of all cores are online.
    Smt,
    /// Every CPU at a fixed frequency, independent of its load.
    Frequency,
    /// Limits idle states to polling or to a given state, by holding /dev/cpu_dma_latency open.
    CStates,
    /// Moves interrupts away from given CPUs.
    IrqAffinity,
    /// Reserves given CPUs by a cgroup v2 cpuset partition, so that other processes cannot use them.
    CpuShield,
    /// Drops the page cache: an action, with nothing to restore.
    PageCache,
}

impl Setting {
    /// All settings, in the order of listings.
    pub const ALL: [Self; 16] = [
        Self::NumaBalancing,
        Self::NumaDemotion,
        Self::Thp,
        Self::ThpDefrag,
        Self::Swappiness,
        Self::AslrSystem,
        Self::PerfEventParanoid,
        Self::IntelPstate,
        Self::Governor,
        Self::Turbo,
        Self::Smt,
        Self::Frequency,
        Self::CStates,
        Self::IrqAffinity,
        Self::CpuShield,
        Self::PageCache,
    ];

    /// Name in a study.
    pub fn name(self) -> &'static str {
        match self {
            Self::NumaBalancing => "numa_balancing",
            Self::NumaDemotion => "numa_demotion",
            Self::Thp => "thp",
            Self::ThpDefrag => "thp_defrag",
            Self::Swappiness => "swappiness",
            Self::AslrSystem => "aslr_system",
            Self::PerfEventParanoid => "perf_event_paranoid",
            Self::IntelPstate => "intel_pstate",
            Self::Governor => "governor",
            Self::Turbo => "turbo",
            Self::Smt => "smt",
            Self::Frequency => "frequency_mhz",
            Self::CStates => "c_states",
            Self::IrqAffinity => "irq_affinity",
            Self::CpuShield => "cpu_shield",
            Self::PageCache => "page_cache",
        }
    }

    /// Its levels, as text for messages and help.
    pub fn levels(self) -> &'static str {
        match self {
            Self::NumaBalancing => "on, off or tiering (hot pages come from slower nodes to faster ones; Linux 5.18)",
            Self::NumaDemotion | Self::Turbo | Self::Smt => "on or off",
            Self::Thp => "always, madvise or never",
            Self::ThpDefrag => "always, defer, defer+madvise, madvise or never",
            Self::Swappiness => "a whole number from 0 to 200",
            Self::AslrSystem => "0, 1 or 2",
            Self::PerfEventParanoid => "a whole number from -1 to 4",
            Self::IntelPstate => {
                "active (Intel's driver chooses frequencies), passive (governors do) or off (another driver, if any)"
            }
            Self::Governor => "a governor's name, such as performance or powersave",
            Self::Frequency => "lowest, highest or a whole number of MHz: every CPU is held there",
            Self::CStates => "on (unchanged), off (held at latency 0) or the deepest idle state to allow, such as C1",
            Self::IrqAffinity => "off (unchanged) or cpus:LIST, the CPUs that interrupts must avoid",
            Self::CpuShield => "off (unchanged) or cpus:LIST, the CPUs that only the benchmark may use",
            Self::PageCache => "keep or drop",
        }
    }
}

impl FromStr for Setting {
    type Err = NoiseError;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|s| s.name() == name).ok_or_else(|| NoiseError::UnknownSetting {
            name: name.to_owned(),
            known: Self::ALL.map(Self::name).join(", "),
        })
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

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
