//! CPU time in the memory allocator, from the profile: a part of the server's own work with its own experiment.

use super::accused::Accused;
use super::callers::profiled_us;
use super::suspect::Suspect;
use super::trials::Trials;
use crate::time::{Part, TrialTime};
use tare_results::Results;

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
pub(super) fn work(trials: &Trials<'_, '_>, results: [&Results; 2]) -> Vec<Accused> {
    let whole = Accused::plain(trials, Suspect::ServerWork, &[Part::ServerUser]);
    let Some([a, b]) = trials.each(results, allocator_us) else { return vec![whole] };
    let time = trials.shift_of(&a, &b);
    let share = time.value / whole.time.value;
    if share.is_nan() || share < WORTH {
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
