//! Suspects: possible reasons for the difference between A and B, from time parts and counts.

use super::accused::{Accused, us_of};
use super::model::{Cause, PartChange, TimeChange};
use super::prove::{Known, experiment};
use super::suspect::Suspect;
use super::trials::Trials;
use super::{allocator, memory, unnamed};
use crate::time::{PAGE_LOCKS, Part, TrialTime};
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
        Part::Futex(name) => Some(plain(Suspect::GlobalLock(name.clone()), std::slice::from_ref(&change.part))),
        _ => None,
    }));
    let has = |part: &Part| parts.iter().any(|change| change.part == *part);
    let named = [(Suspect::Pauses, Part::Pause), (Suspect::Throttled, Part::Throttled)];
    accused.extend(named.into_iter().filter(|(_, part)| has(part)).map(|(suspect, part)| plain(suspect, &[part])));
    accused.extend(unnamed::suspects(trials, given.results, has(&Part::Flush), has(&Part::Io)));
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

/// Waits for a CPU beyond those that follow from the work: if the same number of threads works longer on the same CPUs,
/// waits grow in proportion, and the work is the reason. The proportion is that of the faster side.
fn shortage(trials: &Trials<'_, '_>, whole_us: f64) -> Shift {
    let faster = if whole_us < 0.0 { trials.b } else { trials.a };
    let all = |of: &[Part]| faster.iter().map(|time| us_of(time, of)).sum::<f64>();
    let (waited, worked) = (all(&WAITS), all(&Part::WORK));
    let proportion = if worked > 0.0 { waited / worked } else { 0.0 };
    trials.shift(&|time: &TrialTime<'_>| us_of(time, &WAITS) - proportion * us_of(time, &Part::WORK))
}
