//! Suspects about the server's memory: on another node, page size, page moves by the kernel.

use super::accused::{Accused, sum};
use super::suspect::Suspect;
use super::trials::{FALSE_DISCOVERIES, Trials, cost_of};
use crate::time::{Counted, Event, EventSide, Part, TrialTime, events_of_trial};
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
pub(super) fn remote(trials: &Trials<'_, '_>) -> Option<Accused> {
    let counted = trials.counts(&|time| time.away_from_memory)?;
    let accused = Accused::plain(trials, Suspect::RemoteMemory, &[Part::ServerUser]);
    let more = counted.1.value.abs() >= REMOTE && counted.1.value * accused.time.value > 0.0;
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
    let counted = trials.counts(&missed)?;
    let accused = Accused::plain(trials, Suspect::TlbMisses, &[Part::ServerUser]);
    let more = counted.1.value.abs() >= TLB_MISSES && counted.1.value * accused.time.value > 0.0;
    more.then(|| accused.counted(counted))
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
pub(super) fn page_faults(trials: &Trials<'_, '_>) -> Option<Accused> {
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
