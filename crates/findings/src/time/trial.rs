//! The identity of one trial: `clients / throughput` is the sum of its parts.

use super::part::Part;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use tare_results::captures::Captures;
use tare_results::metric::TPS;
use tare_results::schema::{SampleRecord, ThreadClass, TrialRecord};

/// InnoDB's count of the time of waits for row locks, milliseconds.
const ROW_LOCK_TIME: &str = "Innodb_row_lock_time";

/// What a trial's record does not hold, so that its time is part of what is not explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// How long threads waited for a CPU: `capture.schedule` was off, or the kernel does not tell.
    WaitsForCpu,
    /// The threads that serve the connections: the server is elsewhere, or does not name them.
    ServerThreads,
    /// Waits for row locks: no capture of the server's counters that has them.
    RowLocks,
    /// Waits for locks inside the server: no capture of them.
    Locks,
}

/// Where the time of one trial's transactions went, microseconds a transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialTime<'r> {
    /// The record that it was made from.
    pub trial: &'r TrialRecord,
    /// Client threads that were watched.
    pub clients: usize,
    /// Clients / throughput: the wall-clock time of a transaction.
    pub us: f64,
    /// All parts, what is not explained among them: they add up to `us`.
    pub parts: BTreeMap<Part, f64>,
    /// Waits for a CPU that are in no part, for the time is in another one: see `take_out_overlap`.
    pub overlap_us: f64,
    /// CPU time of the server's threads that serve no connection. They work alongside, so it is no part.
    pub background_us: f64,
    /// Times that a thread of either side gave its CPU up, a transaction.
    pub switches: f64,
    /// What its record does not hold.
    pub missing: BTreeSet<Missing>,
}

/// What the samples of a trial add up to, seconds and counts.
#[derive(Default)]
struct Sums {
    transactions: f64,
    wall_s: f64,
    clients: usize,
    client: Side,
    server: Side,
    background_s: f64,
}

/// The threads of one class, seconds and counts.
#[derive(Default)]
struct Side {
    threads: usize,
    ran_s: f64,
    user_s: f64,
    system_s: f64,
    waited_s: f64,
    without_schedule: bool,
    switches: f64,
}

impl Side {
    fn add(&mut self, sample: &SampleRecord, class: ThreadClass) {
        for thread in sample.threads.iter().filter(|thread| thread.class == class) {
            self.threads += 1;
            self.user_s += thread.user_s;
            self.system_s += thread.system_s;
            self.switches += thread.voluntary_switches as f64;
            match thread.schedule {
                Some(spent) => {
                    self.ran_s += spent.ran_s;
                    self.waited_s += spent.waited_s;
                }
                None => {
                    self.ran_s += thread.user_s + thread.system_s;
                    self.without_schedule = true;
                }
            }
        }
    }

    /// User and kernel: the scheduler's nanoseconds, divided as the clock's ticks are.
    fn on_cpu(&self) -> [f64; 2] {
        let ticks = self.user_s + self.system_s;
        let user = if ticks > 0.0 { self.user_s / ticks } else { 1.0 };
        [self.ran_s * user, self.ran_s * (1.0 - user)]
    }
}

impl Sums {
    fn of(trial: &TrialRecord) -> Self {
        let mut sums = Self::default();
        for sample in &trial.samples {
            let clients = sample.threads.iter().filter(|thread| thread.class == ThreadClass::Client).count();
            let Some(tps) = sample.metrics.get(TPS.name()).filter(|_| clients > 0) else { continue };
            sums.transactions += tps * sample.elapsed_s;
            sums.wall_s += clients as f64 * sample.elapsed_s;
            sums.clients = clients;
            sums.client.add(sample, ThreadClass::Client);
            sums.server.add(sample, ThreadClass::Connection);
            let background = sample.threads.iter().filter(|thread| thread.class == ThreadClass::Background);
            sums.background_s += background.map(|thread| thread.user_s + thread.system_s).sum::<f64>();
        }
        sums
    }
}

impl<'r> TrialTime<'r> {
    /// Of a trial whose client threads were watched while they did transactions; none of others.
    pub fn of(trial: &'r TrialRecord, captures: Option<&Captures>) -> Option<Self> {
        let sums = Sums::of(trial);
        let of_one = |seconds: f64| 1e6 * seconds / sums.transactions;
        let us = of_one(sums.wall_s);
        if !us.is_finite() || us <= 0.0 {
            return None;
        }
        let (mut parts, mut missing) = (BTreeMap::new(), BTreeSet::new());
        let [user, system] = sums.client.on_cpu();
        parts.extend([(Part::ClientUser, of_one(user)), (Part::ClientSystem, of_one(system))]);
        if sums.client.without_schedule || sums.server.without_schedule {
            missing.insert(Missing::WaitsForCpu);
        }
        if !sums.client.without_schedule {
            parts.insert(Part::ClientWaited, of_one(sums.client.waited_s));
        }
        if sums.server.threads == 0 {
            missing.insert(Missing::ServerThreads);
        } else {
            let [user, system] = sums.server.on_cpu();
            parts.extend([(Part::ServerUser, of_one(user)), (Part::ServerSystem, of_one(system))]);
            if !sums.server.without_schedule {
                parts.insert(Part::ServerWaited, of_one(sums.server.waited_s));
            }
        }
        add_waits(&mut parts, &mut missing, captures, sums.clients as f64, us);
        let overlap_us = take_out_overlap(&mut parts, us);
        parts.insert(Part::NotExplained, us - parts.values().sum::<f64>());
        Some(Self {
            trial,
            clients: sums.clients,
            us,
            parts,
            overlap_us,
            background_us: of_one(sums.background_s),
            switches: (sums.client.switches + sums.server.switches) / sums.transactions,
            missing,
        })
    }

    /// Microseconds of one part; 0 where it has none.
    pub fn part(&self, part: &Part) -> f64 {
        self.parts.get(part).copied().unwrap_or(0.0)
    }
}

/// Parts that come to more than the whole are counted twice. A thread that can run and has no CPU while its partner
/// still runs keeps no one waiting, and a wait for a lock, as servers count it, ends when it has a CPU again: so the
/// excess is taken from the waits for a CPU, of either side as they are. What was taken.
fn take_out_overlap(parts: &mut BTreeMap<Part, f64>, us: f64) -> f64 {
    let excess = parts.values().sum::<f64>() - us;
    let waits = [Part::ClientWaited, Part::ServerWaited];
    let waited: f64 = waits.iter().filter_map(|part| parts.get(part)).sum();
    let taken = excess.min(waited).max(0.0);
    if taken > 0.0 {
        for part in &waits {
            parts.entry(part.clone()).and_modify(|wait| *wait *= 1.0 - taken / waited);
        }
    }
    taken
}

/// Waits that the server told of its capture sample, as the same share of the measured samples' time.
fn add_waits(
    parts: &mut BTreeMap<Part, f64>,
    missing: &mut BTreeSet<Missing>,
    captures: Option<&Captures>,
    clients: f64,
    us: f64,
) {
    let status = captures.and_then(|captures| captures.status.as_ref());
    // A counter that did not move is left out of the differences.
    let counts_rows = |differences: &BTreeMap<String, f64>| differences.keys().any(|name| name.starts_with("Innodb_"));
    match status.filter(|status| counts_rows(&status.differences) && status.elapsed_s > 0.0) {
        Some(status) => {
            let waited_ms = status.differences.get(ROW_LOCK_TIME).copied().unwrap_or(0.0);
            parts.insert(Part::RowLock, us * waited_ms / 1000.0 / (clients * status.elapsed_s));
        }
        None => drop(missing.insert(Missing::RowLocks)),
    }
    match captures.and_then(|captures| captures.locks.as_ref()) {
        Some(locks) => {
            let waits = locks.waits.iter().filter(|wait| wait.wait_fraction > 0.0);
            parts.extend(waits.map(|wait| (Part::Lock(wait.name.clone()), us * wait.wait_fraction)));
        }
        None => drop(missing.insert(Missing::Locks)),
    }
}
