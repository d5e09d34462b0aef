//! Call chains of sleeps as shares of the time of the threads that serve connections, whichever way they were found.

use std::collections::BTreeMap;
use tare_results::waits::CallerShare;

/// Chains listed, from this share of the threads' time on; functions of each, the innermost ones, and their letters.
const LISTED: usize = 60;
const SMALLEST: f64 = 1e-3;
const FRAMES: usize = 48;
const LETTERS: usize = 160;

/// Chains, each as heavy as the sleeps below it.
#[derive(Debug, Default)]
pub(super) struct Weights(BTreeMap<String, f64>);

impl Weights {
    /// Adds a chain, the outermost function first.
    pub fn add<S: AsRef<str>>(&mut self, frames: &[S], weight: f64) {
        let inner = &frames[frames.len().saturating_sub(FRAMES)..];
        let inner: Vec<String> = inner.iter().map(|frame| frame.as_ref().chars().take(LETTERS).collect()).collect();
        *self.0.entry(inner.join(";")).or_default() += weight;
    }

    /// As shares that add up to the one for which these threads slept.
    pub fn shares(self, slept: f64) -> Vec<CallerShare> {
        let whole: f64 = self.0.values().sum();
        let share = |(chain, weight)| CallerShare { chain, fraction: slept * weight / whole };
        let mut shares: Vec<CallerShare> = self.0.into_iter().map(share).collect();
        shares.retain(|one| one.fraction >= SMALLEST);
        shares.sort_by(|a, b| b.fraction.total_cmp(&a.fraction));
        shares.truncate(LISTED);
        shares
    }
}
