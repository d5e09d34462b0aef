//! Call chains of sleeps, as shares of the time of the threads that serve connections.

use std::collections::BTreeMap;
use tare_results::waits::CallerShare;

/// Limits: chains listed in full and shortened, smallest share of the time listed, innermost functions per chain and
/// per shortened one, characters per function name.
const LISTED: usize = 60;
const SMALLEST: f64 = 1e-3;
const SMALLEST_SHORTENED: f64 = 1e-4;
const INNERMOST: usize = 8;
const FRAMES: usize = 48;
const LETTERS: usize = 160;

/// Call chain -> weight of the sleeps below it.
#[derive(Debug, Default)]
pub(super) struct Weights(BTreeMap<String, f64>);

impl Weights {
    /// Adds a chain whose first frame is the outermost function.
    pub(crate) fn add<S: AsRef<str>>(&mut self, frames: &[S], weight: f64) {
        let inner = &frames[frames.len().saturating_sub(FRAMES)..];
        let inner: Vec<String> = inner.iter().map(|frame| frame.as_ref().chars().take(LETTERS).collect()).collect();
        *self.0.entry(inner.join(";")).or_default() += weight;
    }

    /// Sum of all weights.
    pub(crate) fn sum(&self) -> f64 {
        self.0.values().sum()
    }

    /// Shares of the threads' time, of which they slept the share `slept`, the weight `whole`. Chains beyond the limits
    /// are added up by their innermost functions, so that a wait with many callers is not lost.
    pub(crate) fn shares(self, slept: f64, whole: f64) -> Vec<CallerShare> {
        let share = |(chain, weight)| CallerShare { chain, fraction: slept * weight / whole };
        let mut all: Vec<CallerShare> = self.0.into_iter().map(share).collect();
        all.sort_by(|a, b| b.fraction.total_cmp(&a.fraction));
        let listed = all.iter().take(LISTED).take_while(|one| one.fraction >= SMALLEST).count();
        let mut shortened: BTreeMap<String, f64> = BTreeMap::new();
        for one in all.split_off(listed) {
            *shortened.entry(innermost(&one.chain)).or_default() += one.fraction;
        }
        let mut shortened: Vec<CallerShare> =
            shortened.into_iter().map(|(chain, fraction)| CallerShare { chain, fraction }).collect();
        shortened.sort_by(|a, b| b.fraction.total_cmp(&a.fraction));
        all.extend(shortened.into_iter().take(LISTED).filter(|one| one.fraction >= SMALLEST_SHORTENED));
        all.sort_by(|a, b| b.fraction.total_cmp(&a.fraction));
        all
    }
}

/// The innermost functions of a chain, of which consecutive equal ones, mostly without a name, count as one.
fn innermost(chain: &str) -> String {
    let mut functions: Vec<&str> = chain.split(';').collect();
    functions.dedup();
    functions.split_off(functions.len().saturating_sub(INNERMOST)).join(";")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Statements of 200 kinds wait for pages, each for 0.08% of the time; one chain is long enough to be listed.
    #[test]
    fn a_wait_with_many_callers_is_added_up_by_its_innermost_functions() {
        let mut weights = Weights::default();
        let inner = ["f1", "f2", "f3", "f4", "buf_page_get_gen", "[mariadbd]", "[mariadbd]", "rw_lock_wait", "futex"];
        for kind in 0..200 {
            weights.add(&[&[format!("statement_{kind}").as_str()][..], &inner].concat(), 0.08);
        }
        weights.add(&["main", "commit"], 4.0);
        let found = weights.shares(0.2, 20.0);
        let found: Vec<(&str, f64)> =
            found.iter().map(|one| (one.chain.as_str(), (1e6 * one.fraction).round() / 1e6)).collect();
        let pages = "f1;f2;f3;f4;buf_page_get_gen;[mariadbd];rw_lock_wait;futex";
        assert_eq!(found, [(pages, 0.16), ("main;commit", 0.04)]);
    }
}
