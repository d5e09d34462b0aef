//! Suspects of how the server has its memory: on another node, in pages of which size, moved by the kernel.

use super::accused::{Accused, sum};
use super::suspect::Suspect;
use super::trials::{FALSE_DISCOVERIES, Trials};
use crate::collect::trial_mean;
use crate::time::{Counted, Event, EventSide, Part, TrialTime, events_of_trial};
use tare_results::covariate::{HUGE_POOL, HUGE_TRANSPARENT, NUMA_HINT_FAULTS, SERVER_MEMORY};
use tare_results::metric::TPS;
use tare_results::server_cost::{Operation, Quantity, SERVER_COSTS};
use tare_stats::ratio::Shift;

/// A difference of so much of the server's work that passes on another node than its memory may be the reason.
const REMOTE: f64 = 0.1;
/// As much of its memory in huge pages.
const HUGE: f64 = 0.1;
/// So many misses of the TLBs more among a thousand instructions: each costs some ten cycles.
const TLB_MISSES: f64 = 1.0;
const PER_INSTRUCTIONS: f64 = 1000.0;
/// So many page faults more for each transaction that only find out which node a page is used on.
const HINT_FAULTS: f64 = 0.01;
/// Such a fault with the move of its page takes at most so long in the kernel, microseconds.
const HINT_FAULT_US: f64 = 100.0;
/// So many page faults more for each transaction that need no storage.
const FAULTS: f64 = 0.1;
/// Such a fault, in which a page is cleared, takes at most so long in the kernel, microseconds.
const FAULT_US: f64 = 10.0;

/// The server's user time, where more of its work passed on another node than its memory.
pub(super) fn remote(trials: &Trials<'_, '_>) -> Option<Accused> {
    let counted = counts(trials, &|time| time.away_from_memory)?;
    let accused = Accused::plain(trials, Suspect::RemoteMemory, &[Part::ServerUser]);
    let more = counted.1.value.abs() >= REMOTE && counted.1.value * accused.time.value > 0.0;
    more.then(|| accused.counted(counted))
}

/// The server's user time, where more or less of its memory was in huge pages.
pub(super) fn huge_pages(trials: &Trials<'_, '_>) -> Option<Accused> {
    let counted = counts(trials, &huge_share)?;
    let time = sum(trials, &[Part::ServerUser]);
    // Of the side that takes longer.
    let fewer = counted.1.value * time.value < 0.0;
    let suspect = Suspect::HugePages { fewer };
    let accused = Accused { suspect, time, counts: None, counts_p: None };
    (counted.1.value.abs() >= HUGE).then(|| accused.counted(counted))
}

/// The server's user time, where it misses more pages in the TLBs for the same work.
pub(super) fn tlb_misses(trials: &Trials<'_, '_>) -> Option<Accused> {
    let counted = counts(trials, &missed)?;
    let accused = Accused::plain(trials, Suspect::TlbMisses, &[Part::ServerUser]);
    let more = counted.1.value.abs() >= TLB_MISSES && counted.1.value * accused.time.value > 0.0;
    more.then(|| accused.counted(counted))
}

/// Time in the kernel, where the page faults by which it balances nodes may take it.
pub(super) fn balancing(trials: &Trials<'_, '_>, in_kernel: &[Part]) -> Option<Accused> {
    let counted = counts(trials, &hint_faults)?;
    let accused = Accused::plain(trials, Suspect::NumaBalancing, in_kernel);
    let each_us = accused.time.value / counted.1.value;
    let more = counted.1.value.abs() >= HINT_FAULTS && each_us > 0.0 && each_us <= HINT_FAULT_US;
    more.then(|| accused.counted(counted))
}

/// The server's kernel time, where page faults may take it: memory that it gives back and takes again.
pub(super) fn page_faults(trials: &Trials<'_, '_>) -> Option<Accused> {
    let cost = SERVER_COSTS.iter().find(|cost| cost.quantity == Quantity::MinorFaults)?;
    let name = cost.metric(Operation::Transaction).name();
    let counted = counts(trials, &|time| trial_mean(time.trial, name))?;
    let accused = Accused::plain(trials, Suspect::PageFaults, &[Part::ServerSystem]);
    let each_us = accused.time.value / counted.1.value;
    let more = counted.1.value.abs() >= FAULTS && counted.1.p_value <= FALSE_DISCOVERIES;
    (more && each_us > 0.0 && each_us <= FAULT_US).then(|| accused.counted(counted))
}

/// What every trial of both sides counts: the means, and the difference.
fn counts(trials: &Trials<'_, '_>, of: &dyn Fn(&TrialTime<'_>) -> Option<f64>) -> Option<([f64; 2], Shift)> {
    let all = |times: &[TrialTime<'_>]| -> Option<Vec<f64>> { times.iter().map(of).collect() };
    let (a, b) = all(trials.a).zip(all(trials.b))?;
    Some(trials.means_of(&a, &b))
}

/// Share of the server's memory that is in huge pages, of either kind.
fn huge_share(time: &TrialTime<'_>) -> Option<f64> {
    let [mut huge, mut all] = [0.0; 2];
    for sample in &time.trial.samples {
        let of = |name: &str| sample.covariates.get(name);
        huge += of(HUGE_TRANSPARENT)? + of(HUGE_POOL)?;
        let own = sample.covariates.iter().filter(|(name, _)| SERVER_MEMORY.node(name).is_some());
        all += own.map(|(_, bytes)| bytes).sum::<f64>();
    }
    (all > 0.0).then(|| (huge / all).clamp(0.0, 1.0))
}

/// Misses of the TLBs for data and for instructions in the connections' threads, for each thousand instructions.
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

/// Of the whole machine, for each transaction.
fn hint_faults(time: &TrialTime<'_>) -> Option<f64> {
    let [mut faults, mut transactions] = [0.0; 2];
    for sample in &time.trial.samples {
        faults += sample.covariates.get(NUMA_HINT_FAULTS)?;
        transactions += sample.metrics.get(TPS.name())? * sample.elapsed_s;
    }
    (transactions > 0.0).then(|| faults / transactions)
}
