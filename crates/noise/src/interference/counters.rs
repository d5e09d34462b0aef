//! Parsers of the kernel's counters. Unknown or malformed lines are skipped, because a missing value is not 0.

use std::collections::BTreeMap;

/// Time of one CPU, or of all, in clock ticks since boot, from a `cpu` line of /proc/stat (proc_stat(5)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// User mode, including the time of guests (the kernel counts it in `user` too).
    pub user: u64,
    /// User mode at low priority.
    pub nice: u64,
    /// Kernel mode, without interrupts.
    pub system: u64,
    /// Idle, with no task waiting for a disk.
    pub idle: u64,
    /// Idle while a task waited for a disk.
    pub iowait: u64,
    /// Handling interrupts of devices.
    pub irq: u64,
    /// Handling soft interrupts: network, timers, RCU.
    pub softirq: u64,
    /// Taken by the hypervisor for other guests.
    pub steal: u64,
}

impl CpuTimes {
    fn parse(fields: &str) -> Option<Self> {
        let n: Vec<u64> = fields.split_whitespace().map_while(|f| f.parse().ok()).collect();
        let &[user, nice, system, idle, iowait, irq, softirq, ref rest @ ..] = n.as_slice() else { return None };
        Some(Self { user, nice, system, idle, iowait, irq, softirq, steal: rest.first().copied().unwrap_or(0) })
    }

    /// All time, including idle and stolen time.
    pub(crate) fn total(&self) -> u64 {
        self.busy() + self.idle + self.iowait + self.steal
    }

    /// Time in which this machine itself worked: neither idle nor stolen.
    pub(crate) fn busy(&self) -> u64 {
        self.user + self.nice + self.system + self.irq + self.softirq
    }

    /// Field-wise difference; a field that decreased (iowait may, proc_stat(5)) counts as zero.
    #[must_use]
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        self.with(earlier, u64::saturating_sub)
    }

    /// The sum of both, field by field.
    #[must_use]
    pub(crate) fn plus(&self, other: &Self) -> Self {
        self.with(other, |own, other| own + other)
    }

    fn with(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            user: of(self.user, other.user),
            nice: of(self.nice, other.nice),
            system: of(self.system, other.system),
            idle: of(self.idle, other.idle),
            iowait: of(self.iowait, other.iowait),
            irq: of(self.irq, other.irq),
            softirq: of(self.softirq, other.softirq),
            steal: of(self.steal, other.steal),
        }
    }
}

/// Parses /proc/stat: times by CPU number, and the single counters (`ctxt`, `processes`, the first of `intr`).
pub(crate) fn parse_stat(text: &str) -> (BTreeMap<u32, CpuTimes>, BTreeMap<String, u64>) {
    let mut cpus = BTreeMap::new();
    let mut counters = BTreeMap::new();
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(char::is_whitespace) else { continue };
        if let Some(number) = name.strip_prefix("cpu") {
            // The line "cpu" (the sum) is skipped: sums are computed over the requested CPUs.
            if let (Ok(cpu), Some(times)) = (number.parse(), CpuTimes::parse(rest)) {
                cpus.insert(cpu, times);
            }
        } else if let Some(Ok(n)) = rest.split_whitespace().next().map(str::parse) {
            counters.insert(name.to_owned(), n);
        }
    }
    (cpus, counters)
}

/// Parses a file with lines `name number`, such as /proc/vmstat and numastat.
pub(crate) fn parse_pairs(text: &str) -> BTreeMap<String, u64> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
        })
        .collect()
}

/// Parses a file of /proc/pressure: stalled microseconds since boot by kind (`some`, `full`).
pub(crate) fn parse_pressure(text: &str) -> BTreeMap<String, u64> {
    text.lines()
        .filter_map(|line| {
            let (kind, rest) = line.split_once(' ')?;
            let total = rest.split_whitespace().find_map(|w| w.strip_prefix("total="))?;
            Some((kind.to_owned(), total.parse().ok()?))
        })
        .collect()
}

/// PF_KTHREAD of include/linux/sched.h, in field 9 of /proc/pid/stat.
pub(crate) const KERNEL_THREAD: u64 = 0x0020_0000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    /// Its name in the kernel, at most 15 bytes.
    pub name: String,
    /// The PID of its parent.
    pub parent: u32,
    /// Whether it is a kernel thread.
    pub kernel_thread: bool,
    /// User and system time of all its threads, including ended ones, clock ticks.
    pub ticks: u64,
}

/// Parses the required fields of /proc/pid/stat (proc_pid_stat(5)). The name may contain anything, even ") R 1".
pub(crate) fn parse_process_stat(stat: &str) -> Option<ProcessStat> {
    let (head, tail) = stat.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    // The tail begins with field 3.
    let fields: Vec<&str> = tail.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(ProcessStat {
        name: name.to_owned(),
        parent: u32::try_from(number(4)?).ok()?,
        kernel_thread: number(9)? & KERNEL_THREAD != 0,
        ticks: number(14)?.checked_add(number(15)?)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stat_of_a_vm() {
        let (cpus, counters) = parse_stat(
            "cpu  10 0 20 300 4 5 6 7 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu12 1 0 0 9 0 0 0\nintr 77 0 3\nctxt 99\nbtime x\n",
        );
        assert_eq!(cpus.keys().copied().collect::<Vec<_>>(), [0, 12]);
        assert_eq!((cpus[&0].steal, cpus[&0].busy(), cpus[&0].total()), (8, 1 + 2 + 3 + 6 + 7, 36));
        assert_eq!(cpus[&12].steal, 0, "kernels before 2.6.11 have no steal field");
        assert_eq!((counters["intr"], counters["ctxt"], counters.get("btime")), (77, 99, None));
    }

    #[test]
    fn pressure_totals() {
        let text =
            "some avg10=5.73 avg60=2.37 avg300=1.04 total=10431114\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n";
        assert_eq!(parse_pressure(text), BTreeMap::from([("some".into(), 10_431_114), ("full".into(), 5)]));
    }

    #[test]
    fn a_counter_that_runs_backwards_is_zero() {
        let (early, late) = (
            CpuTimes { iowait: 9, user: 1, ..Default::default() },
            CpuTimes { iowait: 7, user: 4, ..Default::default() },
        );
        assert_eq!(late.since(&early), CpuTimes { user: 3, ..Default::default() });
    }

    proptest! {
        #[test]
        fn hostile_text_never_panics(text in "(cpu[0-9]{0,3}|some|full|intr|\\PC{0,9})[ =0-9a-z\n]{0,60}") {
            let (cpus, _) = parse_stat(&text);
            prop_assert!(cpus.len() <= text.lines().count());
            parse_pairs(&text);
            parse_pressure(&text);
        }
    }

    #[test]
    fn a_hostile_name_is_only_a_name() {
        let stat = "42 (a) b) R 1 42 42 0 -1 2097152 90 0 0 0 70 30 0 0 20 0 1 0 5 0 0\n";
        let expected = ProcessStat { name: "a) b".into(), parent: 1, kernel_thread: true, ticks: 100 };
        assert_eq!(parse_process_stat(stat), Some(expected));
    }

    proptest! {
        #[test]
        fn never_panics(text in "[0-9a-z() ]{0,80}") {
            parse_process_stat(&text);
        }
    }
}
