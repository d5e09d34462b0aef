//! Suspects: what parts and counts say about why B differs from A.

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

/// Share of the suspects that are shown although nothing differs: less than of parts, since a suspect is named as the
/// reason.
const NAMED_WRONGLY: f64 = 0.01;
/// Counters of writes of the log that were waited for until they were on storage.
const SYNCS: [&str; 3] = ["Innodb_os_log_fsyncs", "wal.wal_sync", "Innodb_data_fsyncs"];
/// A difference of so many switches a transaction is one in how threads wait for each other.
const SWITCHES: f64 = 0.1;
/// As many log writes a transaction.
const SYNCS_A_TRANSACTION: f64 = 0.01;
/// More than this for each further switch, in the kernel or asleep, is other work or another wait, microseconds.
const WAKE_UP_US: f64 = 100.0;
/// A write of the log that is waited for takes at most so many: into the wait, and those of who ends it.
const SWITCHES_OF_A_SYNC: f64 = 3.0;
const WAITS: [Part; 2] = [Part::ClientWaited, Part::ServerWaited];
/// What the kernel does for either side.
const KERNEL: [Part; 2] = [Part::ClientSystem, Part::ServerSystem];
const WITHOUT_NAME: [Part; 3] = [Part::Asleep, Part::Way, Part::NotExplained];

/// What suspects are looked at with, besides the trials.
pub(super) struct Given<'g, 'r> {
    pub results: [&'r Results; 2],
    /// The condition that takes longer, and its results: what experiments change.
    pub slower: (&'g ConditionTrials<'r>, &'r Results),
}

/// Every suspect that goes the way of the whole, the largest first; whether one is shown is said of each.
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
            // Where the whole is not shown to differ nothing is the reason.
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
    // Before the server's own work, which it is a reason of.
    let mut accused: Vec<Accused> = memory::remote(trials).into_iter().collect();
    accused.extend([
        plain(Suspect::RowLock, &[Part::RowLock]),
        Accused { time: shortage(trials, whole_us), ..plain(Suspect::CpuShortage, &WAITS) },
        plain(Suspect::ClientBound, &[Part::ClientUser]),
    ]);
    accused.extend(allocator::work(trials, given.results));
    // After it: that a server has other memory may follow from its work.
    accused.extend(memory::huge_pages(trials).into_iter().chain(memory::tlb_misses(trials)));
    accused.extend(parts.iter().filter_map(|change| match &change.part {
        Part::Lock(name) => Some(plain(lock(given.results, name), std::slice::from_ref(&change.part))),
        _ => None,
    }));
    let has = |part: &Part| parts.iter().any(|change| change.part == *part);
    let named = [(Suspect::Storage, Part::Io), (Suspect::Pauses, Part::Pause), (Suspect::Throttled, Part::Throttled)];
    accused.extend(named.into_iter().filter(|(_, part)| has(part)).map(|(suspect, part)| plain(suspect, &[part])));
    accused.extend(without_name(trials, given, has(&Part::Flush)));
    accused
}

/// A lock as a suspect, by what the captures say it is of.
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

/// Whose time in the kernel and without a name is: the log's where log writes differ, else that of threads that wake
/// each other, or of page faults, else no one's.
fn without_name(trials: &Trials<'_, '_>, given: &Given<'_, '_>, has_flush: bool) -> Vec<Accused> {
    let unnamed = sum(trials, &WITHOUT_NAME);
    // Fewer log writes make no one wait longer. Where flushes are seen, those may be longer and no more of them.
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
        // A write that is waited for is the kernel's work too, and its switches wake no client.
        let time = sum(trials, &waits[..if of_the_log { 5 } else { 4 }]);
        let (counts, counts_p) = (Some(*counts), Some(found.p_value));
        accused.push(Accused { suspect: Suspect::Commit, time, counts, counts_p });
    } else if has_flush {
        accused.push(Accused::plain(trials, Suspect::Commit, &[Part::Flush]));
    }
    if of_the_log {
        return accused;
    }
    let of_one_switch = |us: f64| us / switches.value;
    let in_kernel = sum(trials, &KERNEL);
    let in_kernel_us = of_one_switch(in_kernel.value);
    let wake_up = switches.value.abs() >= SWITCHES && in_kernel_us > 0.0 && in_kernel_us <= WAKE_UP_US;
    let on_the_way = syncs.is_none() && wake_up && of_one_switch(unnamed.value) <= WAKE_UP_US;
    if wake_up {
        let both = [Part::ClientSystem, Part::ServerSystem, Part::Asleep, Part::Way, Part::NotExplained];
        let time = if on_the_way { sum(trials, &both) } else { in_kernel };
        let (counts, counts_p) = (Some([mean(trials.a), mean(trials.b)]), Some(switches.p_value));
        accused.push(Accused { suspect: Suspect::WakeUps, time, counts, counts_p });
    }
    let faults = memory::balancing(trials, &KERNEL).or_else(|| memory::page_faults(trials).filter(|_| !wake_up));
    if !wake_up && faults.is_none() {
        accused.push(Accused::plain(trials, Suspect::KernelTime, &KERNEL));
    }
    accused.extend(faults);
    if syncs.is_none() && !on_the_way {
        accused.push(Accused::plain(trials, Suspect::Network, &[Part::Way]));
        accused.push(Accused::plain(trials, Suspect::Unnamed, &[Part::Asleep, Part::NotExplained]));
    }
    accused
}

/// Waits for a CPU beyond those of the work: where as many threads work longer on as many CPUs, they wait longer in the
/// same proportion, and the work is the reason. The proportion is that of the faster side.
fn shortage(trials: &Trials<'_, '_>, whole_us: f64) -> Shift {
    let faster = if whole_us < 0.0 { trials.b } else { trials.a };
    let all = |of: &[Part]| faster.iter().map(|time| us_of(time, of)).sum::<f64>();
    let (waited, worked) = (all(&WAITS), all(&Part::WORK));
    let proportion = if worked > 0.0 { waited / worked } else { 0.0 };
    trials.shift(&|time: &TrialTime<'_>| us_of(time, &WAITS) - proportion * us_of(time, &Part::WORK))
}

/// Log writes a transaction that were waited for, where both sides count them and differ.
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
