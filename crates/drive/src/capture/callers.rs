//! Call chains of sleeps, as shares of the time of the threads that serve connections.

use std::collections::BTreeMap;
use tare_results::waits::CallerShare;

/// Limits: chains listed, smallest share of the time listed, innermost functions per chain, characters per function
/// name.
const LISTED: usize = 60;
const SMALLEST: f64 = 1e-3;
const FRAMES: usize = 48;
const LETTERS: usize = 160;

/// Call chain -> weight of the sleeps below it.
#[derive(Debug, Default)]
pub(super) struct Weights(BTreeMap<String, f64>);

impl Weights {
    /// Adds a chain whose first frame is the outermost function.
    pub fn add<S: AsRef<str>>(&mut self, frames: &[S], weight: f64) {
        let inner = &frames[frames.len().saturating_sub(FRAMES)..];
        let inner: Vec<String> = inner.iter().map(|frame| frame.as_ref().chars().take(LETTERS).collect()).collect();
        *self.0.entry(inner.join(";")).or_default() += weight;
    }

    /// Shares of the threads' time; they add up to `slept`, the share for which these threads slept.
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
