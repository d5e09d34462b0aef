//! The identity of one trial: `clients / throughput` is the sum of its parts.

use super::part::{Missing, Part};
use super::waited;
use std::collections::{BTreeMap, BTreeSet};
use tare_results::captures::Captures;
use tare_results::covariate::CLIENT_HOST;
use tare_results::metric::TPS;
use tare_results::schema::{SampleRecord, ThreadClass, TrialRecord};

/// CPU time of other programs on the benchmark's CPUs.
const FOREIGN: &str = "foreign_cpu_s";

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
    /// CPU time of other programs on the host of the clients and on the server's.
    strangers_s: [f64; 2],
}

/// The threads of one class, seconds and counts.
#[derive(Default)]
struct Side {
    /// Threads, once for each sample.
    threads: usize,
    /// Samples that have any.
    samples: usize,
    ran_s: f64,
    user_s: f64,
    system_s: f64,
    waited_s: f64,
    without_schedule: bool,
    switches: f64,
}

impl Side {
    fn add(&mut self, sample: &SampleRecord, class: ThreadClass) {
        self.samples += usize::from(sample.threads.iter().any(|thread| thread.class == class));
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

    /// Of its waits for a CPU those in which another program had it, seconds. While one thread waits, another one runs:
    /// one of the benchmark's or a stranger's, each as often as it uses the CPUs. `alongside_s` is the CPU time of the
    /// benchmark's threads of other classes there.
    fn waited_for_strangers_s(&self, alongside_s: f64, strangers_s: f64) -> f64 {
        // A thread does not wait for itself.
        let one = (self.samples as f64 / self.threads.max(1) as f64).min(1.0);
        let others_s = self.ran_s * (1.0 - one) + alongside_s + strangers_s;
        if others_s > 0.0 { self.waited_s * strangers_s / others_s } else { 0.0 }
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
            let seen = strangers_s(sample, trial.client_host.is_some());
            sums.strangers_s = [0, 1].map(|side| sums.strangers_s[side] + seen[side]);
        }
        sums
    }

    /// Waits of the clients and of the server for CPUs that strangers had, seconds.
    fn waits_for_strangers_s(&self, clients_apart: bool) -> [f64; 2] {
        // What else of the benchmark runs on the host of a side.
        let server_s = self.server.ran_s + self.background_s;
        let [by_client, by_server] = if clients_apart { [0.0, 0.0] } else { [server_s, self.client.ran_s] };
        [
            self.client.waited_for_strangers_s(by_client, self.strangers_s[0]),
            self.server.waited_for_strangers_s(by_server + self.background_s, self.strangers_s[1]),
        ]
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
        if sums.server.threads == 0 {
            missing.insert(Missing::ServerThreads);
        } else {
            let [user, system] = sums.server.on_cpu();
            parts.extend([(Part::ServerUser, of_one(user)), (Part::ServerSystem, of_one(system))]);
        }
        let by_strangers = sums.waits_for_strangers_s(trial.client_host.is_some());
        for ((part, side), strangers_s) in
            [(Part::ClientWaited, &sums.client), (Part::ServerWaited, &sums.server)].into_iter().zip(by_strangers)
        {
            if side.threads > 0 && !side.without_schedule {
                parts.insert(part, of_one(side.waited_s - strangers_s));
                if strangers_s > 0.0 {
                    *parts.entry(Part::Strangers).or_default() += of_one(strangers_s);
                }
            }
        }
        waited::add(&mut parts, &mut missing, captures, sums.clients as f64, us);
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

/// CPU time of other programs during a sample, seconds: on the host of the clients, and on the server's.
fn strangers_s(sample: &SampleRecord, clients_apart: bool) -> [f64; 2] {
    let of = |name: &str| sample.covariates.get(name).copied().filter(|s| s.is_finite()).unwrap_or(0.0).max(0.0);
    let server = of(FOREIGN);
    [if clients_apart { of(&format!("{CLIENT_HOST}{FOREIGN}")) } else { server }, server]
}

/// Parts that come to more than the whole are counted twice. A thread that can run and has no CPU while its partner
/// still runs keeps no one waiting, and a wait for a lock, as servers count it, ends when it has a CPU again: so the
/// excess is taken from the waits for a CPU, of either side as they are. What was taken.
fn take_out_overlap(parts: &mut BTreeMap<Part, f64>, us: f64) -> f64 {
    let excess = parts.values().sum::<f64>() - us;
    let waits = [Part::ClientWaited, Part::ServerWaited, Part::Strangers];
    let waited: f64 = waits.iter().filter_map(|part| parts.get(part)).sum();
    let taken = excess.min(waited).max(0.0);
    if taken > 0.0 {
        for part in &waits {
            parts.entry(part.clone()).and_modify(|wait| *wait *= 1.0 - taken / waited);
        }
    }
    taken
}
