//! The identity of one trial: `clients / throughput` is the sum of its parts. Two of them are computed here.
//!
//! Waits for a CPU that another program used. While one thread waits, another one runs: a thread of the benchmark that
//! may use the same CPUs, or another program, each in proportion to its CPU time there.
//!
//! Time for which a CPU quota stopped the clients: a stopped thread is runnable, so the kernel counts its time in the
//! run-queue delay of `schedstat`, together with waits for a CPU. It counts the stops themselves per CPU and not per
//! thread (`throttled_usec` of `cpu.stat`).

use super::part::{Missing, Part};
use super::waited;
use std::collections::{BTreeMap, BTreeSet};
use tare_cpuset::CpuSet;
use tare_results::captures::Captures;
use tare_results::covariate::{CLIENT_HOST, CLIENT_SPUN};
use tare_results::metric::TPS;
use tare_results::schema::{PlannedCondition, SampleRecord, ThreadClass, ThreadRecord, TrialRecord};
use tare_results::server::ServerRecord;
use tare_results::server_cost::{Operation, Quantity, ServerCost};

/// CPU time of other programs on the benchmark's CPUs.
const FOREIGN: &str = "foreign_cpu_s";

/// Seconds for which the threads of one class waited for CPUs that other programs used; `clients_apart`: the clients
/// run on another host.
fn waited_for_strangers_s(sample: &SampleRecord, class: ThreadClass, clients_apart: bool) -> f64 {
    let on_clients_host = clients_apart && class == ThreadClass::Client;
    let foreign_s = foreign_s(sample, on_clients_host);
    if foreign_s <= 0.0 {
        return 0.0;
    }
    let here = |thread: &&ThreadRecord| !clients_apart || (thread.class == ThreadClass::Client) == on_clients_host;
    let places = Places::of(sample.threads.iter().filter(here));
    let of_class = sample.threads.iter().filter(|thread| thread.class == class);
    of_class.map(|thread| places.waited_for_strangers_s(thread, foreign_s)).sum()
}

/// CPU time of the benchmark's threads on one host, by the CPUs that they may use.
struct Places<'s> {
    ran_s: BTreeMap<&'s CpuSet, f64>,
    all: CpuSet,
}

impl<'s> Places<'s> {
    fn of(threads: impl Iterator<Item = &'s ThreadRecord>) -> Self {
        let (mut ran_s, mut all) = (BTreeMap::new(), CpuSet::default());
        for thread in threads {
            let seen: &mut f64 = ran_s.entry(&thread.allowed_cpus).or_insert_with(|| {
                all = all.union(&thread.allowed_cpus);
                0.0
            });
            *seen += thread_waited_for_strangers_s(thread);
        }
        Self { ran_s, all }
    }

    /// The part of a thread's waits that is due to other programs: at most the time that these ran on its CPUs.
    fn waited_for_strangers_s(&self, thread: &ThreadRecord, foreign_s: f64) -> f64 {
        let waited_s = thread.schedule.map_or(0.0, |spent| spent.waited_s);
        let own = &thread.allowed_cpus;
        let by_strangers_s = foreign_s * self.part(&self.all, own);
        let by_own_s: f64 = self.ran_s.iter().map(|(cpus, ran_s)| ran_s * self.part(cpus, own)).sum();
        // A thread does not wait for itself.
        let others_s = (by_own_s - thread_waited_for_strangers_s(thread)).max(0.0) + by_strangers_s;
        if others_s > 0.0 { (waited_s * by_strangers_s / others_s).min(by_strangers_s) } else { 0.0 }
    }

    /// Share of `cpus` that lies in `own`; an unknown set counts as all CPUs.
    fn part(&self, cpus: &CpuSet, own: &CpuSet) -> f64 {
        let cpus = if cpus.is_empty() { &self.all } else { cpus };
        if cpus.is_empty() || own.is_empty() || cpus == own {
            return 1.0;
        }
        cpus.intersection(own).len() as f64 / cpus.len() as f64
    }
}

fn thread_waited_for_strangers_s(thread: &ThreadRecord) -> f64 {
    thread.schedule.map_or(thread.user_s + thread.system_s, |spent| spent.ran_s)
}

pub(super) fn foreign_s(sample: &SampleRecord, on_clients_host: bool) -> f64 {
    let of = |name: &str| sample.covariates.get(name).copied().filter(|s| s.is_finite()).unwrap_or(0.0).max(0.0);
    if on_clients_host { of(&format!("{CLIENT_HOST}{FOREIGN}")) } else { of(FOREIGN) }
}

/// Covariate: seconds for which the clients' control group was stopped, summed over the CPUs on which it was.
const STOPPED: &str = "client_throttled_s";
/// Covariate: fraction of the quota's periods in which it was used up.
const PERIODS: &str = "client_throttled_fraction";

/// Seconds of the clients' time in one sample, summed over clients, that their quota took.
///
/// Every CPU on which the threads are is stopped with all threads there: `threads` per CPU. The CPUs on which they were
/// follow from the time that was used, stopped, or used by other programs there. While the quota is used up, the kernel
/// does not spread threads over idle CPUs; if more of them were on a CPU than on all CPUs evenly, their waits for each
/// other are due to the quota too.
fn quota_took_s(sample: &SampleRecord, clients: usize) -> f64 {
    let of = |name: &str| sample.covariates.get(name).copied().filter(|value| value.is_finite() && *value > 0.0);
    let Some(stopped_s) = of(STOPPED) else { return 0.0 };
    let [mut ran_s, mut waited_s] = [0.0; 2];
    let mut has_waits = true;
    for thread in sample.threads.iter().filter(|thread| thread.class != ThreadClass::Background) {
        ran_s += thread_waited_for_strangers_s(thread);
        waited_s += thread.schedule.map_or(0.0, |spent| spent.waited_s);
        has_waits &= thread.schedule.is_some();
    }
    let all_s = clients as f64 * sample.elapsed_s;
    // A client and the thread that serves it take turns, so both are no more than one runnable thread. Without their
    // waits, clients count as never asleep.
    let runnable_s = if has_waits { all_s.min(ran_s + waited_s) } else { all_s };
    let most_cpus_s = cpus(sample, clients) * sample.elapsed_s;
    // Other programs use the CPUs while they are stopped, and only the rest of that keeps the threads waiting.
    let others_s = (foreign_s(sample, false) - stopped_s).max(0.0);
    let threads = (runnable_s / most_cpus_s.min(ran_s + stopped_s + others_s)).max(1.0);
    let threads_evenly = (runnable_s / most_cpus_s).max(1.0);
    let crowded_s = (threads - threads_evenly).max(0.0) * ran_s * of(PERIODS).unwrap_or(0.0).min(1.0);
    (threads * stopped_s + crowded_s).min((runnable_s - ran_s).max(0.0))
}

/// The CPUs that the threads can use at once: at most one for each client.
fn cpus(sample: &SampleRecord, clients: usize) -> f64 {
    let threads = sample.threads.iter().filter(|thread| thread.class != ThreadClass::Background);
    let allowed = threads.fold(CpuSet::default(), |all, thread| all.union(&thread.allowed_cpus));
    let most = if allowed.is_empty() { usize::MAX } else { allowed.len() };
    clients.min(most).max(1) as f64
}

/// Where the time of one trial's transactions went, microseconds per transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialTime<'r> {
    pub trial: &'r TrialRecord,
    pub clients: usize,
    /// Clients / throughput: the wall-clock time of a transaction.
    pub us: f64,
    /// All parts, including the unexplained one: they add up to `us`.
    pub parts: BTreeMap<Part, f64>,
    /// Waits for a CPU that are in no part, because they overlap with another part: see `WAITS`.
    pub overlap_us: f64,
    /// CPU time of lock retries, which is counted only in the part of that lock.
    pub retries_us: f64,
    /// CPU time of clients that spin while they wait for an answer, which is therefore no part; none for clients that
    /// sleep.
    pub spun_us: Option<f64>,
    /// CPU time of the server's threads that serve no connection. They run at the same time, so it is no part.
    pub background_us: f64,
    /// Voluntary context switches of both sides, per transaction.
    pub switches: f64,
    /// Share of the connections' CPU time on another node than the server's memory; none if unknown, and with one node.
    pub away_from_memory: Option<f64>,
    /// Data that the trial's record lacks.
    pub missing: BTreeSet<Missing>,
    /// Whether the server's parts are those of all its threads together, because a pool serves the connections.
    pub has_pool: bool,
}

/// Totals over the samples of a trial, seconds and counts.
#[derive(Default)]
struct Sums {
    transactions: f64,
    wall_s: f64,
    clients: usize,
    client: Side,
    /// The threads that serve connections; of a server with a pool, all of its threads.
    server: Side,
    has_pool: bool,
    background_s: f64,
    /// Waits of the clients and of the server for CPUs that other programs used.
    for_strangers_s: [f64; 2],
    /// Clients' time that the quota of their control group took.
    throttled_s: f64,
    /// How long clients spun while they waited for an answer, if they spin.
    spun_s: Option<f64>,
}

/// A part of a transaction above this, microseconds, is no time: squared, in an interval, it would be infinite.
const MOST_US: f64 = 1e100;

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

    /// User and kernel time: the scheduler's nanoseconds, divided in the proportion of the clock ticks.
    fn on_cpu(&self) -> [f64; 2] {
        let ticks = self.user_s + self.system_s;
        let user = if ticks > 0.0 { self.user_s / ticks } else { 1.0 };
        [self.ran_s * user, self.ran_s * (1.0 - user)]
    }
}

impl Sums {
    fn of(trial: &TrialRecord, planned: Option<&PlannedCondition>) -> Self {
        let mut sums = Self { has_pool: has_pool(trial), ..Self::default() };
        let serving = if sums.has_pool { ThreadClass::Background } else { ThreadClass::Connection };
        let mut processes_s = sums.has_pool.then_some([0.0; 2]);
        for sample in &trial.samples {
            let clients = clients(trial, sample, planned);
            let Some(tps) = sample.metrics.get(TPS.name()).filter(|_| clients > 0) else { continue };
            sums.transactions += tps * sample.elapsed_s;
            sums.wall_s += clients as f64 * sample.elapsed_s;
            sums.clients = clients;
            sums.client.add(sample, ThreadClass::Client);
            sums.server.add(sample, serving);
            let all = processes_s.zip(of_processes_s(sample, tps * sample.elapsed_s));
            processes_s =
                all.map(|([user, system], [more_user, more_system])| [user + more_user, system + more_system]);
            let is_background = |class: ThreadClass| class == ThreadClass::Background && class != serving;
            let background = sample.threads.iter().filter(|thread| is_background(thread.class));
            if let Some(spun_s) = sample.covariates.get(CLIENT_SPUN) {
                *sums.spun_s.get_or_insert(0.0) += spun_s;
            }
            sums.background_s += background.map(|thread| thread.user_s + thread.system_s).sum::<f64>();
            sums.throttled_s += quota_took_s(sample, clients);
            let sides = [ThreadClass::Client, serving].into_iter();
            for (side, class) in sums.for_strangers_s.iter_mut().zip(sides) {
                *side += waited_for_strangers_s(sample, class, trial.client_host.is_some());
            }
        }
        if let Some([user_s, system_s]) = processes_s {
            let threads = std::mem::take(&mut sums.server);
            sums.server = Side { ran_s: user_s + system_s, user_s, system_s, ..threads };
        }
        sums.leave_out_spinning();
        sums
    }
}

/// User and kernel time of the server's processes. It includes threads that a pool starts or ends within the sample,
/// which are in no record of threads.
fn of_processes_s(sample: &SampleRecord, transactions: f64) -> Option<[f64; 2]> {
    let of = |quantity: Quantity| {
        let cost = ServerCost::of(quantity)?.metric(Operation::Transaction);
        sample.metrics.get(cost.name()).map(|us| us * 1e-6 * transactions)
    };
    Some([of(Quantity::User)?, of(Quantity::System)?])
}

impl Sums {
    /// A spinning client waits, as if it were asleep; the same holds for a spinning client while another thread uses
    /// its CPU.
    fn leave_out_spinning(&mut self) {
        let Some(spun_s) = &mut self.spun_s else { return };
        let awake_s = self.client.ran_s + self.client.waited_s;
        let own = if awake_s > 0.0 { (1.0 - *spun_s / awake_s).max(0.0) } else { 1.0 };
        *spun_s = self.client.ran_s * (1.0 - own);
        self.client.ran_s *= own;
        self.client.waited_s *= own;
        self.for_strangers_s[0] *= own;
    }
}

/// Whether the threads of a pool serve the connections: then no thread belongs to one of them, and only all threads of
/// the server together are known.
fn has_pool(trial: &TrialRecord) -> bool {
    let serving = |sample: &SampleRecord| sample.threads.iter().any(|thread| thread.class == ThreadClass::Connection);
    trial.server.as_ref().is_some_and(ServerRecord::has_thread_pool) && !trial.samples.iter().any(serving)
}

/// The key of a study for the number of connections.
const THREADS: &str = "workload.threads";

/// The clients whose time is divided: one for each connection of the plan. A program has threads that serve no
/// connection, and may serve several in one thread. Without a plan, or without a server, the observed threads count.
fn clients(trial: &TrialRecord, sample: &SampleRecord, planned: Option<&PlannedCondition>) -> usize {
    let seen = || sample.threads.iter().filter(|thread| thread.class == ThreadClass::Client);
    let has_server = trial.server_version.is_some() || sample.threads.len() > seen().count();
    let connections =
        planned.filter(|_| has_server).and_then(|planned| planned.settings.get(THREADS)?.whole(1, usize::MAX).ok());
    match (seen().count(), seen().filter(|thread| thread.pair.is_some()).count()) {
        (0, _) => 0,
        (all, 0) => connections.unwrap_or(all),
        (_, paired) => connections.unwrap_or(paired),
    }
}

impl<'r> TrialTime<'r> {
    /// From a trial whose client threads were observed while they ran transactions; none for others.
    pub fn of(trial: &'r TrialRecord, captures: Option<&Captures>) -> Option<Self> {
        Self::of_planned(trial, captures, None)
    }

    /// As [`TrialTime::of`], with the number of connections from the plan.
    pub fn of_planned(
        trial: &'r TrialRecord,
        captures: Option<&Captures>,
        planned: Option<&PlannedCondition>,
    ) -> Option<Self> {
        let sums = Sums::of(trial, planned);
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
        for ((part, side), strangers_s) in [(Part::ClientWaited, &sums.client), (Part::ServerWaited, &sums.server)]
            .into_iter()
            .zip(sums.for_strangers_s)
        {
            if side.threads > 0 && !side.without_schedule {
                parts.insert(part, of_one(side.waited_s - strangers_s));
                if strangers_s > 0.0 {
                    *parts.entry(Part::OtherPrograms).or_default() += of_one(strangers_s);
                }
            }
        }
        if sums.throttled_s > 0.0 {
            // The kernel counts a runnable thread that is stopped as one that waits for a CPU.
            reduce(&mut parts, &WAITS, of_one(sums.throttled_s));
            parts.insert(Part::Throttled, of_one(sums.throttled_s));
        }
        waited::add(&mut parts, &mut missing, captures, trial.server_version.as_deref(), sums.clients as f64, us);
        let overlap_us = take_out(&mut parts, us, &WAITS, f64::INFINITY);
        // With a client that retries for a lock, the wait for the lock includes the CPU time of the retries.
        let retries_us = take_out(&mut parts, us, &Part::WORK, us * waited::retried(captures));
        let clients_us = of_one(sums.client.ran_s + sums.client.waited_s);
        if let Some(share) = waited::asleep_for_clients(captures) {
            // The server sleeps while its client works; during the rest of that sleep both sides are asleep.
            let rest_us = us - parts.values().sum::<f64>();
            parts.insert(Part::Way, (us * share - clients_us).clamp(0.0, rest_us.max(0.0)));
        }
        parts.insert(Part::NotExplained, us - parts.values().sum::<f64>());
        if !parts.values().all(|us| us.abs() < MOST_US) {
            return None;
        }
        Some(Self {
            trial,
            clients: sums.clients,
            us,
            parts,
            overlap_us,
            retries_us,
            spun_us: sums.spun_s.map(of_one),
            background_us: of_one(sums.background_s),
            switches: (sums.client.switches + sums.server.switches) / sums.transactions,
            away_from_memory: None,
            missing,
            has_pool: sums.has_pool,
        })
    }

    /// Microseconds of one part; 0 if there is none.
    pub fn part(&self, part: &Part) -> f64 {
        self.parts.get(part).copied().unwrap_or(0.0)
    }
}

/// Parts that may be counted twice if the parts exceed the whole: a runnable thread without a CPU delays nothing while
/// its partner still runs, and a wait for a lock, as servers count it, ends only when the thread has a CPU again.
const WAITS: [Part; 3] = [Part::ClientWaited, Part::ServerWaited, Part::OtherPrograms];

/// Removes the excess of all parts over the whole from `these`, proportionally, at most `most`. Returns the removed
/// amount.
fn take_out(parts: &mut BTreeMap<Part, f64>, us: f64, these: &[Part], most: f64) -> f64 {
    let excess = parts.values().sum::<f64>() - us;
    reduce(parts, these, excess.min(most))
}

/// Removes this amount from `these`, proportionally, at most all of it. Returns the removed amount.
fn reduce(parts: &mut BTreeMap<Part, f64>, these: &[Part], by: f64) -> f64 {
    let have: f64 = these.iter().filter_map(|part| parts.get(part)).sum();
    let taken = by.min(have);
    // An empty sum is -0.
    if taken <= 0.0 {
        return 0.0;
    }
    for part in these {
        parts.entry(part.clone()).and_modify(|one| *one *= 1.0 - taken / have);
    }
    taken
}
