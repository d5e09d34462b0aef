//! Suspects: possible reasons for the difference between A and B, from time parts and counts. CPU time in the memory
//! allocator is one, from the profile.

use super::functions::profiled_us;
use super::model::{Cause, PartChange, TimeChange};
use super::prove::{Known, experiment};
use super::suspect::{Accused, Suspect, us_of};
use super::trials::Trials;
use super::unnamed;
use crate::time::{METADATA_LOCKS, PAGE_LOCKS, Part, TABLE_LOCKS, TrialTime};
use tare_results::Results;
use tare_results::captures::WaitKind;
use tare_stats::multiple::benjamini_yekutieli;
use tare_stats::ratio::Shift;

/// False discovery rate of the shown suspects: lower than that of parts, because a suspect is reported as the reason.
const NAMED_WRONGLY: f64 = 0.01;
const WAITS: [Part; 2] = [Part::ClientWaited, Part::ServerWaited];

/// The inputs of the suspects other than the trials.
pub(super) struct Given<'g, 'r> {
    pub results: [&'r Results; 2],
    /// The condition that takes longer, which experiments change, and the other one.
    pub slower_and_faster: [Known<'g, 'r>; 2],
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
            condition: given.slower_and_faster[0].side.name.to_owned(),
            counts: one.counts,
            // If no difference of the whole is shown, it has no reason either.
            shown: whole.shown && p_value <= NAMED_WRONGLY,
            prove: experiment(&one.suspect, &given.slower_and_faster),
            suspect: one.suspect,
        })
        .collect();
    causes.sort_by(|a, b| b.us.abs().total_cmp(&a.us.abs()).then(b.shown.cmp(&a.shown)));
    causes
}

fn accused(trials: &Trials<'_, '_>, parts: &[PartChange], whole_us: f64, given: &Given<'_, '_>) -> Vec<Accused> {
    let plain = |suspect: Suspect, of: &[Part]| Accused::plain(trials, suspect, of);
    // Before the server's own work, of which it is a possible reason.
    let mut accused: Vec<Accused> = unnamed::remote_memory(trials).into_iter().collect();
    accused.extend([
        plain(Suspect::RowLock, &[Part::RowLock]),
        Accused { time: shortage(trials, whole_us), ..plain(Suspect::CpuShortage, &WAITS) },
        plain(Suspect::ClientBound, &[Part::ClientUser]),
    ]);
    accused.extend(allocator_work(trials, given.results));
    // After the server's own work, because the use of other memory may be a consequence of that work.
    accused.extend(unnamed::huge_pages(trials).into_iter().chain(unnamed::tlb_misses(trials)));
    accused.extend(parts.iter().filter_map(|change| match &change.part {
        Part::Lock(name) => Some(plain(lock(given.results, name), std::slice::from_ref(&change.part))),
        Part::Futex(name) => Some(plain(Suspect::GlobalLock(name.clone()), std::slice::from_ref(&change.part))),
        _ => None,
    }));
    let has = |part: &Part| parts.iter().any(|change| change.part == *part);
    let named = [
        (Suspect::Pauses, Part::Pause),
        (Suspect::StatementSleep, Part::StatementSleep),
        (Suspect::TemporaryFiles, Part::TemporaryFiles),
        (Suspect::Throttled, Part::Throttled),
    ];
    accused.extend(named.into_iter().filter(|(_, part)| has(part)).map(|(suspect, part)| plain(suspect, &[part])));
    accused.extend(unnamed::suspects(trials, given.results, has(&Part::Flush), has(&Part::Io)));
    accused
}

/// Locks of one table each, with PostgreSQL's names for its own.
const OF_TABLES: [&str; 4] = [TABLE_LOCKS, METADATA_LOCKS, "Lock/relation", "Lock/extend"];

/// A lock as a suspect, with its kind from the captures.
fn lock(results: [&Results; 2], name: &str) -> Suspect {
    if name == PAGE_LOCKS {
        return Suspect::PageLock(name.to_owned());
    }
    if OF_TABLES.contains(&name) {
        return Suspect::TableLock(name.to_owned());
    }
    let captures = results.into_iter().flat_map(|results| results.captures.values());
    let mut waits = captures.filter_map(|captures| captures.locks.as_ref()).flat_map(|locks| &locks.waits);
    match waits.find(|wait| wait.name == name).map(|wait| wait.kind) {
        Some(WaitKind::Page) => Suspect::PageLock(name.to_owned()),
        Some(WaitKind::Index) => Suspect::IndexLock(name.to_owned()),
        _ => Suspect::GlobalLock(name.to_owned()),
    }
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

/// Minimum share of the allocator in the difference of the server's work for a separate suspect.
const WORTH: f64 = 0.1;
/// Allocation functions of C and C++.
const FUNCTIONS: [&str; 12] = [
    "malloc",
    "calloc",
    "realloc",
    "free",
    "cfree",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "operator new",
    "operator new[]",
    "operator delete",
    "operator delete[]",
];
/// Name prefixes: glibc's internal functions, including waits for the lock of an arena; functions of other allocators,
/// and their libraries without symbols.
const BEGINNINGS: [&str; 19] = [
    "__libc_malloc",
    "__libc_calloc",
    "__libc_realloc",
    "__libc_free",
    "__GI___libc_malloc",
    "__GI___libc_free",
    "_int_malloc",
    "_int_realloc",
    "_int_free",
    "_int_memalign",
    "malloc_consolidate",
    "unlink_chunk",
    "__lll_lock_wait_private",
    "je_",
    "tc_",
    "tcmalloc::",
    "[libjemalloc",
    "[libtcmalloc",
    "[libmimalloc",
];

/// The server's user time, with the allocator's part as a separate suspect if it explains some of the difference.
fn allocator_work(trials: &Trials<'_, '_>, results: [&Results; 2]) -> Vec<Accused> {
    let whole = Accused::plain(trials, Suspect::ServerWork, &[Part::ServerUser]);
    let Some([a, b]) = trials.each(results, allocator_us) else { return vec![whole] };
    let time = trials.shift_of(&a, &b);
    let share = time.value / whole.time.value;
    if !share.is_finite() || share < WORTH {
        return vec![whole];
    }
    let others = |times: &[TrialTime<'_>], us: &[f64]| -> Vec<f64> {
        times.iter().zip(us).map(|(time, us)| time.part(&Part::ServerUser) - us).collect()
    };
    let rest = Accused { time: trials.shift_of(&others(trials.a, &a), &others(trials.b, &b)), ..whole };
    vec![Accused { suspect: Suspect::Allocator, time, counts: None, counts_p: None }, rest]
}

/// CPU time inside the allocator's functions, microseconds per transaction; none without a profile.
fn allocator_us(time: &TrialTime<'_>, results: &Results) -> Option<f64> {
    let cpu_us = profiled_us(time, results)?;
    let profile = results.captures.get(&(time.trial.trial, time.trial.attempt))?.profile.as_ref()?;
    let own = profile.symbols.iter().filter(|symbol| is_of_an_allocator(&symbol.symbol));
    Some(cpu_us * own.map(|symbol| symbol.self_fraction).sum::<f64>())
}

fn is_of_an_allocator(symbol: &str) -> bool {
    // Symbols may have a library version, as in `cfree@GLIBC_2.2.5`.
    let name = symbol.split_once('@').map_or(symbol, |(name, _)| name);
    FUNCTIONS.contains(&name) || BEGINNINGS.iter().any(|beginning| symbol.starts_with(beginning))
}
