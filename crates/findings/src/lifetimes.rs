//! Ladders that run within one server lifetime: how much of the difference between trials of a rung a restart
//! explains, and how the position in the lifetime affects a rung.

use super::collect::ConditionTrials;
use super::confidence::{CONFIDENCE, FURTHER};
use serde::Serialize;
use std::collections::BTreeMap;
use tare_stats::Interval;
use tare_stats::blocks::{are_few, level};
use tare_stats::trials::mean_interval;

/// Effects of shared servers on the trials of a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lifetimes {
    pub lifetimes: usize,
    pub rungs: usize,
    /// Share of the variance between trials of a rung that all rungs of a lifetime have in common: the effect of a
    /// restart.
    pub restart_share: f64,
    /// Relative change of the metric per rung measured earlier on the same server.
    pub per_place: f64,
    /// 95% interval of `per_place`.
    #[serde(flatten, serialize_with = "super::confidence::ci")]
    pub ci: Option<Interval>,
    /// Whether the position is shown to have an effect, at the rate of a further finding.
    pub shown: bool,
}

/// None if no trials shared a server.
pub(super) fn find(conditions: &[ConditionTrials<'_>], metric: &str) -> Option<Lifetimes> {
    // Lifetime -> (position in it, ln of the trial's mean minus the mean of its condition).
    let mut lifetimes: BTreeMap<usize, Vec<(f64, f64)>> = BTreeMap::new();
    for condition in conditions {
        let trials: Vec<_> = condition.with(metric).into_iter().filter(|(_, mean)| *mean > 0.0).collect();
        if trials.len() < 2 {
            continue;
        }
        let centre = trials.iter().map(|(_, mean)| mean.ln()).sum::<f64>() / trials.len() as f64;
        for (trial, mean) in trials {
            let Some(lifetime) = &trial.lifetime else { continue };
            lifetimes.entry(lifetime.number).or_default().push((lifetime.place as f64, mean.ln() - centre));
        }
    }
    lifetimes.retain(|_, rungs| rungs.len() > 1);
    if lifetimes.len() < 2 {
        return None;
    }
    let factors: Vec<f64> = lifetimes.values().filter_map(|rungs| Some(slope(rungs)?.exp())).collect();
    let per_place = factors.iter().sum::<f64>() / factors.len().max(1) as f64 - 1.0;
    let strict = mean_interval(&factors, level(1.0 - FURTHER, are_few([factors.len()])));
    let ci = mean_interval(&factors, CONFIDENCE).map(|ci| Interval { low: ci.low - 1.0, high: ci.high - 1.0 });
    Some(Lifetimes {
        lifetimes: lifetimes.len(),
        rungs: lifetimes.values().map(Vec::len).max().unwrap_or(0),
        restart_share: in_common(lifetimes.values()),
        per_place,
        ci,
        shown: strict.is_some_and(|ci| !ci.contains(1.0)),
    })
}

/// Least-squares slope of the residual over the position.
fn slope(rungs: &[(f64, f64)]) -> Option<f64> {
    let n = rungs.len() as f64;
    let (x, y) = (rungs.iter().map(|r| r.0).sum::<f64>() / n, rungs.iter().map(|r| r.1).sum::<f64>() / n);
    let spread = rungs.iter().map(|r| (r.0 - x).powi(2)).sum::<f64>();
    (spread > 0.0).then(|| rungs.iter().map(|r| (r.0 - x) * (r.1 - y)).sum::<f64>() / spread)
}

/// The intraclass correlation of a one-way analysis of variance over lifetimes (Searle and others, Variance
/// Components, 3.6), not below 0.
fn in_common<'a>(lifetimes: impl Iterator<Item = &'a Vec<(f64, f64)>> + Clone) -> f64 {
    let sizes: Vec<f64> = lifetimes.clone().map(|rungs| rungs.len() as f64).collect();
    let (groups, all) = (sizes.len() as f64, sizes.iter().sum::<f64>());
    let means: Vec<f64> =
        lifetimes.clone().map(|rungs| rungs.iter().map(|r| r.1).sum::<f64>() / rungs.len() as f64).collect();
    let grand = means.iter().zip(&sizes).map(|(mean, n)| mean * n).sum::<f64>() / all;
    let between = means.iter().zip(&sizes).map(|(mean, n)| n * (mean - grand).powi(2)).sum::<f64>() / (groups - 1.0);
    let inside = lifetimes.zip(&means).map(|(rungs, mean)| rungs.iter().map(|r| (r.1 - mean).powi(2)).sum::<f64>());
    let within = inside.sum::<f64>() / (all - groups);
    let usual = (all - sizes.iter().map(|n| n * n).sum::<f64>() / all) / (groups - 1.0);
    let component = (between - within) / usual;
    if component <= 0.0 || !component.is_finite() { 0.0 } else { component / (component + within) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::schema::{Levels, LifetimeRecord, PlannedTrial, SampleRecord, TrialRecord};

    /// Six servers with two rungs each, in either order; the second rung of a server is faster by `gain` plus -1, 0 or
    /// 1%.
    #[test]
    fn an_effect_of_the_position_is_shown_at_the_rate_of_a_further_finding() {
        let shown = |gain: f64| {
            let names = ["threads=1", "threads=2"];
            let of = |name: &str| -> Vec<TrialRecord> {
                let trial = |number: usize| {
                    let place = usize::from((name == names[0]) != (number < 3));
                    let ln = place as f64 * (gain + 0.01 * ((number % 3) as f64 - 1.0));
                    let planned =
                        PlannedTrial { trial: number, block: number, condition: name.to_owned(), lifetime: None };
                    let metrics = [("tps".to_owned(), 1000.0 * ln.exp())].into();
                    TrialRecord {
                        samples: vec![SampleRecord { elapsed_s: 1.0, metrics, ..SampleRecord::default() }],
                        lifetime: Some(LifetimeRecord { number, place, order: Vec::new() }),
                        ..TrialRecord::new(&planned, 1, Levels::new(), String::new())
                    }
                };
                (0..6).map(trial).collect()
            };
            let (records, levels) = (names.map(of), Levels::new());
            let conditions = [0, 1].map(|place: usize| ConditionTrials {
                name: names[place],
                levels: &levels,
                factors: [].into(),
                ok: records[place].iter().collect(),
                failed: Vec::new(),
                set_aside: Vec::new(),
                blocked: true,
                at_best: false,
            });
            let found = find(&conditions, "tps").unwrap();
            (found.ci.unwrap().low > 0.0, found.shown)
        };
        // 3.5 and 14 standard errors, with limits of 2.6 and 4.8.
        assert_eq!([shown(0.0128), shown(0.05)], [(true, false), (true, true)]);
    }

    #[test]
    fn variation_by_restarts_differs_from_variation_by_rungs() {
        // First, servers differ by 10% and rungs within a server hardly at all; then the opposite.
        let servers =
            [vec![(0.0, 0.1), (1.0, 0.101)], vec![(0.0, -0.1), (1.0, -0.099)], vec![(0.0, 0.0), (1.0, 0.001)]];
        assert!(in_common(servers.iter()) > 0.99);
        let rungs = [vec![(0.0, 0.1), (1.0, -0.1)], vec![(0.0, -0.1), (1.0, 0.1)], vec![(0.0, 0.1), (1.0, -0.1)]];
        assert!(in_common(rungs.iter()) < 1e-12);
        assert!((slope(&servers[0]).unwrap() - 0.001).abs() < 1e-12);
        assert_eq!(slope(&[(1.0, 0.5), (1.0, 0.7)]), None);
    }
}
