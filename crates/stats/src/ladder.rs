//! The steps of a ladder of threads or nodes: what each gains, and where more gives less.

use crate::error::Error;
use crate::interval::Estimate;
use crate::ratio::{Arms, Better, Verdict, compare, fieller};

/// One rung.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// Threads or nodes.
    pub n: f64,
    /// Trial means of throughput.
    pub trials: Vec<f64>,
}

/// From one rung to the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Threads or nodes before.
    pub from: f64,
    /// Threads or nodes after.
    pub to: f64,
    /// Throughput after / before with its interval; the gain is this less 1.
    pub ratio: Estimate,
    /// Throughput drops beyond its interval, Holm-adjusted over the steps so that a flat ladder of many rungs raises no
    /// false alarm.
    pub retrograde: bool,
}

/// The steps between neighbouring rungs, in ascending order of N.
///
/// Where a rung has a single trial there is no interval to be beyond; a step is then retrograde when throughput drops
/// at all, and the absent interval says that nothing proves it.
///
/// # Errors
/// As [`fieller`]; [`Error::NotFinite`] for an N that is not.
pub fn steps(rungs: &[Rung], confidence: f64) -> Result<Vec<Step>, Error> {
    crate::error::all_finite("threads or nodes", &rungs.iter().map(|r| r.n).collect::<Vec<_>>())?;
    let mut sorted: Vec<&Rung> = rungs.iter().collect();
    sorted.sort_by(|a, b| a.n.total_cmp(&b.n));
    let mut found = Vec::with_capacity(sorted.len());
    let mut tested = Vec::new();
    for pair in sorted.windows(2) {
        let arms = Arms { a: &pair[0].trials, b: &pair[1].trials, better: Better::Higher };
        let ratio = fieller(arms.a, arms.b, confidence)?;
        if ratio.ci.is_some() {
            tested.push((found.len(), arms));
        }
        let drops = ratio.value < 1.0 && ratio.ci.is_none();
        found.push(Step { from: pair[0].n, to: pair[1].n, ratio, retrograde: drops });
    }
    let family: Vec<Arms> = tested.iter().map(|(_, arms)| *arms).collect();
    for ((at, _), outcome) in tested.iter().zip(compare(&family, 0.0, confidence)?) {
        found[*at].retrograde = outcome.verdict == Verdict::Slower;
    }
    Ok(found)
}

/// Whether any step is retrograde.
pub fn is_retrograde(steps: &[Step]) -> bool {
    steps.iter().any(|s| s.retrograde)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Article D, point_select on 1, 2, 4 nodes with 2% between trials: before the fixes +90% and then -10 to -15%,
    /// after them +42%.
    fn point_select(last: f64, trials: usize) -> Vec<Rung> {
        let wobble = [0.98, 1.02, 1.0, 0.99, 1.01];
        let rung = |n, x: f64| Rung { n, trials: wobble[5 - trials..].iter().map(|w| x * w).collect() };
        // Out of order on purpose.
        vec![rung(4.0, 190.0 * last), rung(1.0, 100.0), rung(2.0, 190.0)]
    }

    #[test]
    fn article_d_is_retrograde_before_the_fixes_and_not_after() {
        for trials in [1, 3, 5] {
            for drop in [0.90, 0.875, 0.85] {
                let before = steps(&point_select(drop, trials), 0.95).unwrap();
                assert_eq!(before.iter().map(|s| s.retrograde).collect::<Vec<_>>(), [false, true]);
                assert!((before[0].ratio.value - 1.9).abs() < 1e-9);
            }
            assert!(!is_retrograde(&steps(&point_select(1.42, trials), 0.95).unwrap()));
        }
    }

    #[test]
    fn a_drop_within_its_interval_is_not_retrograde() {
        let rung = |n, trials: &[f64]| Rung { n, trials: trials.to_vec() };
        let noisy = [rung(1.0, &[100.0, 90.0, 110.0]), rung(2.0, &[98.0, 85.0, 112.0])];
        assert!(!is_retrograde(&steps(&noisy, 0.95).unwrap()));
        assert_eq!(steps(&noisy[..1], 0.95).unwrap(), []);
    }
}
