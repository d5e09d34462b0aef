//! The steps of a ladder of threads or nodes: the gain of each step, and retrograde scaling.

use crate::error::Error;
use crate::interval::Estimate;
use crate::ratio::{Arms, Better, Comparison, Design, Rounding, Verdict, by_block, compare};

/// One rung of a ladder, with all of its trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// Threads or nodes of this rung.
    pub n: f64,
    /// Trial means of throughput.
    pub trials: Vec<f64>,
    /// The block of each trial, by which adjacent rungs are paired; empty if there are none.
    pub blocks: Vec<usize>,
    /// What rounding hides of these trials; `None` if each trial is one sample, which then says it itself.
    pub rounding: Option<Rounding>,
}

/// The step from one rung to the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Threads or nodes before the step.
    pub from: f64,
    /// Threads or nodes after the step.
    pub to: f64,
    /// Throughput after / before with its interval; the gain is this minus 1.
    pub ratio: Estimate,
    /// Whether throughput drops significantly, Holm-adjusted over the steps, so that a flat ladder of many rungs causes
    /// no false alarm.
    pub retrograde: bool,
}

/// The steps between adjacent rungs, in ascending order of N.
///
/// Rungs that ran in the same blocks are compared block by block. A rung with a single trial has no interval, so its
/// steps are never retrograde, however much throughput drops.
///
/// # Errors
/// As [`compare`]; [`Error::NotFinite`] for an N that is not finite, [`Error::NotPositive`] for a mean that is not
/// positive.
pub fn steps(rungs: &[Rung], confidence: f64) -> Result<Vec<Step>, Error> {
    crate::error::all_finite("threads or nodes", &rungs.iter().map(|r| r.n).collect::<Vec<_>>())?;
    let mut sorted: Vec<&Rung> = rungs.iter().collect();
    sorted.sort_by(|a, b| a.n.total_cmp(&b.n));
    let joined: Vec<Joined> = sorted.windows(2).map(|pair| Joined::of(pair[0], pair[1])).collect();
    let family: Vec<Arms> = joined.iter().map(Joined::arms).collect();
    let ratios = family.iter().map(|arms| arms.ratio(confidence)).collect::<Result<Vec<_>, _>>()?;
    let outcomes = compare(&family, 0.0, confidence)?;
    let step = |((pair, ratio), outcome): ((&[&Rung], Estimate), Comparison)| Step {
        from: pair[0].n,
        to: pair[1].n,
        ratio,
        retrograde: outcome.verdict == Verdict::Slower,
    };
    Ok(sorted.windows(2).zip(ratios).zip(outcomes).map(step).collect())
}

/// Two adjacent rungs, paired by block where possible.
struct Joined {
    trials: [Vec<f64>; 2],
    design: Design<'static>,
    rounding: Option<[Rounding; 2]>,
}

impl Joined {
    fn of(a: &Rung, b: &Rung) -> Self {
        let numbered = |rung: &Rung| rung.blocks.iter().copied().zip(rung.trials.iter().copied()).collect::<Vec<_>>();
        let rounding = a.rounding.zip(b.rounding).map(|(a, b)| [a, b]);
        match by_block(&numbered(a), &numbered(b)) {
            Some((a, b)) if a.iter().chain(&b).all(|v| *v > 0.0) => {
                Self { trials: [a, b], design: Design::Blocks, rounding }
            }
            _ => Self { trials: [a.trials.clone(), b.trials.clone()], design: Design::Independent, rounding },
        }
    }

    fn arms(&self) -> Arms<'_> {
        Arms {
            a: &self.trials[0],
            b: &self.trials[1],
            better: Better::Higher,
            design: self.design,
            rounding: self.rounding,
        }
    }
}

/// Whether any step is retrograde.
pub fn is_retrograde(steps: &[Step]) -> bool {
    steps.iter().any(|s| s.retrograde)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ["1.6 million QPS with MDB-10.6"](https://mysqlonarm.github.io/1.6mqps-with-mdb106/), point_select on 1, 2, 4
    /// nodes with 2% between trials: before the fixes +90% and then -10 to -15%, after them +42%.
    fn point_select(last: f64, trials: usize) -> Vec<Rung> {
        let wobble = [0.98, 1.02, 1.0, 0.99, 1.01];
        let rung = |n, x: f64| Rung {
            n,
            trials: wobble[5 - trials..].iter().map(|w| x * w).collect(),
            blocks: Vec::new(),
            rounding: None,
        };
        // Out of order on purpose.
        vec![rung(4.0, 190.0 * last), rung(1.0, 100.0), rung(2.0, 190.0)]
    }

    #[test]
    fn article_d_is_retrograde_before_the_fixes_and_not_after() {
        for trials in [3, 5] {
            for drop in [0.90, 0.875, 0.85] {
                let before = steps(&point_select(drop, trials), 0.95).unwrap();
                assert_eq!(before.iter().map(|s| s.retrograde).collect::<Vec<_>>(), [false, true]);
                assert!((before[0].ratio.value - 1.9).abs() < 1e-9);
            }
            assert!(!is_retrograde(&steps(&point_select(1.42, trials), 0.95).unwrap()));
        }
    }

    #[test]
    fn one_trial_a_rung_proves_no_drop() {
        let found = steps(&point_select(0.5, 1), 0.95).unwrap();
        assert!(!is_retrograde(&found) && found[1].ratio.value < 0.51 && found[1].ratio.ci.is_none());
    }

    #[test]
    fn a_drop_under_drift_is_seen_within_blocks_alone() {
        let drift = [100.0, 120.0, 90.0, 130.0, 110.0];
        let rung = |n, scale: f64, blocks: &[usize]| Rung {
            n,
            trials: drift.iter().enumerate().map(|(i, d)| d * scale * (1.0 + 0.002 * (i % 2) as f64)).collect(),
            blocks: blocks.to_vec(),
            rounding: None,
        };
        let paired = [rung(1.0, 1.0, &[0, 1, 2, 3, 4]), rung(2.0, 0.97, &[0, 1, 2, 3, 4])];
        assert!(is_retrograde(&steps(&paired, 0.95).unwrap()));
        assert!(!is_retrograde(&steps(&[rung(1.0, 1.0, &[]), rung(2.0, 0.97, &[])], 0.95).unwrap()));
    }

    #[test]
    fn a_drop_within_its_interval_is_not_retrograde() {
        let rung = |n, trials: &[f64]| Rung { n, trials: trials.to_vec(), blocks: Vec::new(), rounding: None };
        let noisy = [rung(1.0, &[100.0, 90.0, 110.0]), rung(2.0, &[98.0, 85.0, 112.0])];
        assert!(!is_retrograde(&steps(&noisy, 0.95).unwrap()));
        assert_eq!(steps(&noisy[..1], 0.95).unwrap(), []);
    }
}
