//! Suspects about the server's memory, about kernel time, and about waits without a name.
//!
//! Counts distinguish those of the last two: a context switch belongs to a write
//! of the log, to a read of a file, or else to threads that wake each other.

use super::suspect::{Accused, Suspect, sum};
use super::trials::{Counts, FALSE_DISCOVERIES, Trials, cost_of};
use crate::time::{Counted, Event, EventSide, Part, TrialTime, events_of_trial};
use std::ops::RangeInclusive;
use tare_results::Results;
use tare_results::captures::{StatusFile, WAL_FSYNCS};
use tare_results::covariate::{HUGE_POOL, HUGE_TRANSPARENT, NUMA_HINT_FAULTS, SERVER_MEMORY};
use tare_results::metric::TPS;
use tare_results::server_cost::Quantity;

/// Minimum difference in the share of the server's work on another node than its memory.
const REMOTE: f64 = 0.1;
/// Minimum difference in the share of memory in huge pages.
const HUGE: f64 = 0.1;
/// Minimum difference in TLB misses per thousand instructions: each costs some ten cycles.
const TLB_MISSES: f64 = 1.0;
const PER_INSTRUCTIONS: f64 = 1000.0;
/// Minimum difference in NUMA hint faults per transaction: page faults that only detect which node uses a page.
const HINT_FAULTS: f64 = 0.01;
/// Maximum kernel time of a NUMA hint fault including the move of its page, microseconds.
const HINT_FAULT_US: f64 = 100.0;
/// Minimum difference in minor page faults per transaction: those that need no storage.
const FAULTS: f64 = 0.1;
/// Maximum kernel time of a minor page fault, in which a page is cleared, microseconds.
const FAULT_US: f64 = 10.0;

/// The server's user time, if more of its work ran on another node than its memory.
pub(super) fn remote_memory(trials: &Trials<'_, '_>) -> Option<Accused> {
    in_user_time(trials, Suspect::RemoteMemory, trials.counts(&|time| time.away_from_memory)?, REMOTE)
}

/// The server's user time, if a count differs at least this much in the same direction.
fn in_user_time(trials: &Trials<'_, '_>, suspect: Suspect, counted: Counts, least: f64) -> Option<Accused> {
    let accused = Accused::plain(trials, suspect, &[Part::ServerUser]);
    let more = counted.1.value.abs() >= least && counted.1.value * accused.time.value > 0.0;
    more.then(|| accused.counted(counted))
}

/// The server's user time, if the share of its memory in huge pages differs.
pub(super) fn huge_pages(trials: &Trials<'_, '_>) -> Option<Accused> {
    let counted = trials.counts(&huge_share)?;
    let time = sum(trials, &[Part::ServerUser]);
    // Relative to the side that takes longer.
    let fewer = counted.1.value * time.value < 0.0;
    let suspect = Suspect::HugePages { fewer };
    let accused = Accused { suspect, time, counts: None, counts_p: None };
    (counted.1.value.abs() >= HUGE).then(|| accused.counted(counted))
}

/// The server's user time, if it has more TLB misses for the same work.
pub(super) fn tlb_misses(trials: &Trials<'_, '_>) -> Option<Accused> {
    in_user_time(trials, Suspect::TlbMisses, trials.counts(&missed)?, TLB_MISSES)
}

/// Kernel time, if it can be explained by the page faults of automatic NUMA balancing.
pub(super) fn balancing(trials: &Trials<'_, '_>, in_kernel: &[Part]) -> Option<Accused> {
    let counted = trials.counts(&hint_faults)?;
    let accused = Accused::plain(trials, Suspect::NumaBalancing, in_kernel);
    let each_us = accused.time.value / counted.1.value;
    let more = counted.1.value.abs() >= HINT_FAULTS && each_us > 0.0 && each_us <= HINT_FAULT_US;
    more.then(|| accused.counted(counted))
}

/// The server's kernel time, if it can be explained by page faults: memory that is released and allocated again.
fn page_faults(trials: &Trials<'_, '_>) -> Option<Accused> {
    let counted = trials.cost(Quantity::MinorFaults)?;
    let accused = Accused::plain(trials, Suspect::PageFaults, &[Part::ServerSystem]);
    let each_us = accused.time.value / counted.1.value;
    let more = counted.1.value.abs() >= FAULTS && counted.1.p_value <= FALSE_DISCOVERIES;
    (more && each_us > 0.0 && each_us <= FAULT_US).then(|| accused.counted(counted))
}

/// Share of the server's memory in huge pages, transparent or from the pool, in the samples that recorded it: with one
/// memory node, the first one.
fn huge_share(time: &TrialTime<'_>) -> Option<f64> {
    let [mut huge, mut all] = [0.0; 2];
    for sample in &time.trial.samples {
        let of = |name: &str| sample.covariates.get(name);
        let Some((transparent, pool)) = of(HUGE_TRANSPARENT).zip(of(HUGE_POOL)) else { continue };
        huge += transparent + pool;
        let own = sample.covariates.iter().filter(|(name, _)| SERVER_MEMORY.node(name).is_some());
        all += own.map(|(_, bytes)| bytes).sum::<f64>();
    }
    (all > 0.0).then(|| (huge / all).clamp(0.0, 1.0))
}

/// TLB misses for data and instructions in the connections' threads, per thousand instructions.
fn missed(time: &TrialTime<'_>) -> Option<f64> {
    let events = events_of_trial(time);
    let of = |name: &str| {
        let what = Counted::PerTransaction(name.to_owned());
        events.get(&Event { side: EventSide::Server, what }).copied()
    };
    let misses = of("dTLB-load-misses")? + of("iTLB-load-misses").unwrap_or(0.0);
    let instructions = of("instructions").filter(|count| *count > 0.0)?;
    Some(PER_INSTRUCTIONS * misses / instructions)
}

/// Of the whole machine, per transaction; at most as many as the server has page faults without storage, which include
/// its own.
fn hint_faults(time: &TrialTime<'_>) -> Option<f64> {
    let [mut faults, mut transactions] = [0.0; 2];
    for sample in &time.trial.samples {
        faults += sample.covariates.get(NUMA_HINT_FAULTS)?;
        transactions += sample.metrics.get(TPS.name())? * sample.elapsed_s;
    }
    let own = cost_of(time, Quantity::MinorFaults).unwrap_or(f64::INFINITY);
    (transactions > 0.0).then(|| own.min(faults / transactions))
}

/// Counters of synchronous log writes.
const SYNCS: [&str; 4] = ["Innodb_os_log_fsyncs", "wal.wal_sync", WAL_FSYNCS, "Innodb_data_fsyncs"];
/// Versions of PostgreSQL whose `pg_stat_wal` counts them.
const COUNTS_SYNCS: RangeInclusive<u32> = 14..=17;
/// Minimum difference in context switches per transaction that counts as a change in how threads wait for each other.
const SWITCHES: f64 = 0.1;
/// Minimum difference in synchronous log writes, or in reads from storage, per transaction.
const REQUESTS: f64 = 0.01;
/// Synchronous log writes per second that a server makes however few transactions it serves: InnoDB each second,
/// PostgreSQL's WAL writer each 200 ms. Per transaction they grow with the time of a transaction, whatever its reason.
const BACKGROUND_SYNCS: f64 = 10.0;
/// Maximum time asleep per additional switch, microseconds: more is another wait.
const WAKE_UP_US: f64 = 100.0;
/// Maximum kernel time per additional switch, microseconds: more is other work. A virtual CPU that is idle wakes up
/// through its hypervisor: 280 was measured on a shared host.
const KERNEL_OF_A_SWITCH_US: f64 = 500.0;
/// Context switches per synchronous log write: none if it shares the write of another thread, at most those into the
/// wait and those of the thread that ends it.
const OF_A_SYNC: RangeInclusive<f64> = 0.0..=3.0;
/// Context switches per read: about one, in which its thread waits. A read ahead of its use needs none, which says that
/// no thread waited for it.
const OF_A_READ: RangeInclusive<f64> = 0.5..=3.0;
/// Kernel time of either side.
const KERNEL: [Part; 2] = [Part::ClientSystem, Part::ServerSystem];
const WITHOUT_NAME: [Part; 3] = [Part::Asleep, Part::Way, Part::NotExplained];

/// The waits for requests to storage: those counted as such, and those of the server without a name.
fn waits(counted: Part) -> Vec<Part> {
    vec![counted, Part::Asleep, Part::NotExplained]
}

/// With the kernel's work for them.
fn waits_and_work(counted: Part) -> Vec<Part> {
    [waits(counted), vec![Part::ServerSystem]].concat()
}

/// Assigns kernel time and unnamed time to suspects: to the log if log writes differ, else to storage, wake-ups or page
/// faults, else to no specific cause.
pub(super) fn suspects(trials: &Trials<'_, '_>, results: [&Results; 2], has_flush: bool, has_io: bool) -> Vec<Accused> {
    let switches = trials.means(&|time| time.switches);
    // Such a switch wakes no client, and its kernel work is that of the request.
    let are_of = |requests: &Counts, each: &RangeInclusive<f64>| each.contains(&(switches.1.value / requests.1.value));
    let syncs = syncs(trials, results, has_flush);
    let of_the_log = syncs.as_ref().is_some_and(|syncs| are_of(syncs, &OF_A_SYNC));
    let assign_waits = syncs.is_none();
    let has_uncounted_flush = has_flush && syncs.is_none();
    let mut accused = Vec::new();
    if let Some(syncs) = syncs {
        let of = if of_the_log { waits_and_work(Part::Flush) } else { waits(Part::Flush) };
        accused.push(Accused::plain(trials, Suspect::Commit, &of).counted(syncs));
    }
    let network = || Accused::plain(trials, Suspect::Network, &[Part::Way]);
    if of_the_log {
        accused.push(network());
        return accused;
    }
    let of = waits_and_work(Part::Io);
    if let Some(reads) = reads(trials, &of).filter(|reads| assign_waits && are_of(reads, &OF_A_READ)) {
        accused.extend(has_uncounted_flush.then(|| Accused::plain(trials, Suspect::Commit, &[Part::Flush])));
        accused.extend([Accused::plain(trials, Suspect::Storage, &of).counted(reads), network()]);
        return accused;
    }
    accused.extend(without_requests(trials, switches, [has_uncounted_flush, has_io], assign_waits));
    accused
}

/// The suspects if the switches are neither of log writes nor of counted reads. Waits without a name are assigned only
/// if they are not the log's.
fn without_requests(
    trials: &Trials<'_, '_>,
    counts: Counts,
    [has_flush, has_io]: [bool; 2],
    assign_waits: bool,
) -> Vec<Accused> {
    let switches = counts.1.value;
    let [unnamed, in_kernel, flush, io] =
        [&WITHOUT_NAME[..], &KERNEL, &[Part::Flush], &[Part::Io]].map(|of| sum(trials, of).value);
    let of_one_switch = |us: f64| us / switches;
    let in_kernel_us = of_one_switch(in_kernel);
    let switched = switches.abs() >= SWITCHES && in_kernel_us > 0.0 && in_kernel_us <= KERNEL_OF_A_SWITCH_US;
    let of_requests = |waited: f64| switched && waited * switches > 0.0 && waited.abs() > unnamed.abs();
    let plain = |suspect: Suspect, of: Part, with_work: bool| {
        let parts = [of, Part::ServerSystem];
        Accused::plain(trials, suspect, &parts[..if with_work { 2 } else { 1 }])
    };
    // Flushes of a server that does not count them, as SQLite, and files whose device counts no reads, as on another
    // host.
    let of_flushes = has_flush && of_requests(flush);
    let of_files = !of_flushes && of_requests(io);
    let mut accused = Vec::new();
    accused.extend(has_flush.then(|| plain(Suspect::Commit, Part::Flush, of_flushes)));
    accused.extend(has_io.then(|| plain(Suspect::Storage, Part::Io, of_files)));
    let wake_up = switched && !of_flushes && !of_files;
    let on_the_way = assign_waits && wake_up && of_one_switch(unnamed) <= WAKE_UP_US;
    if wake_up {
        let unnamed = if on_the_way { &WITHOUT_NAME[..] } else { &[] };
        accused.push(Accused::plain(trials, Suspect::WakeUps, &[&KERNEL, unnamed].concat()).counted(counts));
    }
    let faults = balancing(trials, &KERNEL).or_else(|| page_faults(trials).filter(|_| !switched));
    if !switched && faults.is_none() {
        accused.push(Accused::plain(trials, Suspect::KernelTime, &KERNEL));
    }
    accused.extend(faults);
    if !on_the_way {
        accused.push(Accused::plain(trials, Suspect::Network, &[Part::Way]));
    }
    if assign_waits && !on_the_way {
        accused.push(Accused::plain(trials, Suspect::Unnamed, &[Part::Asleep, Part::NotExplained]));
    }
    accused
}

/// Reads from storage per transaction, if they differ in the direction of the time in these parts.
fn reads(trials: &Trials<'_, '_>, waited: &[Part]) -> Option<Counts> {
    let reads = trials.cost(Quantity::StorageReads)?;
    let longer = reads.1.value * sum(trials, waited).value > 0.0;
    (longer && reads.1.value.abs() >= REQUESTS && reads.1.p_value <= FALSE_DISCOVERIES).then_some(reads)
}

/// Synchronous log writes per transaction, if both sides count them and they differ in the direction of the waits:
/// fewer cannot lengthen waits. If flushes are captured, each may take longer without more of them.
fn syncs(trials: &Trials<'_, '_>, results: [&Results; 2], has_flush: bool) -> Option<Counts> {
    let [a, b] = trials.each(results, syncs_of)?;
    let syncs = trials.means_of(&a, &b);
    let waited = sum(trials, &waits(Part::Flush));
    let transaction_s = trials.shift(&|time| time.us / time.clients as f64 / 1e6);
    let in_background = BACKGROUND_SYNCS * transaction_s.value.abs();
    let longer = syncs.1.value * waited.value > 0.0 && syncs.1.value.abs() >= in_background.max(REQUESTS);
    (longer && (!has_flush || syncs.1.p_value <= FALSE_DISCOVERIES)).then_some(syncs)
}

fn syncs_of(time: &TrialTime<'_>, results: &Results) -> Option<f64> {
    let sample = time.trial.capture_sample.as_ref()?;
    let status = results.captures.get(&(time.trial.trial, time.trial.attempt))?.status.as_ref()?;
    let count = SYNCS.iter().find_map(|name| status.differences.get(*name)).copied();
    let count = count.or_else(|| counts_syncs(status, time.trial.server_version.as_deref()).then_some(0.0))?;
    let transactions = sample.tps * sample.elapsed_s;
    (transactions > 0.0).then(|| count / transactions)
}

/// Whether the server counts log writes, if the counters that changed do not include any.
fn counts_syncs(status: &StatusFile, version: Option<&str>) -> bool {
    let of_innodb = || status.differences.keys().any(|name| name.starts_with("Innodb_"));
    let of_postgresql =
        || status.differences.keys().any(|name| name.starts_with("wal.") || name.starts_with("database."));
    let major = version.and_then(|version| version.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok());
    of_innodb() || of_postgresql() && major.is_some_and(|major| COUNTS_SYNCS.contains(&major))
}
