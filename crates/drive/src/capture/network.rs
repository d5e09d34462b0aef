//! Network processing by CPU during a sample: interrupts of network devices, and rounds of receiving packets.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Prefix of the covariates that count interrupts of network devices by CPU.
const INTERRUPTS: &str = "network_interrupts_cpu";
/// Prefix of the covariates that count rounds of receiving packets (`NET_RX`) by CPU.
const RECEIVING: &str = "network_receiving_cpu";

/// The kernel's counts since boot, by name of the covariate.
type EventsByCpu = BTreeMap<String, u64>;

pub(crate) struct NetworkWatch(EventsByCpu);

impl NetworkWatch {
    /// Reads two files and the list of network devices.
    pub(crate) fn start() -> Self {
        Self(now())
    }

    /// The increase for each CPU since the start; zeros are left out.
    pub(crate) fn finish(self) -> BTreeMap<String, f64> {
        let grown = now().into_iter().map(|(name, count)| {
            let before = self.0.get(&name).copied().unwrap_or(0);
            (name, count.saturating_sub(before) as f64)
        });
        grown.filter(|(_, count)| *count > 0.0).collect()
    }
}

fn now() -> EventsByCpu {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let (numbers, names) = devices(Path::new("/sys/class/net"));
    let mut counts = by_cpu(&read("/proc/softirqs"), RECEIVING, |line| line.starts_with("NET_RX:"));
    counts.extend(by_cpu(&read("/proc/interrupts"), INTERRUPTS, |line| is_of(line, &numbers, &names)));
    counts
}

/// Interrupts of network devices: their numbers, and prefixes of their action names.
fn devices(folder: &Path) -> (BTreeSet<String>, BTreeSet<String>) {
    let names_in = |path: &Path| {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect::<Vec<_>>()
    };
    let (mut numbers, mut names) = (BTreeSet::new(), BTreeSet::new());
    for interface in names_in(folder) {
        // Virtual interfaces have no device and no interrupts.
        let Ok(device) = folder.join(&interface).join("device").canonicalize() else { continue };
        // A virtio device uses the interrupts of the PCI device above it.
        for place in [Some(device.as_path()), device.parent()].into_iter().flatten() {
            numbers.extend(names_in(&place.join("msi_irqs")));
        }
        names.extend(device.file_name().map(|name| name.to_string_lossy().into_owned()));
        names.insert(interface);
    }
    (numbers, names)
}

/// Whether a line of /proc/interrupts belongs to one of these devices.
fn is_of(line: &str, numbers: &BTreeSet<String>, names: &BTreeSet<String>) -> bool {
    let Some((number, rest)) = line.split_once(':') else { return false };
    // The action comes last, as in "virtio0-input.0" or "eth0-TxRx-3".
    let action = rest.split_whitespace().next_back().unwrap_or("");
    let called = |name: &String| {
        action.strip_prefix(name.as_str()).is_some_and(|end| !end.starts_with(|c: char| c.is_ascii_alphanumeric()))
    };
    numbers.contains(number.trim()) || names.iter().any(called)
}

/// Sums of the wanted lines, by CPU as the first line names them.
fn by_cpu(text: &str, name: &str, wanted: impl Fn(&str) -> bool) -> EventsByCpu {
    let mut lines = text.lines();
    let cpus: Vec<&str> =
        lines.next().unwrap_or("").split_whitespace().filter_map(|cpu| cpu.strip_prefix("CPU")).collect();
    let mut counts = EventsByCpu::new();
    for line in lines.map(str::trim_start).filter(|line| wanted(line)) {
        for (cpu, count) in cpus.iter().zip(line.split_whitespace().skip(1)) {
            let Ok(count) = count.parse::<u64>() else { break };
            *counts.entry(format!("{name}{cpu}")).or_default() += count;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERRUPTS_TEXT: &str = "           CPU0       CPU2\n  24:        100          7   PCI-MSI 1-edge  virtio1-input.0\n\
        25:  5  6   PCI-MSI 2-edge  eth0-TxRx-0\n  26:  9  9   PCI-MSI 3-edge  virtio10-input.0\n\
        27:  1  1   PCI-MSI 4-edge  nvme0q1\n NMI:  3  3   Non-maskable interrupts\n";

    #[test]
    fn interrupts_of_network_devices_are_recognised_by_number_or_name() {
        let names = ["eth0", "virtio1"].map(str::to_owned).into();
        let found = by_cpu(INTERRUPTS_TEXT, INTERRUPTS, |line| is_of(line, &["27".to_owned()].into(), &names));
        let expected = [("network_interrupts_cpu0", 106), ("network_interrupts_cpu2", 14)];
        assert_eq!(found, expected.map(|(name, count)| (name.to_owned(), count)).into());
    }

    #[test]
    fn packets_over_loopback_are_counted() {
        let watch = NetworkWatch::start();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        for _ in 0..50 {
            drop(std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        }
        let seen = watch.finish();
        let received: f64 = seen.iter().filter(|(name, _)| name.starts_with(RECEIVING)).map(|(_, count)| count).sum();
        assert!(received > 0.0, "{seen:?}");
    }
}
