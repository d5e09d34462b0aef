//! Plans repetitions: warm-up, samples per trial and trials from a pilot, within a time budget.

use super::trials::Trials;
use crate::components::{Components, Nested, components};
use crate::descriptive::batch_means;
use crate::error::{Error, all_positive, valid_confidence};
use crate::quantiles::t_two_sided;

/// Maximum number of trials or samples that is recommended.
const MOST: u64 = 1_000_000;
/// Minimum number of trials that is recommended: two give an interval of t = 12.7 standard errors, which is useless.
const FEWEST_TRIALS: u64 = 3;

/// Power with which a difference is detected, wherever the smallest detectable one or the trials that detect one are
/// given: in four runs of five.
pub const POWER: f64 = 0.8;

/// The measurements of a pilot.
#[derive(Debug, Clone, Copy)]
pub struct Pilot<'a> {
    /// Readings at a fixed interval from the start of the load, one series per trial.
    pub series: &'a [Vec<f64>],
    /// Seconds between two readings.
    pub interval_s: f64,
    /// Measured samples, outer = trials; two or more trials.
    pub samples: Trials<'a>,
}

/// The time that a trial and a sample take.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    /// Seconds to start, prepare and stop one trial, without warm-up and samples.
    pub trial_s: f64,
    /// Seconds of one sample.
    pub sample_s: f64,
    /// Number of conditions, which all take the same number of trials.
    pub conditions: u64,
}

/// The target of the planned repetitions.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Half-width of the interval of the mean, as a fraction of the mean, e.g. 0.01.
    pub relative_half_width: f64,
    /// Confidence level of that interval, e.g. 0.95.
    pub confidence: f64,
    /// Time budget for all trials of all conditions, in seconds.
    pub budget_s: f64,
    /// Maximum number of samples in one trial.
    pub max_samples: u64,
    /// Maximum number of trials of each condition, at least 2.
    pub max_trials: u64,
}

/// The recommended repetitions, and the precision to expect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recommendation {
    /// Seconds to discard at the start of a trial.
    pub warmup_s: f64,
    /// Whether every pilot series reached a steady state; if not, `warmup_s` is the longest pilot and may be too short.
    pub settled: bool,
    /// Samples in each trial.
    pub samples: u64,
    /// Trials of each condition.
    pub trials: u64,
    /// Expected half-width with these counts, as a fraction of the mean.
    pub relative_half_width: f64,
    /// Whether the expected half-width is at most the target.
    pub reaches_target: bool,
    /// Seconds for all trials of all conditions. Above the budget only when three trials of one sample do not fit.
    pub total_s: f64,
}

/// Counts of the levels below the top that give the narrowest interval for the time: r_i = ceil(sqrt((c_{i+1} / c_i)
/// (T_i^2 / T_{i+1}^2))) (Kalibera & Jones 2013), between 1 and `most`. `costs` has one entry per level, in seconds,
/// each without the repetitions below it. If the level above adds no variance, the count is `most`.
///
/// # Errors
/// [`Error::Mismatch`] unless there is one cost per level, [`Error::NotPositive`] for a cost that is not positive.
pub fn optimal_counts(found: &Components, costs: &[f64], most: u64) -> Result<Vec<u64>, Error> {
    if costs.len() != found.levels.len() {
        return Err(Error::Mismatch { what: "costs a level".into(), expected: found.levels.len(), got: costs.len() });
    }
    all_positive("cost of a repetition", costs)?;
    let pairs = found.levels.windows(2).zip(costs.windows(2));
    Ok(pairs
        .map(|(level, cost)| match (level[0].t2, level[1].t2) {
            (0.0, _) => 1,
            (_, 0.0) => most.max(1),
            (below, above) => ((cost[1] / cost[0] * below / above).sqrt().ceil() as u64).clamp(1, most.max(1)),
        })
        .collect())
}

/// Half-width t_{n-1} sqrt(S^2 / n) / |mean| of the interval over `n` top-level repetitions of variance `s2`.
pub fn relative_half_width(mean: f64, s2: f64, n: u64, confidence: f64) -> f64 {
    if s2 == 0.0 {
        return 0.0;
    }
    t_two_sided(confidence, n as f64 - 1.0) * (s2 / n as f64).sqrt() / mean.abs()
}

/// Fewest top-level repetitions whose interval is no wider than the target: the smallest n >= 2 with t_{n-1}^2 S^2 / n
/// <= (e mean)^2, with t for the recommended n and not for the pilot's. `None` beyond a million.
pub fn top_count(mean: f64, s2: f64, half_width: f64, confidence: f64) -> Option<u64> {
    fewest(|n| relative_half_width(mean, s2, n, confidence) <= half_width)
}

/// Fewest trials of each of two sides that show this difference, as a fraction of the mean, with [`POWER`]: the
/// smallest n >= 2 with (t_{1 - alpha / 2} + t_power) CoV sqrt(2 / n) <= difference, as in [`crate::ratio::Shift`], t
/// with 2 n - 2 degrees of freedom. `None` beyond a million.
pub fn trials_to_show(difference: f64, cov: f64, confidence: f64) -> Option<u64> {
    let df = |n: u64| 2.0 * n as f64 - 2.0;
    let errors = |n: u64| t_two_sided(confidence, df(n)) + t_two_sided(2.0 * POWER - 1.0, df(n));
    fewest(|n| errors(n) * cov * (2.0 / n as f64).sqrt() <= difference)
}

/// The smallest number from 2 on for which `enough` holds; it must hold for larger ones too. `None` beyond a million.
fn fewest(enough: impl Fn(u64) -> bool) -> Option<u64> {
    if !enough(MOST) {
        return None;
    }
    let (mut too_few, mut enough_at) = (1, MOST);
    while enough_at - too_few > 1 {
        let middle = too_few.midpoint(enough_at);
        if enough(middle) { enough_at = middle } else { too_few = middle }
    }
    Some(enough_at)
}

/// Readings to discard, by MSER-5 (White, "An effective truncation heuristic for bias reduction in simulation output",
/// Simulation 69, 1997): from the batch means of five readings, the number d to drop that minimises the squared
/// standard error of the rest, sum (y - mean)^2 / (n - d)^2. Preferred to comparing halves because it needs no
/// threshold. With fewer than 50 readings, single readings are used instead of batches. `None` when the series is too
/// short or the best d is in its second half: it has not reached a steady state.
pub fn warmup_readings(series: &[f64]) -> Option<usize> {
    let batch = if series.len() >= 50 { 5 } else { 1 };
    // A remainder belongs to the front, and so to the dropped part.
    let rest = series.len() % batch;
    // In units of the largest value, so that squares neither overflow nor underflow.
    let largest = series.iter().fold(f64::MIN_POSITIVE, |largest, v| largest.max(v.abs()));
    let y = batch_means(&series.iter().map(|v| v / largest).collect::<Vec<_>>(), batch);
    let n = y.len();
    if n < 4 || !series.iter().all(|v| v.is_finite()) {
        return None;
    }
    // From the end: running mean and sum of squares of y[d..] (Welford).
    let (mut centre, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, n);
    for (kept, d) in (0..n).rev().enumerate().map(|(i, d)| (i as f64 + 1.0, d)) {
        let delta = y[d] - centre;
        centre += delta / kept;
        squares += delta * (y[d] - centre);
        let score = squares / (kept * kept);
        // The last few are too short to judge; ties go to the shorter warm-up.
        if n - d >= 4.min(n / 2) && score <= best.0 {
            best = (score, d);
        }
    }
    (best.1 <= n / 2).then(|| if best.1 == 0 { 0 } else { best.1 * batch + rest })
}

/// Factor on the variance of a pilot of this many trials, for planning: its upper bound at two thirds confidence: n - 1
/// divided by the lower third of chi-squared with n - 1 degrees of freedom (Wilson & Hilferty 1931). The variance of a
/// few trials is more often too small than too large, and then too few trials would be planned. With 4, 6 and 10 pilot
/// trials the factor is 1.9, 1.6 and 1.3.
fn upper_variance(trials: usize) -> f64 {
    /// The standard normal quantile at 1/3.
    const THIRD: f64 = -0.4307;
    let df = (trials as f64 - 1.0).max(1.0);
    let spread = 2.0 / (9.0 * df);
    (1.0 - spread + THIRD * spread.sqrt()).powi(-3)
}

/// Recommends warm-up, samples and trials from a pilot. The warm-up is the longest that [`warmup_readings`] finds in
/// any pilot trial; samples are from [`optimal_counts`], with the warm-up included in the cost of a trial; trials are
/// from [`top_count`], with a variance somewhat larger than the pilot's, because that is uncertain too. If this exceeds
/// the budget, first trials are removed (the samples are already optimal for the time), then samples.
///
/// # Errors
/// [`Error::TooFew`] for fewer than two pilot trials, [`Error::NotPositive`] or [`Error::OutOfRange`] for costs, budget
/// or target, and the errors of [`components`].
pub fn recommend(pilot: &Pilot, costs: &Costs, target: &Target) -> Result<Recommendation, Error> {
    let wanted = [pilot.interval_s, costs.trial_s, costs.sample_s, target.relative_half_width, target.budget_s];
    all_positive("interval, costs, half-width and budget", &wanted)?;
    all_positive("number of conditions", &[costs.conditions as f64])?;
    valid_confidence(target.confidence)?;
    let found = components(&Nested::from_trials(pilot.samples))?;
    if found.mean == 0.0 {
        return Err(Error::NotPositive { what: "magnitude of the pilot mean".into(), value: 0.0 });
    }
    let warmups: Vec<Option<usize>> = pilot.series.iter().map(|s| warmup_readings(s)).collect();
    let readings = pilot.series.iter().zip(&warmups).map(|(s, w)| w.unwrap_or(s.len())).max().unwrap_or(0);
    let warmup_s = readings as f64 * pilot.interval_s;
    let trial_s = costs.trial_s + warmup_s;
    let duration = |samples: u64, trials: u64| {
        costs.conditions as f64 * trials as f64 * (trial_s + samples as f64 * costs.sample_s)
    };

    let mut samples = optimal_counts(&found, &[costs.sample_s, trial_s], target.max_samples)?[0];
    let s2 = |samples: u64| found.top_variance(&[samples]);
    let planned_for = s2(samples) * upper_variance(pilot.samples.iter().count());
    let needed = top_count(found.mean, planned_for, target.relative_half_width, target.confidence).unwrap_or(MOST);
    let affordable = (target.budget_s / duration(samples, 1)).floor() as u64;
    let trials = needed.min(affordable).min(target.max_trials).max(FEWEST_TRIALS);
    if duration(samples, trials) > target.budget_s {
        let for_samples = target.budget_s / (costs.conditions as f64 * trials as f64) - trial_s;
        samples = samples.min((for_samples / costs.sample_s).floor() as u64).max(1);
    }
    let expected = relative_half_width(found.mean, s2(samples), trials, target.confidence);
    Ok(Recommendation {
        warmup_s,
        settled: warmups.iter().all(Option::is_some),
        samples,
        trials,
        relative_half_width: expected,
        reaches_target: expected <= target.relative_half_width,
        total_s: duration(samples, trials),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::Level;

    fn two_levels(t1: f64, t2: f64) -> Components {
        let level = |t2| Level { count: 10.0, s2: Some(t2), t2 };
        Components { mean: 100.0, levels: vec![level(t1), level(t2)] }
    }

    #[test]
    fn the_optimal_count_minimises_variance_times_cost() {
        for (t1, t2, c1, c2) in [(9.0, 1.0, 2.0, 50.0), (1.0, 4.0, 1.0, 30.0), (25.0, 1.0, 10.0, 10.0)] {
            let r = optimal_counts(&two_levels(t1, t2), &[c1, c2], 1000).unwrap()[0];
            let price = |r: f64| (t2 + t1 / r) * (c2 + r * c1);
            let best = (1..1000).map(f64::from).min_by(|a, b| price(*a).total_cmp(&price(*b))).unwrap();
            assert!((r as f64 - best).abs() <= 1.0, "{r} against {best}");
        }
        assert_eq!(optimal_counts(&two_levels(1.0, 0.0), &[1.0, 1.0], 40).unwrap(), [40]);
        assert_eq!(optimal_counts(&two_levels(0.0, 0.0), &[1.0, 1.0], 40).unwrap(), [1]);
        assert!(optimal_counts(&two_levels(1.0, 1.0), &[1.0], 40).is_err());
    }

    #[test]
    fn the_top_count_is_the_smallest_that_reaches_the_half_width() {
        // CoV 5%, half-width 2% at 95%: the normal count is (1.96 x 2.5)^2 = 24.01, with t it is 27.
        assert_eq!(top_count(100.0, 25.0, 0.02, 0.95), Some(27));
        assert!(relative_half_width(100.0, 25.0, 26, 0.95) > 0.02);
        assert_eq!(top_count(100.0, 0.0, 0.02, 0.95), Some(2));
        assert_eq!(top_count(1.0, 1e12, 1e-9, 0.95), None);
    }

    /// The lower third of chi-squared: 1.568, 3.216 and 6.570 with 3, 5 and 9 degrees of freedom.
    #[test]
    fn a_plan_uses_the_upper_bound_of_the_variance() {
        for (trials, expected) in [(4, 3.0 / 1.568), (6, 5.0 / 3.216), (10, 9.0 / 6.570)] {
            let found = upper_variance(trials);
            assert!((found / expected - 1.0).abs() < 0.03, "{trials}: {found} against {expected}");
        }
    }

    #[test]
    fn warm_up_is_found_where_the_series_settles() {
        let rising: Vec<f64> =
            (0..300).map(|i| 1000.0 * (1.0 - (-f64::from(i) / 10.0).exp()) + f64::from(i % 7)).collect();
        let d = warmup_readings(&rising).unwrap();
        assert!((30..=90).contains(&d), "{d}");
        assert_eq!(warmup_readings(&[5.0; 100]), Some(0));
        let never: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(warmup_readings(&never), None);
        assert_eq!(warmup_readings(&[1.0, 2.0]), None);
    }

    #[test]
    fn advice_fits_the_budget_and_says_whether_it_reaches_the_target() {
        let samples: Vec<Vec<f64>> =
            (0..6).map(|i| (0..8).map(|j| 100.0 + 3.0 * f64::from(i % 3) + f64::from(j % 2)).collect()).collect();
        let series = vec![vec![7.0; 60]; 2];
        let pilot = Pilot { series: &series, interval_s: 1.0, samples: Trials::new(&samples).unwrap() };
        let costs = Costs { trial_s: 10.0, sample_s: 5.0, conditions: 4 };
        let mut target =
            Target { relative_half_width: 0.02, confidence: 0.95, budget_s: 1e5, max_samples: 50, max_trials: 1000 };
        let ample = recommend(&pilot, &costs, &target).unwrap();
        assert!(ample.reaches_target && ample.relative_half_width <= 0.02 && ample.settled && ample.warmup_s == 0.0);
        let found = components(&Nested::from_trials(Trials::new(&samples).unwrap())).unwrap();
        let planned_for = 1.55 * found.top_variance(&[ample.samples]);
        let with = |trials| relative_half_width(found.mean, planned_for, trials, 0.95);
        assert!(with(ample.trials - 1) > 0.0195 && with(ample.trials) < 0.0205, "no more trials than needed");
        target.budget_s = 300.0;
        let tight = recommend(&pilot, &costs, &target).unwrap();
        assert!(!tight.reaches_target && tight.total_s <= 300.0 && tight.trials >= 3);
        target.budget_s = 1.0;
        let none = recommend(&pilot, &costs, &target).unwrap();
        assert_eq!((none.samples, none.trials), (1, 3));
        assert!(none.total_s > 1.0);
    }
}
