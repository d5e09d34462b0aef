//! Device interrupts by CPU.

use super::finding::{Finding, Severity};
use crate::setting::Setting;
use crate::system::System;
use std::collections::BTreeMap;
use tare_cpuset::CpuSet;

/// Device interrupts so far: by source, by CPU.
pub(crate) struct Interrupts(BTreeMap<String, BTreeMap<u32, u64>>);

impl Interrupts {
    pub(crate) fn take(system: &System) -> Self {
        Self(parse(&system.read_optional("/proc/interrupts").unwrap_or_default()))
    }

    /// Rate on `cpus` since `earlier`, with the three busiest sources.
    pub(crate) fn finding(&self, earlier: &Self, system: &System, cpus: &CpuSet, elapsed_s: f64) -> Finding {
        let mut rates: Vec<(f64, &str)> = self
            .0
            .iter()
            .map(|(source, now)| {
                let before = earlier.0.get(source);
                let of_cpu = |cpu| {
                    let count = |counts: &BTreeMap<u32, u64>| counts.get(&cpu).copied().unwrap_or(0);
                    count(now).saturating_sub(before.map_or(0, count))
                };
                (cpus.iter().map(of_cpu).sum::<u64>() as f64 / elapsed_s.max(1e-9), source.as_str())
            })
            .filter(|(rate, _)| *rate > 0.0)
            .collect();
        rates.sort_by(|a, b| b.0.total_cmp(&a.0));
        let total: f64 = rates.iter().map(|(rate, _)| rate).sum();
        let busiest: Vec<String> =
            rates.iter().take(3).map(|(rate, source)| format!("{source}: {rate:.0}/s")).collect();
        let value = match busiest.is_empty() {
            true => format!("0/s on CPUs {cpus}"),
            false => format!("{total:.0}/s on CPUs {cpus} ({})", busiest.join("; ")),
        };
        let severity = match total {
            t if t < 100.0 => Severity::Good,
            t if t < 1_000.0 => Severity::Note,
            _ => Severity::Warning,
        };
        let cost = "each takes some microseconds from the thread it hits, and cache with it";
        Finding::new("interrupts", value, severity, cost).study(system, Setting::IrqAffinity, &format!("cpus:{cpus}"))
    }
}

/// Parses the lines of /proc/interrupts whose name is a number, which are devices. Other interrupts (timers,
/// inter-processor interrupts) cannot be moved.
fn parse(text: &str) -> BTreeMap<String, BTreeMap<u32, u64>> {
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default();
    let cpus: Vec<u32> = header.split_whitespace().filter_map(|w| w.strip_prefix("CPU")?.parse().ok()).collect();
    lines
        .filter_map(|line| {
            let (number, rest) = line.split_once(':')?;
            number.trim().parse::<u32>().ok()?;
            let counts: Vec<u64> = rest.split_whitespace().take(cpus.len()).map_while(|w| w.parse().ok()).collect();
            let names: Vec<&str> = rest.split_whitespace().skip(counts.len()).collect();
            // The last word is usually the device: "IR-PCI-MSI 524288-edge nvme0q1".
            let source = format!("{} {}", number.trim(), names.last().unwrap_or(&""));
            Some((source.trim().to_owned(), cpus.iter().copied().zip(counts).collect()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn devices_only_and_offline_cpus_missing() {
        let text = "           CPU0       CPU2\n 24:      10       7   PCI-MSI 0-edge  virtio0\n 25: 0 0 x eth0\nLOC:  99  98  Local timer\nERR:  0\n";
        let found = Interrupts(parse(text));
        assert_eq!(found.0["24 virtio0"], BTreeMap::from([(0, 10), (2, 7)]));
        assert_eq!(found.0.len(), 2);
        let none = Interrupts(BTreeMap::new());
        let dir = tempfile::tempdir().unwrap();
        crate::fake::create(dir.path()).unwrap();
        let system = System::at(dir.path());
        let finding = found.finding(&none, &system, &CpuSet::from(2), 0.01);
        assert_eq!(finding.value, "700/s on CPUs 2 (24 virtio0: 700/s)");
        assert_eq!(finding.severity, Severity::Note);
        assert_eq!(finding.study.as_deref(), Some("irq_affinity = \"cpus:2\""));
        assert_eq!(found.finding(&found, &system, &CpuSet::from(0), 1.0).severity, Severity::Good);
    }

    proptest! {
        #[test]
        fn never_panics(text in "( CPU[0-9])*\n([ 0-9a-z:]{0,30}\n)*") {
            parse(&text);
        }
    }
}
