//! Waits for the locks of InnoDB's pages, by the call chains that connections sleep in: servers are built without an
//! instrument for these locks.

use super::accused::Accused;
use super::suspect::Suspect;
use super::trials::Trials;
use crate::time::{Part, TrialTime};
use tare_results::Results;
use tare_results::captures::WaitKind;

/// What the lock is called where the server has no name for it.
const NAME: &str = "innodb/buffer_pool_page";
/// Beginnings of functions that take a page of the pool, and of those inside which they wait for a lock. A wait for a
/// page that is still read is the former without the latter.
const PAGES: [&str; 4] = ["buf_page_get", "buf_page_optimistic_get", "Buf_fetch", "mtr_t::page_lock("];
const LOCKS: [&str; 5] = ["rw_lock_", "sync_array_wait_event", "ssux_lock", "sux_lock", "block_lock"];

/// The time without a name; what of it is waits for locks of pages by itself, where chains say so.
pub(super) fn unnamed(trials: &Trials<'_, '_>, results: [&Results; 2]) -> Vec<Accused> {
    let whole = Accused::plain(trials, Suspect::Unnamed, &[Part::Asleep, Part::NotExplained]);
    let Some([a, b]) = trials.each(results, for_pages_us) else { return vec![whole] };
    if is_told(results) || a.iter().chain(&b).all(|us| *us <= 0.0) {
        return vec![whole];
    }
    let rest = |times: &[TrialTime<'_>], us: &[f64]| -> Vec<f64> {
        let unnamed = |time: &TrialTime<'_>| time.part(&Part::Asleep) + time.part(&Part::NotExplained);
        times.iter().zip(us).map(|(time, us)| unnamed(time) - us).collect()
    };
    let rest = Accused { time: trials.shift_of(&rest(trials.a, &a), &rest(trials.b, &b)), ..whole };
    let of_pages = Suspect::PageLock(NAME.to_owned());
    vec![Accused { suspect: of_pages, time: trials.shift_of(&a, &b), counts: None, counts_p: None }, rest]
}

/// Whether a server says itself how long its pages are waited for: then these waits have a name, and a part.
fn is_told(results: [&Results; 2]) -> bool {
    let captures = results.into_iter().flat_map(|results| results.captures.values());
    let mut waits = captures.filter_map(|captures| captures.locks.as_ref()).flat_map(|locks| &locks.waits);
    waits.any(|wait| wait.kind == WaitKind::Page && wait.wait_fraction > 0.0)
}

/// Microseconds a transaction; none without chains.
fn for_pages_us(time: &TrialTime<'_>, results: &Results) -> Option<f64> {
    let (_, callers) = results.captures.get(&(time.trial.trial, time.trial.attempt))?.callers()?;
    Some(callers.iter().filter(|one| waits_for_a_page(&one.chain)).map(|one| time.us * one.fraction).sum())
}

fn waits_for_a_page(chain: &str) -> bool {
    let begins = |function: &str, with: &[&str]| with.iter().any(|beginning| function.starts_with(beginning));
    let mut functions = chain.split(';');
    functions.any(|function| begins(function, &PAGES)) && functions.any(|function| begins(function, &LOCKS))
}
