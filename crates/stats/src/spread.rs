//! The variation between trials of a condition, as a coefficient of variation (CoV), and the ratio of two such CoVs.
//!
//! The logarithm of the CoV, averaged over the metrics of the condition, is jackknifed over trials. A trial is left out
//! with all its metrics, so that correlated metrics do not count as independent (Miller, "Jackknifing variances",
//! Annals of Mathematical Statistics 39, 1968).

use super::{Estimate, Interval, quantiles};
use crate::descriptive::{cov, mean, std_dev};
use crate::quantiles::t_two_sided;

/// Fewest trials of a condition for an interval of its CoV.
const FEWEST: usize = 4;

/// The jackknifed logarithm of a CoV.
#[derive(Debug, Clone, Copy)]
struct LogCov {
    value: f64,
    /// Its standard error with its degrees of freedom; `None` with too few trials.
    error: Option<(f64, f64)>,
}

/// The geometric mean over metrics of the CoV between trials, with its interval. `metrics` holds one list per metric:
/// its means in the same trials, in the same order. `None` when a metric does not vary or has fewer than two trials.
pub fn between(metrics: &[Vec<f64>], confidence: f64) -> Option<Estimate> {
    let found = log_cov(metrics)?;
    Some(estimate(found.value, found.error, confidence))
}

/// The ratio of the CoVs between trials, B / A, averaged over metrics on the logarithmic scale, with its interval from
/// the standard errors of both sides with Welch's degrees of freedom. The sides are as in [`between`]; the lengths of
/// their lists may differ. `None` when a side has no variation.
pub fn ratio(a: &[Vec<f64>], b: &[Vec<f64>], confidence: f64) -> Option<Estimate> {
    let (a, b) = (log_cov(a)?, log_cov(b)?);
    let error = a.error.zip(b.error).map(|((a, a_df), (b, b_df))| {
        let (total, df) = quantiles::sum_of_variances([(a * a, a_df), (b * b, b_df)]);
        (total.sqrt(), df)
    });
    Some(estimate(b.value - a.value, error, confidence))
}

fn estimate(log: f64, error: Option<(f64, f64)>, confidence: f64) -> Estimate {
    let ci = error.filter(|(_, df)| df.is_finite()).and_then(|(se, df)| {
        let half = t_two_sided(confidence, df) * se;
        Interval::finite((log - half).exp(), (log + half).exp())
    });
    Estimate { value: log.exp(), ci }
}

fn log_cov(metrics: &[Vec<f64>]) -> Option<LogCov> {
    let trials = metrics.first()?.len();
    let whole = mean_log(metrics, None)?;
    if trials < FEWEST {
        return Some(LogCov { value: whole, error: None });
    }
    let n = trials as f64;
    let pseudo: Vec<f64> = (0..trials)
        .map(|left_out| Some(n * whole - (n - 1.0) * mean_log(metrics, Some(left_out))?))
        .collect::<Option<_>>()?;
    Some(LogCov { value: mean(&pseudo)?, error: Some((std_dev(&pseudo)? / n.sqrt(), n - 1.0)) })
}

/// The mean over metrics of the logarithm of the CoV, leaving out one trial if given.
fn mean_log(metrics: &[Vec<f64>], left_out: Option<usize>) -> Option<f64> {
    let logs: Vec<f64> = metrics
        .iter()
        .map(|values| {
            let kept = values.iter().enumerate().filter(|(at, _)| Some(*at) != left_out);
            let kept: Vec<f64> = kept.map(|(_, value)| *value).collect();
            cov(&kept).map(f64::ln).filter(|log| log.is_finite())
        })
        .collect::<Option<_>>()?;
    mean(&logs)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Normal values around 100, from a fixed seed.
    fn normal(seed: u64, n: usize, spread: f64) -> Vec<f64> {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut uniform = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..n).map(|_| 100.0 + spread * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0)).collect()
    }

    /// Seeds from 70,001 on, none of which was used during development.
    #[test]
    fn the_interval_of_a_ratio_of_spreads_covers_it() {
        for n in [6, 10] {
            let covers = (0..400).filter(|round| {
                let seed = 70_001 + 2 * round;
                let (a, b) = (normal(seed, n, 1.0), normal(seed + 1, n, 3.0));
                let ci = ratio(&[a], &[b], 0.95).unwrap().ci.unwrap();
                // The mean is 100 on both sides, so the CoVs are proportional to the standard deviations.
                ci.contains(3.0)
            });
            let share = covers.count() as f64 / 400.0;
            assert!((0.88..=0.99).contains(&share), "{n} trials: {share}");
        }
    }

    #[test]
    fn metrics_that_move_together_say_no_more_than_one_of_them() {
        let (a, b) = (normal(70_900, 8, 1.0), normal(70_901, 8, 2.0));
        let one = ratio(std::slice::from_ref(&a), std::slice::from_ref(&b), 0.95).unwrap();
        let four = ratio(&vec![a; 4], &vec![b; 4], 0.95).unwrap();
        assert!((one.value - four.value).abs() < 1e-9);
        assert!((one.ci.unwrap().width() - four.ci.unwrap().width()).abs() < 1e-9);
    }

    #[test]
    fn what_does_not_vary_has_no_spread_and_few_trials_no_interval() {
        assert_eq!(between(&[vec![5.0; 6]], 0.95), None);
        let few = between(&[vec![5.0, 6.0, 5.5]], 0.95).unwrap();
        assert!(few.ci.is_none() && few.value > 0.0);
        assert_eq!(between(&[], 0.95), None);
    }
}
