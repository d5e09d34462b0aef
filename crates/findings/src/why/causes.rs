//! Suspects: possible reasons for the difference between A and B, from time parts and counts.

use super::accused::{Accused, sum, us_of};
use super::model::{Cause, PartChange, TimeChange};
use super::prove::experiment;
use super::suspect::Suspect;
use super::trials::{FALSE_DISCOVERIES, Trials};
use super::{allocator, memory};
use crate::collect::ConditionTrials;
use crate::time::{PAGE_LOCKS, Part, TrialTime};
use tare_results::Results;
use tare_results::captures::WaitKind;
use tare_stats::multiple::benjamini_yekutieli;
use tare_stats::ratio::Shift;

/// False discovery rate of the shown suspects: lower than that of parts, because a suspect is reported as the reason.
const NAMED_WRONGLY: f64 = 0.01;
/// Counters of synchronous log writes.
const SYNCS: [&str; 3] = ["Innodb_os_log_fsyncs", "wal.wal_sync", "Innodb_data_fsyncs"];
/// Minimum difference in context switches per transaction that counts as a change in how threads wait for each other.
const SWITCHES: f64 = 0.1;
/// Minimum difference in synchronous log writes per transaction.
const SYNCS_A_TRANSACTION: f64 = 0.01;
/// Maximum time asleep per additional switch, microseconds: more is another wait.
const WAKE_UP_US: f64 = 100.0;
/// Maximum kernel time per additional switch, microseconds: more is other work. A virtual CPU that is idle wakes up
/// through its hypervisor: 280 was measured on a shared host.
const KERNEL_OF_A_SWITCH_US: f64 = 500.0;
/// Maximum number of context switches per synchronous log write: those into the wait, and those of the thread that ends
/// it.
const SWITCHES_OF_A_SYNC: f64 = 3.0;
const WAITS: [Part; 2] = [Part::ClientWaited, Part::ServerWaited];
/// Kernel time of either side.
const KERNEL: [Part; 2] = [Part::ClientSystem, Part::ServerSystem];
const WITHOUT_NAME: [Part; 3] = [Part::Asleep, Part::Way, Part::NotExplained];

/// The inputs of the suspects other than the trials.
pub(super) struct Given<'g, 'r> {
    pub results: [&'r Results; 2],
    /// The condition that takes longer, and its results: the one that experiments change.
    pub slower: (&'g ConditionTrials<'r>, &'r Results),
}

/// Every suspect with the sign of the whole difference, the largest first, each with whether it is shown.
pub(super) fn causes(
    trials: &Trials<'_, '_>,
    parts: &[PartChange],
    whole: TimeChange,
    given: &Given<'_, '_>,
) -> Vec<Cause> {
    let accused: Vec<Accused> = accused(trials, parts, whole.us, given);
    let chances: Vec<f64> = accused.iter().map(|one| one.time.p_value.max(one.counts_p.unwrap_or(0.0))).collect();
    let adjusted = benjamini_yekutieli(&chances);
    let mut causes: Vec<Cause> = accused
        .into_iter()
        .zip(adjusted)
        .filter(|(one, _)| one.time.value * whole.us > 0.0)
        .map(|(one, p_value)| Cause {
            us: one.time.value,
            ci: one.time.ci,
            share: whole.share(one.time.value),
            condition: given.slower.0.name.to_owned(),
            counts: one.counts,
            // If no difference of the whole is shown, it has no reason either.
            shown: whole.shown && p_value <= NAMED_WRONGLY,
            prove: experiment(&one.suspect, given.slower.0, given.slower.1),
            suspect: one.suspect,
        })
        .collect();
    causes.sort_by(|a, b| b.us.abs().total_cmp(&a.us.abs()).then(b.shown.cmp(&a.shown)));
    causes
}

fn accused(trials: &Trials<'_, '_>, parts: &[PartChange], whole_us: f64, given: &Given<'_, '_>) -> Vec<Accused> {
    let plain = |suspect: Suspect, of: &[Part]| Accused::plain(trials, suspect, of);
    // Before the server's own work, of which it is a possible reason.
    let mut accused: Vec<Accused> = memory::remote(trials).into_iter().collect();
    accused.extend([
        plain(Suspect::RowLock, &[Part::RowLock]),
        Accused { time: shortage(trials, whole_us), ..plain(Suspect::CpuShortage, &WAITS) },
        plain(Suspect::ClientBound, &[Part::ClientUser]),
    ]);
    accused.extend(allocator::work(trials, given.results));
    // After the server's own work, because the use of other memory may be a consequence of that work.
    accused.extend(memory::huge_pages(trials).into_iter().chain(memory::tlb_misses(trials)));
    accused.extend(parts.iter().filter_map(|change| match &change.part {
        Part::Lock(name) => Some(plain(lock(given.results, name), std::slice::from_ref(&change.part))),
        _ => None,
    }));
    let has = |part: &Part| parts.iter().any(|change| change.part == *part);
    let named = [(Suspect::Pauses, Part::Pause), (Suspect::Throttled, Part::Throttled)];
    accused.extend(named.into_iter().filter(|(_, part)| has(part)).map(|(suspect, part)| plain(suspect, &[part])));
    accused.extend(without_name(trials, given, has(&Part::Flush), has(&Part::Io)));
    accused
}

/// A lock as a suspect, with its kind from the captures.
fn lock(results: [&Results; 2], name: &str) -> Suspect {
    if name == PAGE_LOCKS {
        return Suspect::PageLock(name.to_owned());
    }
    let captures = results.into_iter().flat_map(|results| results.captures.values());
    let mut waits = captures.filter_map(|captures| captures.locks.as_ref()).flat_map(|locks| &locks.waits);
    match waits.find(|wait| wait.name == name).map(|wait| wait.kind) {
        Some(WaitKind::Page) => Suspect::PageLock(name.to_owned()),
        Some(WaitKind::Index) => Suspect::IndexLock(name.to_owned()),
        _ => Suspect::GlobalLock(name.to_owned()),
    }
}

/// Assigns kernel time and unnamed time to suspects: to the log if log writes differ, else to storage, wake-ups or page
/// faults, else to no specific cause.
fn without_name(trials: &Trials<'_, '_>, given: &Given<'_, '_>, has_flush: bool, has_io: bool) -> Vec<Accused> {
    let unnamed = sum(trials, &WITHOUT_NAME);
    // Fewer log writes cannot lengthen waits. If flushes are captured, each may take longer without more of them.
    let waited = sum(trials, &[Part::Flush, Part::Asleep, Part::NotExplained, Part::Way]);
    let syncs = syncs(trials, given.results)
        .filter(|(_, found)| found.value * waited.value > 0.0 && (!has_flush || found.p_value <= FALSE_DISCOVERIES));
    let mean = |times: &[TrialTime<'_>]| times.iter().map(|t| t.switches).sum::<f64>() / times.len().max(1) as f64;
    let switches = trials.shift(&|time: &TrialTime<'_>| time.switches);
    let of_the_log = syncs.as_ref().is_some_and(|(_, found)| {
        found.value * switches.value > 0.0 && switches.value.abs() <= SWITCHES_OF_A_SYNC * found.value.abs()
    });
    let mut accused = Vec::new();
    if let Some((counts, found)) = &syncs {
        let waits = [Part::Flush, Part::Asleep, Part::NotExplained, Part::Way, Part::ServerSystem];
        // A synchronous write is also kernel work of the server, and its switches wake no client.
        let time = sum(trials, &waits[..if of_the_log { 5 } else { 4 }]);
        let (counts, counts_p) = (Some(*counts), Some(found.p_value));
        accused.push(Accused { suspect: Suspect::Commit, time, counts, counts_p });
    } else if has_flush {
        accused.push(Accused::plain(trials, Suspect::Commit, &[Part::Flush]));
    }
    let of_one_switch = |us: f64| us / switches.value;
    let in_kernel = sum(trials, &KERNEL);
    let in_kernel_us = of_one_switch(in_kernel.value);
    let switched = switches.value.abs() >= SWITCHES && in_kernel_us > 0.0 && in_kernel_us <= KERNEL_OF_A_SWITCH_US;
    let io = sum(trials, &[Part::Io]);
    // A thread that reads a file sleeps too: these switches wake no client, and their kernel work is that of the reads.
    let of_files = !of_the_log && switched && io.value * switches.value > 0.0 && io.value.abs() > unnamed.value.abs();
    if has_io {
        let parts = [Part::Io, Part::ServerSystem];
        accused.push(Accused::plain(trials, Suspect::Storage, &parts[..if of_files { 2 } else { 1 }]));
    }
    if of_the_log {
        return accused;
    }
    let wake_up = switched && !of_files;
    let on_the_way = syncs.is_none() && wake_up && of_one_switch(unnamed.value) <= WAKE_UP_US;
    if wake_up {
        let both = [Part::ClientSystem, Part::ServerSystem, Part::Asleep, Part::Way, Part::NotExplained];
        let time = if on_the_way { sum(trials, &both) } else { in_kernel };
        let (counts, counts_p) = (Some([mean(trials.a), mean(trials.b)]), Some(switches.p_value));
        accused.push(Accused { suspect: Suspect::WakeUps, time, counts, counts_p });
    }
    let faults = memory::balancing(trials, &KERNEL).or_else(|| memory::page_faults(trials).filter(|_| !switched));
    if !switched && faults.is_none() {
        accused.push(Accused::plain(trials, Suspect::KernelTime, &KERNEL));
    }
    accused.extend(faults);
    if syncs.is_none() && !on_the_way {
        accused.push(Accused::plain(trials, Suspect::Network, &[Part::Way]));
        accused.push(Accused::plain(trials, Suspect::Unnamed, &[Part::Asleep, Part::NotExplained]));
    }
    accused
}

/// Waits for a CPU beyond those that follow from the work: if the same number of threads works longer on the same CPUs,
/// waits grow in proportion, and the work is the reason. The proportion is that of the faster side.
fn shortage(trials: &Trials<'_, '_>, whole_us: f64) -> Shift {
    let faster = if whole_us < 0.0 { trials.b } else { trials.a };
    let all = |of: &[Part]| faster.iter().map(|time| us_of(time, of)).sum::<f64>();
    let (waited, worked) = (all(&WAITS), all(&Part::WORK));
    let proportion = if worked > 0.0 { waited / worked } else { 0.0 };
    trials.shift(&|time: &TrialTime<'_>| us_of(time, &WAITS) - proportion * us_of(time, &Part::WORK))
}

/// Synchronous log writes per transaction, if both sides count them and differ.
fn syncs(trials: &Trials<'_, '_>, results: [&Results; 2]) -> Option<([f64; 2], Shift)> {
    let [a, b] = trials.each(results, syncs_of)?;
    Some(trials.means_of(&a, &b)).filter(|(_, found)| found.value.abs() >= SYNCS_A_TRANSACTION)
}

fn syncs_of(time: &TrialTime<'_>, results: &Results) -> Option<f64> {
    let sample = time.trial.capture_sample.as_ref()?;
    let status = results.captures.get(&(time.trial.trial, time.trial.attempt))?.status.as_ref()?;
    let count = SYNCS.iter().find_map(|name| status.differences.get(*name)).copied().unwrap_or(0.0);
    let transactions = sample.tps * sample.elapsed_s;
    (transactions > 0.0).then(|| count / transactions)
}
