//! Resources that a system under test used during a measurement: the server's part of the cost of an operation.
//!
//! Figures are read by process, not by thread, where the kernel keeps sums by process: the sum includes threads that
//! have ended. A process that has ended is included in its parent's account of ended children, so the sum over all
//! processes and that account is complete, unless a process ends while they are read: then they are read again. Only
//! context switches are kept by thread; those of threads that ended are lost.
//!
//! Processes count CPU time in clock ticks, threads in nanoseconds (`schedstat`). If every thread was watched to the
//! end, the sum over the threads is used.

use super::SystemUnderTest;
use super::window::Window;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tare_cpuset::observe::{self, ProcessUsage, StorageUsage};
use tare_cpuset::{CpuSet, ThreadRef};
use tare_results::covariate;
use tare_results::schema::{ThreadClass, ThreadRecord};
use tare_results::server_cost::Quantity;

/// Resources used: the sum over all processes and threads of all classes. Requests to storage are those of the devices
/// that hold the files, whichever process made them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    cpu_s: f64,
    /// In clock ticks, like `system_s`: the ratio in which `cpu_s` is divided.
    user_s: f64,
    system_s: f64,
    minor_faults: f64,
    major_faults: f64,
    read_calls: Option<f64>,
    write_calls: Option<f64>,
    read_bytes: Option<f64>,
    written_bytes: Option<f64>,
    storage_reads: Option<f64>,
    storage_writes: Option<f64>,
    storage_flushes: Option<f64>,
    voluntary_switches: f64,
    involuntary_switches: f64,
}

#[derive(Debug)]
pub(crate) struct UsageMark {
    at: Instant,
    used: Usage,
    processes: usize,
    switches: BTreeMap<ThreadRef, [u64; 2]>,
    storage: BTreeMap<(u32, u32), StorageUsage>,
}

/// Maximum number of attempts to read the accounts without a change of the processes.
const READINGS: usize = 20;

impl UsageMark {
    /// Reads the accounts; None if the system under test has no process of its own, may not be inspected, or its
    /// processes come and go too fast for a consistent sum.
    pub(crate) fn take(sut: &SystemUnderTest) -> Option<Self> {
        let root = sut.root?;
        (0..READINGS).find_map(|_| {
            let processes = sut.processes();
            let first = observe::process_usage(root).ok()?;
            let mark = Self::read(root, &first, &processes);
            let ended = observe::process_usage(root).ok()?.of_ended_children;
            (ended == first.of_ended_children && sut.processes() == processes).then_some(mark)
        })
    }

    fn read(root: i32, first: &ProcessUsage, processes: &[i32]) -> Self {
        let at = Instant::now();
        let [user_s, system_s, minor_faults, major_faults] = first.of_ended_children;
        let mut used = Usage { user_s, system_s, minor_faults, major_faults, ..Usage::default() };
        used.add_process(first, true);
        let mut switches = BTreeMap::new();
        for &pid in processes {
            if pid != root
                && let Ok(process) = observe::process_usage(pid)
            {
                used.add_process(&process, false);
            }
            switches.extend(observe::switches(pid).unwrap_or_default());
        }
        Self { at, used, processes: processes.len(), switches, storage: observe::storage_usage(root) }
    }

    /// The resources used in a measurement that began after an earlier mark and ended before this one, with the records
    /// of the threads that were watched during it. None if an account decreased: a process that ended was not waited
    /// for, and its figures were lost.
    pub(super) fn during(&self, window: &Window, before: &Self, threads: &[ThreadRecord]) -> Option<Usage> {
        let mut used = self.since(before)?;
        used.take_share(window.share(before.at, self.at));
        used.cpu_s = self.of_threads_s(before, threads, used.cpu_s).unwrap_or(used.cpu_s);
        Some(used)
    }

    fn since(&self, before: &Self) -> Option<Usage> {
        let (now, then) = (&self.used, &before.used);
        // Sums of ticks are rounded: a slightly negative difference counts as zero.
        let grown = |now: f64, then: f64| (now - then > -1e-6).then(|| (now - then).max(0.0));
        let known = |now: Option<f64>, then: Option<f64>| grown(now?, then?);
        let of_kind = |kind: usize| -> f64 {
            let grown = |(thread, now): (&ThreadRef, &[u64; 2])| {
                now[kind].saturating_sub(before.switches.get(thread).map_or(0, |then| then[kind])) as f64
            };
            self.switches.iter().map(grown).sum()
        };
        let requests = |of: fn(&StorageUsage) -> Option<f64>| {
            let of_device =
                |(device, now): (&(u32, u32), &StorageUsage)| grown(of(now)?, of(before.storage.get(device)?)?);
            self.storage.iter().filter_map(of_device).reduce(|a, b| a + b)
        };
        let (user_s, system_s) = (grown(now.user_s, then.user_s)?, grown(now.system_s, then.system_s)?);
        Some(Usage {
            cpu_s: user_s + system_s,
            user_s,
            system_s,
            minor_faults: grown(now.minor_faults, then.minor_faults)?,
            major_faults: grown(now.major_faults, then.major_faults)?,
            read_calls: known(now.read_calls, then.read_calls),
            write_calls: known(now.write_calls, then.write_calls),
            read_bytes: known(now.read_bytes, then.read_bytes),
            written_bytes: known(now.written_bytes, then.written_bytes),
            storage_reads: requests(|of| Some(of.reads)),
            storage_writes: requests(|of| Some(of.writes)),
            storage_flushes: requests(|of| of.flushes),
            voluntary_switches: of_kind(0),
            involuntary_switches: of_kind(1),
        })
    }

    /// Exact CPU time of the server's threads. None if one of them was not watched, or if the ticks exceed the sum by
    /// more than their rounding: then threads began and ended unseen.
    fn of_threads_s(&self, before: &Self, threads: &[ThreadRecord], ticks_s: f64) -> Option<f64> {
        let of_server = threads.iter().filter(|thread| thread.class != ThreadClass::Client);
        let spent: BTreeMap<u32, Option<f64>> =
            of_server.map(|thread| (thread.tid, thread.schedule.map(|spent| spent.ran_s))).collect();
        let known = |thread: &ThreadRef| spent.contains_key(&thread.tid.unsigned_abs());
        if spent.is_empty() || !self.switches.keys().chain(before.switches.keys()).all(known) {
            return None;
        }
        let ran_s = spent.into_values().sum::<Option<f64>>()?;
        let tick_s = 1.0 / rustix::param::clock_ticks_per_second() as f64;
        // User and kernel time of each process, and of its ended children, are each rounded down to a whole tick.
        let steps = 2 * (1 + self.processes.max(before.processes));
        (ticks_s - ran_s <= steps as f64 * tick_s).then_some(ran_s)
    }
}

impl Usage {
    fn add_process(&mut self, process: &ProcessUsage, first: bool) {
        self.user_s += process.user_s;
        self.system_s += process.system_s;
        self.minor_faults += process.minor_faults;
        self.major_faults += process.major_faults;
        let sum = |all: Option<f64>, one: Option<f64>| if first { one } else { Some(all? + one?) };
        self.read_calls = sum(self.read_calls, process.read_calls);
        self.write_calls = sum(self.write_calls, process.write_calls);
        self.read_bytes = sum(self.read_bytes, process.read_bytes);
        self.written_bytes = sum(self.written_bytes, process.written_bytes);
    }

    /// Adds a later measurement of the same sample.
    pub(crate) fn add(&mut self, later: &Self) {
        let mut later = *later;
        self.always().into_iter().zip(later.always()).for_each(|(sum, more)| *sum += *more);
        let both = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
        self.if_known().into_iter().zip(later.if_known()).for_each(|(sum, more)| *sum = both(*sum, *more));
    }

    pub(super) fn take_share(&mut self, share: f64) {
        self.always().into_iter().for_each(|value| *value *= share);
        self.if_known().into_iter().flatten().for_each(|value| *value *= share);
    }

    fn always(&mut self) -> [&mut f64; 7] {
        let Self { cpu_s, user_s, system_s, minor_faults, major_faults, .. } = self;
        let (voluntary, involuntary) = (&mut self.voluntary_switches, &mut self.involuntary_switches);
        [cpu_s, user_s, system_s, minor_faults, major_faults, voluntary, involuntary]
    }

    fn if_known(&mut self) -> [&mut Option<f64>; 7] {
        let Self { read_calls, write_calls, read_bytes, written_bytes, .. } = self;
        let Self { storage_reads, storage_writes, storage_flushes, .. } = self;
        [read_calls, write_calls, read_bytes, written_bytes, storage_reads, storage_writes, storage_flushes]
    }

    /// One quantity in the unit of its metric; None if it could not be read.
    pub(crate) fn of(&self, quantity: Quantity) -> Option<f64> {
        const MICRO: f64 = 1e6;
        // Without a tick the division into user and system time is unknown.
        let part = |of_ticks_s: f64| match self.user_s + self.system_s {
            ticks_s if ticks_s > 0.0 => Some(MICRO * self.cpu_s * of_ticks_s / ticks_s),
            _ => (self.cpu_s == 0.0).then_some(0.0),
        };
        Some(match quantity {
            Quantity::Cpu => MICRO * self.cpu_s,
            Quantity::User => part(self.user_s)?,
            Quantity::System => part(self.system_s)?,
            Quantity::Switches => self.voluntary_switches + self.involuntary_switches,
            Quantity::VoluntarySwitches => self.voluntary_switches,
            Quantity::InvoluntarySwitches => self.involuntary_switches,
            Quantity::ReadCalls => self.read_calls?,
            Quantity::WriteCalls => self.write_calls?,
            Quantity::StorageReads => self.storage_reads?,
            Quantity::StorageWrites => self.storage_writes?,
            Quantity::StorageFlushes => self.storage_flushes?,
            Quantity::Read => self.read_bytes?,
            Quantity::Written => self.written_bytes?,
            Quantity::MinorFaults => self.minor_faults,
            Quantity::MajorFaults => self.major_faults,
        })
    }
}

/// CPU migrations and context switches by class of thread.
pub(super) fn switches(threads: &[ThreadRecord]) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    for class in [ThreadClass::Client, ThreadClass::Connection, ThreadClass::Background] {
        let of_class = || threads.iter().filter(move |t| t.class == class);
        let mut add = |what: &str, sum: u64| found.insert(format!("{}_{what}", class.side()), sum as f64);
        add("migrations", of_class().map(|t| t.migrations).sum());
        add("voluntary_switches", of_class().map(|t| t.voluntary_switches).sum());
        add("involuntary_switches", of_class().map(|t| t.involuntary_switches).sum());
    }
    found
}

/// CPU time of the clients relative to the most that they can get, and the share of their time that they waited for a
/// CPU; for spinning clients, the total time spent spinning, which does not count as CPU time that they need. Empty
/// without clients, or if the kernel does not report their times.
pub(super) fn covariates(threads: &[ThreadRecord], spun: Option<Duration>) -> BTreeMap<String, f64> {
    let clients: Vec<_> = threads
        .iter()
        .filter(|thread| thread.class == ThreadClass::Client)
        .filter_map(|thread| Some((thread.schedule?, &thread.allowed_cpus)))
        .collect();
    let spun_s = spun.map(|spun| spun.as_secs_f64());
    let mut found: BTreeMap<_, _> = spun_s.map(|s| (covariate::CLIENT_SPUN.to_owned(), s)).into_iter().collect();
    let length = |s: &tare_results::schema::ScheduleRecord| s.ran_s + s.waited_s + s.slept_s;
    let longest_s = clients.iter().map(|(schedule, _)| length(schedule)).fold(0.0, f64::max);
    if longest_s <= 0.0 {
        return found;
    }
    // A thread uses at most one CPU at a time, and all threads together at most their allowed CPUs.
    let busiest = clients.iter().map(|(schedule, _)| schedule.ran_s / longest_s).fold(0.0, f64::max);
    let all: f64 = clients.iter().map(|(schedule, _)| schedule.ran_s).sum();
    let cpus = clients.iter().flat_map(|(_, allowed)| allowed.iter()).collect::<CpuSet>().iter().count().max(1);
    let together = all / longest_s / cpus as f64;
    let waited: f64 = clients.iter().map(|(schedule, _)| schedule.waited_s).sum();
    // All clients spin for about the same time, whether they have a CPU or not.
    let needed = (1.0 - spun_s.unwrap_or(0.0) / (all + waited).max(f64::MIN_POSITIVE)).max(0.0);
    found.insert("client_busy_fraction".to_owned(), busiest.max(together) * needed);
    let time: f64 = clients.iter().map(|(schedule, _)| length(schedule)).sum();
    found.insert("client_waited_for_cpu_fraction".to_owned(), waited / time);
    found
}

#[cfg(test)]
mod tests {
    use super::super::LoadAround;
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};
    use tare_results::schema::ScheduleRecord;

    #[test]
    fn usage_of_an_ended_child_stays_in_the_sum() {
        // The shell reads a line, waits for a child that uses CPU time and ends, then prints "done".
        let burn = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
        let script = format!("read x; sh -c '{burn}'; echo done; read y");
        let mut shell =
            Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let sut = SystemUnderTest::running(Some(shell.id().cast_signed()));
        let before = UsageMark::take(&sut).unwrap();
        let mut input = shell.stdin.take().unwrap();
        input.write_all(b"go\n").unwrap();
        let mut reported = [0; 5];
        std::io::Read::read_exact(&mut shell.stdout.take().unwrap(), &mut reported).unwrap();
        let used = UsageMark::take(&sut).unwrap().since(&before).unwrap();
        input.write_all(b"end\n").unwrap();
        shell.wait().unwrap();
        // In microseconds; sixty thousand iterations of a shell take longer than two ticks anywhere.
        assert!(used.of(Quantity::Cpu).unwrap() >= 20_000.0, "{used:?}");
        let [all, user, system] = [Quantity::Cpu, Quantity::User, Quantity::System].map(|q| used.of(q).unwrap());
        assert!((all - user - system).abs() < 1e-3, "{used:?}");
        assert!(used.of(Quantity::MinorFaults).unwrap() > 10.0, "{used:?}");
        assert!(used.of(Quantity::VoluntarySwitches).unwrap() >= 1.0, "it waited: {used:?}");
        assert!(UsageMark::take(&sut).is_none(), "it has ended");
        assert!(before.since(&before).is_some_and(|none| none.of(Quantity::Cpu) == Some(0.0)));
        let mut twice = used;
        twice.add(&used);
        assert_eq!(twice.of(Quantity::MinorFaults), used.of(Quantity::MinorFaults).map(|n| 2.0 * n));
    }

    #[test]
    fn what_a_load_that_goes_on_used_is_that_of_the_measurement() {
        let sut = SystemUnderTest::running(Some(std::process::id().cast_signed()));
        let first = UsageMark::take(&sut).unwrap();
        let spin = || {
            let until = Instant::now() + Duration::from_millis(100);
            while Instant::now() < until {}
            Instant::now()
        };
        let [began, ended, _] = [spin(), spin(), spin()];
        let last = UsageMark::take(&sut).unwrap();
        let used = |load| last.during(&Window { began, ended, load }, &first, &[]).unwrap().of(Quantity::Cpu).unwrap();
        let share = used(LoadAround::GoesOn) / used(LoadAround::Idle);
        assert!((0.25..0.36).contains(&share), "{share}");
    }

    #[test]
    fn processes_that_end_during_a_reading_are_still_counted() {
        // An endless series of children that use some CPU time and end.
        let script = "while :; do sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done' & sh -c : & wait; done";
        let mut shell = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let sut = SystemUnderTest::running(Some(shell.id().cast_signed()));
        let marks: Vec<UsageMark> = (0..300).filter_map(|_| UsageMark::take(&sut)).collect();
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert!(marks.len() > 50, "{}", marks.len());
        let back = marks.windows(2).filter(|pair| pair[1].since(&pair[0]).is_none()).count();
        assert_eq!(back, 0, "of {}", marks.len());
        let all = marks[marks.len() - 1].since(&marks[0]).unwrap();
        assert!(all.of(Quantity::Cpu).unwrap() > 0.0, "{all:?}");
    }

    /// Even if the threads ran for less than a tick; the time of unwatched threads is included only in the ticks.
    #[test]
    fn cpu_time_is_summed_over_threads_if_all_of_them_were_watched() {
        let mut shell = Command::new("sh").args(["-c", "read x"]).stdin(Stdio::piped()).spawn().unwrap();
        let sut = SystemUnderTest::running(Some(shell.id().cast_signed()));
        // Its program may still be starting, and so use a tick.
        let before = UsageMark::take(&sut).unwrap();
        let mut now = UsageMark { used: before.used, ..UsageMark::take(&sut).unwrap() };
        shell.kill().unwrap();
        shell.wait().unwrap();
        let all = Window { began: before.at, ended: now.at, load: LoadAround::Idle };
        let client = thread(ThreadClass::Client, "0", 9.0, 0.0);
        let server = ThreadRecord { tid: shell.id(), ..thread(ThreadClass::Background, "0", 0.0031, 0.0) };
        let cpu_us = |now: &UsageMark, threads: &[ThreadRecord]| {
            let used = now.during(&all, &before, threads).unwrap();
            [Quantity::Cpu, Quantity::User].map(|quantity| used.of(quantity).map(f64::round))
        };
        let watched = [client.clone(), server];
        assert_eq!(cpu_us(&now, &watched), [Some(3100.0), None], "no tick divides the time");
        assert_eq!(cpu_us(&now, &[client]), [Some(0.0), Some(0.0)], "in ticks");
        now.used.user_s += 0.01;
        now.used.system_s += 0.01;
        assert_eq!(cpu_us(&now, &watched), [Some(3100.0), Some(1550.0)], "two steps of ticks");
        now.used.user_s += 0.5;
        assert_eq!(cpu_us(&now, &watched), [Some(520_000.0), Some(510_000.0)], "others ran too");
    }

    fn thread(class: ThreadClass, allowed: &str, ran_s: f64, waited_s: f64) -> ThreadRecord {
        let schedule = Some(ScheduleRecord { ran_s, waited_s, slept_s: 10.0 - ran_s - waited_s });
        ThreadRecord {
            class,
            pair: None,
            pid: 1,
            tid: 1,
            name: String::new(),
            allowed_cpus: allowed.parse().unwrap(),
            seen_cpus: BTreeMap::new(),
            migrations: 0,
            voluntary_switches: 0,
            involuntary_switches: 0,
            user_s: 0.0,
            system_s: 0.0,
            schedule,
        }
    }

    #[test]
    fn client_busy_time_is_relative_to_one_thread_or_to_all_client_cpus() {
        use ThreadClass::{Client, Connection};
        let of = |threads: &[ThreadRecord]| {
            let found = covariates(threads, None);
            let get = |name: &str| found.get(name).map(|value| (value * 1000.0).round() / 1000.0);
            (get("client_busy_fraction"), get("client_waited_for_cpu_fraction"))
        };
        let server = thread(Connection, "0-1", 9.9, 0.0);
        assert_eq!(of(std::slice::from_ref(&server)), (None, None), "only clients count");
        assert_eq!(
            of(&[thread(Client, "0-7", 9.5, 0.0), thread(Client, "0-7", 1.0, 0.0), server]),
            (Some(0.95), Some(0.0))
        );
        let four = [2.4; 4].map(|ran| thread(Client, "3", ran, 6.0));
        assert_eq!(of(&four), (Some(0.96), Some(0.6)), "four threads share a PU");
        assert_eq!(of(&[2.4; 4].map(|ran| thread(Client, "0-3", ran, 0.0))), (Some(0.24), Some(0.0)));
        // Two clients that spin most of the time need only the rest.
        let spinning = [8.0; 2].map(|ran| thread(Client, "0-7", ran, 2.0));
        let found = covariates(&spinning, Some(Duration::from_secs(12)));
        assert!((found["client_busy_fraction"] - 0.32).abs() < 1e-9 && found["client_spun_s"] == 12.0, "{found:?}");
    }
}
