//! Disturbances of a sample: the machine's counters, CPU time of other programs, the server's memory in swap,
//! suspension of the machine, processes that were stopped, interrupts of network devices and rounds of receiving
//! packets by CPU, and probes before and after it: the speed of the machine on the sample's own logical CPUs while the
//! server idles.

use rustix::process::{getpid, getppid};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use tare_cpuset::CpuSet;
use tare_engine::stopped_processes;
use tare_noise::probe::{Probe, ProbeCpus, Reading};
use tare_noise::{CpuUse, NoiseError, Snapshot, Throttling};
use tare_results::covariate::{FOREIGN_FRACTION, may_explain};
use tare_results::probe::Probe as ProbeName;

pub(crate) struct Interference {
    snapshot: Snapshot,
    cpu_use: CpuUse,
    throttling: Throttling,
    asleep_s: f64,
    server: Option<u32>,
    cpus: CpuSet,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OthersSeen {
    /// Name -> value, stored alongside the metrics: those of [`Snapshot::since`] and, for the benchmark's CPUs, of
    /// [`Snapshot::since_on`], `foreign_cpu_s`, `foreign_cpu_fraction` (of the benchmark's CPUs),
    /// `server_swapped_bytes`, `suspended_s`, `stopped_processes`.
    pub covariates: BTreeMap<String, f64>,
    /// The foreign processes that used most CPU time, in descending order: name, process id, CPU time over wall time.
    pub users: Vec<(String, u32, f64)>,
}

impl OthersSeen {
    /// Merges a later part of one sample: covariates by the rules of the registry, CPU users as shares of the total
    /// time.
    pub(crate) fn merge(&mut self, later: Self) {
        let elapsed_s = |of: &Self| of.covariates.get("elapsed_s").copied().unwrap_or(0.0);
        let (before_s, later_s) = (elapsed_s(self), elapsed_s(&later));
        let all_s = (before_s + later_s).max(f64::MIN_POSITIVE);
        self.users.iter_mut().for_each(|user| user.2 *= before_s / all_s);
        for (name, pid, share) in later.users {
            let share = share * later_s / all_s;
            match self.users.iter_mut().find(|known| known.1 == pid) {
                Some(known) => known.2 += share,
                None => self.users.push((name, pid, share)),
            }
        }
        self.users.sort_by(|a, b| b.2.total_cmp(&a.2));
        tare_results::covariate::merge(&mut self.covariates, later.covariates);
    }
}

impl Interference {
    /// Starts watching. `bound` holds the CPUs of the benchmark; it is empty if the benchmark may run anywhere.
    pub(crate) fn start(server: Option<u32>, bound: &CpuSet) -> Self {
        let snapshot = Snapshot::take();
        let cpus = if bound.is_empty() { snapshot.cpus().keys().copied().collect() } else { bound.clone() };
        let throttling = Throttling::take();
        // Those of earlier are no disturbance of this sample.
        let _ = stopped_processes();
        Self { snapshot, cpu_use: CpuUse::take(), throttling, asleep_s: asleep_s(), server, cpus }
    }

    /// Also returns the most time that the hypervisor took from one CPU, in seconds.
    pub(crate) fn finish(self) -> (OthersSeen, f64) {
        let now = CpuUse::take();
        let after = Snapshot::take();
        let mut covariates = after.since(&self.snapshot);
        // On all CPUs these equal the figures of the whole machine, and would report one reason twice.
        let everywhere = self.snapshot.cpus().keys().all(|cpu| self.cpus.contains(*cpu));
        let bound = after.since_on(&self.snapshot, &self.cpus);
        covariates.extend(bound.into_iter().filter(|(name, _)| !everywhere || !may_explain(name)));
        // Own processes: the run that started this trial, and with it the trial, the server and the capture tools; and
        // a server that was already running.
        let own: Vec<u32> = [Some(getpid()), getppid()]
            .into_iter()
            .flatten()
            .map(|pid| pid.as_raw_nonzero().get().unsigned_abs())
            .chain(self.server)
            .collect();
        let foreign = now.since(&self.cpu_use, &self.cpus, &own);
        covariates.insert("foreign_cpu_s".into(), foreign.cpu_s);
        covariates.insert(FOREIGN_FRACTION.into(), foreign.fraction);
        // Clients are this process or its children, in the same control groups.
        if let Some(taken) = Throttling::take().since(&self.throttling) {
            covariates.insert("client_throttled_fraction".into(), taken.periods_fraction);
            covariates.insert("client_throttled_s".into(), taken.stopped_s);
        }
        covariates.insert("suspended_s".into(), (asleep_s() - self.asleep_s).max(0.0));
        covariates.insert("stopped_processes".into(), stopped_processes() as f64);
        if let Some(bytes) = self.server.and_then(swapped_bytes) {
            covariates.insert("server_swapped_bytes".into(), bytes as f64);
        }
        (OthersSeen { covariates, users: foreign.users }, after.most_stolen_s(&self.snapshot))
    }
}

/// Seconds since boot for which the machine was suspended: CLOCK_BOOTTIME minus CLOCK_MONOTONIC (clock_gettime(2)).
fn asleep_s() -> f64 {
    let monotonic = seconds(ClockId::Monotonic);
    seconds(ClockId::Boottime) - monotonic
}

/// CPU time of the calling thread since it began, in seconds.
pub(crate) fn thread_cpu_s() -> f64 {
    seconds(ClockId::ThreadCPUTime)
}

fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn swapped_bytes(pid: u32) -> Option<u64> {
    let status: procfs::process::Status = tare_cpuset::observe::parse(&format!("/proc/{pid}/status")).ok()?;
    Some(status.vmswap? * 1024)
}

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
        Self(network_events())
    }

    /// The increase for each CPU since the start; zeros are left out.
    pub(crate) fn finish(self) -> BTreeMap<String, f64> {
        let grown = network_events().into_iter().map(|(name, count)| {
            let before = self.0.get(&name).copied().unwrap_or(0);
            (name, count.saturating_sub(before) as f64)
        });
        grown.filter(|(_, count)| *count > 0.0).collect()
    }
}

fn network_events() -> EventsByCpu {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let (numbers, names) = devices(Path::new("/sys/class/net"));
    let mut counts = by_cpu(&read("/proc/softirqs"), RECEIVING, |line| line.starts_with("NET_RX:"));
    counts.extend(by_cpu(&read("/proc/interrupts"), INTERRUPTS, |line| is_of_device(line, &numbers, &names)));
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
fn is_of_device(line: &str, numbers: &BTreeSet<String>, names: &BTreeSet<String>) -> bool {
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

/// Shortest length of a reading: 5 ms of dependent loads, 2 ms of spinning, 2 ms of mutual wake-ups. With about 7 ms
/// on each side of a sample, 0.41 to 0.65 of the spread of queries of 0.1 to 2 s was left; shorter readings mostly
/// measure their own noise.
const SHORTEST: Duration = Duration::from_millis(9);
/// A longer reading gives no further information.
const LONGEST: Duration = Duration::from_millis(300);

/// Probes before and after samples. A reading between two samples is taken once and used for both.
pub(crate) struct ProbeWatch {
    probe: Probe,
    /// Fraction of the time that readings may take.
    share: f64,
    length: Duration,
    last: Option<(Instant, Reading)>,
    pub(crate) before: Option<Reading>,
}

impl ProbeWatch {
    pub(crate) fn new(cpus: ProbeCpus, share: f64) -> Result<Self, NoiseError> {
        Ok(Self { probe: Probe::new(cpus)?, share, length: SHORTEST, last: None, before: None })
    }

    /// Called before a sample, while the server idles.
    pub(crate) fn before(&mut self) -> Result<(), NoiseError> {
        self.before = Some(self.read()?);
        Ok(())
    }

    /// Called after a sample, while the server idles: the figures half-way between the readings before and after.
    pub(crate) fn after(&mut self, sample: Duration) -> Result<Vec<(ProbeName, f64)>, NoiseError> {
        self.length = sample.mul_f64(self.share).clamp(SHORTEST, LONGEST);
        let after = self.read()?;
        Ok(probe_figures(self.before.take().map_or(after, |before| before.between(&after))))
    }

    /// Called after a sample while the server does not idle: returns the figures of the reading before.
    pub(crate) fn before_alone(&mut self) -> Vec<(ProbeName, f64)> {
        self.before.take().map_or_else(Vec::new, probe_figures)
    }

    /// Takes a new reading, or returns the last one if another so soon would exceed the share of the time.
    fn read(&mut self) -> Result<Reading, NoiseError> {
        if let Some((at, reading)) = self.last
            && at.elapsed().mul_f64(self.share) < self.length
        {
            return Ok(reading);
        }
        let reading = self.probe.read(self.length)?;
        self.last = Some((Instant::now(), reading));
        Ok(reading)
    }
}

fn probe_figures(found: Reading) -> Vec<(ProbeName, f64)> {
    vec![(ProbeName::Chain, found.chain_ns), (ProbeName::Spin, found.spin_ns), (ProbeName::Wakeup, found.wakeup_ns)]
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
        let found = by_cpu(INTERRUPTS_TEXT, INTERRUPTS, |line| is_of_device(line, &["27".to_owned()].into(), &names));
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

    #[test]
    fn short_samples_share_a_reading_and_long_ones_have_their_own() {
        let cpus = ProbeCpus { workers: vec![None], pair: [None, None] };
        let mut watch = ProbeWatch::new(cpus.clone(), 0.01).unwrap();
        watch.before().unwrap();
        let first = watch.last.unwrap().1;
        let found = watch.after(Duration::from_millis(1)).unwrap();
        assert_eq!(found[0], (ProbeName::Chain, first.chain_ns), "another one would take ten times its share");
        let mut watch = ProbeWatch::new(cpus, 1.0).unwrap();
        watch.before().unwrap();
        let first = watch.last.unwrap().1;
        std::thread::sleep(Duration::from_millis(25));
        let found = watch.after(Duration::from_millis(20)).unwrap();
        let second = watch.last.unwrap().1;
        assert_ne!(first, second);
        assert_eq!(found[0], (ProbeName::Chain, f64::midpoint(first.chain_ns, second.chain_ns)));
        assert_eq!(watch.length, Duration::from_millis(20), "a share of 1 is as long as the sample");
    }
}
