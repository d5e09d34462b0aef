//! The list of settings with their names.

use crate::error::NoiseError;
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

    fn from_str(name: &str) -> Result<Self, NoiseError> {
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
