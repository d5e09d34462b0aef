//! Sources of the variance between restarts: factors ranked over all queries of a study.

use super::block_spread::{BlockSpread, DIFFER, blocks_differ, of_factor};
use super::design::{Cell, log_cells};
use super::report::log_estimate;
use super::spread_test::{Dispersion, brown_forsythe, fit_dispersion, inflation};
use crate::error::{Error, valid_confidence};
use crate::interval::Estimate;
use crate::multiple::holm;
use crate::quantiles::t_two_sided;

/// One factor as a source of variance.
#[derive(Debug, Clone, PartialEq)]
pub struct FactorSpread {
    /// Index of the factor whose levels differ in variance.
    pub factor: usize,
    /// The level with the larger variance between trials: `true` for the high one.
    pub noisy_level: bool,
    /// Ratio of the between-trial variances, high level divided by low level, averaged (on the log scale) over the
    /// metrics.
    pub spread_ratio: Estimate,
    /// p-value of no effect on the variance by Brown & Forsythe's test, Holm-adjusted over the factors. 1 when that
    /// test finds the other level noisier.
    pub p_value: f64,
    /// Whether the p-value is within the error rate, so that the factor may be reported as a cause.
    pub shown: bool,
    /// Share of the between-trial variance, with every factor at its noisy level, that is removed when this one is held
    /// at its quiet level. 0 unless `shown`.
    pub share: f64,
}

/// The sources of the between-trial variance.
#[derive(Debug, Clone, PartialEq)]
pub struct SpreadRanking {
    /// The factors, the strongest effect on the variance first. If the first is not `shown`, the study does not
    /// identify a source.
    pub ranking: Vec<FactorSpread>,
    /// The share that remains with every shown factor at its quiet level. The shares and this one sum to 1.
    pub unexplained: f64,
    /// Number of metrics with enough replicated variance to be used.
    pub metrics: usize,
}

/// Ranks the `factors` as sources of the between-trial variance, combining all `metrics` (queries). Each has its own
/// slice of cells, in which cell c and trial t are the same trial in every metric.
///
/// For each metric a model of main effects on ln(variance) is fitted; the coefficients are averaged. Queries of one
/// trial are not independent, because they share its random effects. So the variance of the average is that of one
/// metric times sum rho_ab^2 / Q^2, with rho the correlation of standardised residuals (the correlation of two sample
/// variances is the square of that of their values), minus what chance correlation adds.
///
/// This gives the estimates. Significance is decided by Brown & Forsythe's test on the distances from the medians,
/// which is robust against heavy tails and skew.
///
/// When blocks are shown to differ, both use the residuals within blocks: trials of conditions that differ only in the
/// factor, minus the mean of their block at that level. Otherwise, if blocks vary more than trials, no source would be
/// found. Two conditions are compared by their differences within blocks instead, see the source of `pair_spread`.
///
/// Shares: with the shown factors S at their quiet level the variance is v(S) = prod 1 / ratio. The share of a factor
/// is its Shapley value in 1 - v, the average reduction over all orders in which factors are set to their quiet level,
/// so that the shares sum to the total.
///
/// # Errors
/// As [`super::effects`], and [`Error::TooFew`] when no metric has two conditions with replicated variance.
pub fn sources(factors: usize, metrics: &[Vec<Cell>], confidence: f64) -> Result<SpreadRanking, Error> {
    sources_at(factors, metrics, &[], confidence, 1.0 - confidence)
}

/// [`sources`] with `blocks`, those of each cell's trials (empty if there are none), and with an `error_rate` (the
/// probability of naming a factor without effect) that is independent of the confidence of the intervals.
///
/// # Errors
/// As [`sources`].
pub fn sources_at(
    factors: usize,
    metrics: &[Vec<Cell>],
    blocks: &[Vec<usize>],
    confidence: f64,
    error_rate: f64,
) -> Result<SpreadRanking, Error> {
    valid_confidence(confidence)?;
    let logs = metrics.iter().map(|cells| log_cells(factors, cells)).collect::<Result<Vec<_>, _>>()?;
    let fits: Vec<Dispersion> =
        logs.iter().filter_map(|cells| fit_dispersion(&cells.iter().collect::<Vec<_>>(), factors, 1)).collect();
    if fits.is_empty() {
        return Err(Error::TooFew { what: "metrics with replicated spread".into(), needed: 1, got: 0 });
    }
    let shared = shared_luck(&fits);
    let with_trials = |cells: &Vec<Cell>| cells.iter().all(|cell| !cell.trials.is_empty());
    let in_blocks = !blocks.is_empty() && metrics.iter().all(with_trials);
    let chance = if in_blocks { blocks_differ(&logs, blocks) } else { 1.0 };
    let of_blocks = |factor| of_factor(&logs, blocks, factor, confidence).filter(|found| found.is_used(chance));
    let of_blocks: Vec<Option<BlockSpread>> = (0..factors).map(of_blocks).collect();
    let own = of_blocks.iter().enumerate();
    let combined: Vec<Option<(f64, f64)>> = own
        .map(|(factor, of_blocks)| match of_blocks {
            Some(found) => average(found.ratios.iter().copied(), shared, confidence),
            None => combine(&fits, factor, shared, confidence),
        })
        .collect();
    let plain = brown_forsythe(&logs, factors);
    let tests = plain
        .iter()
        .zip(&of_blocks)
        .map(|(plain, of)| of.as_ref().filter(|_| chance <= DIFFER).map_or(*plain, |of| of.test));
    let chances: Vec<f64> =
        tests.zip(&combined).map(|(test, c)| c.map_or(1.0, |(estimate, _)| test.of(estimate))).collect();
    let adjusted = holm(&chances);

    let mut ranking: Vec<FactorSpread> = combined
        .iter()
        .zip(adjusted)
        .enumerate()
        .map(|(factor, (c, p_value))| FactorSpread {
            factor,
            noisy_level: c.is_some_and(|(b, _)| b > 0.0),
            spread_ratio: c.map_or(Estimate { value: 1.0, ci: None }, |(b, half)| log_estimate(b, Some(half))),
            p_value,
            shown: p_value <= error_rate,
            share: 0.0,
        })
        .collect();
    let strength = |s: &FactorSpread| s.spread_ratio.value.ln().abs();
    ranking.sort_by(|a, b| strength(b).total_cmp(&strength(a)));
    let shown: Vec<usize> = (0..ranking.len()).filter(|&i| ranking[i].shown).collect();
    let drops: Vec<f64> = shown.iter().map(|&i| (-strength(&ranking[i])).exp()).collect();
    for (&i, share) in shown.iter().zip(shapley(&drops)) {
        ranking[i].share = share;
    }
    Ok(SpreadRanking { ranking, unexplained: drops.iter().product(), metrics: fits.len() })
}

/// Log ratio of the variances at the two levels of a factor, averaged over the metrics, and the half-width of its
/// interval.
fn combine(fits: &[Dispersion], factor: usize, shared: f64, confidence: f64) -> Option<(f64, f64)> {
    let own = fits.iter().filter_map(|d| {
        let j = d.design.terms.iter().position(|t| *t == [factor])?;
        let (variance, df) = d.error(j, inflation(&d.standardized));
        Some((2.0 * d.values[j], 4.0 * variance, df))
    });
    average(own, shared, confidence)
}

/// The average of effects with given variances and degrees of freedom, and the half-width of its interval. Metrics of
/// the same trials do not add degrees of freedom.
fn average(own: impl Iterator<Item = (f64, f64, f64)>, shared: f64, confidence: f64) -> Option<(f64, f64)> {
    let own: Vec<(f64, f64, f64)> = own.collect();
    let n = own.len() as f64;
    let effect = own.iter().map(|o| o.0).sum::<f64>() / n;
    let variance = own.iter().map(|o| o.1).sum::<f64>() / n * shared.max(1.0 / n);
    let df = own.iter().map(|o| o.2).sum::<f64>() / n;
    (effect.is_finite() && variance > 0.0).then(|| (effect, variance.sqrt() * t_two_sided(confidence, df)))
}

/// Variance of the average of ln(s^2) over the metrics, as a fraction of that of one metric: 1 / Q for independent
/// metrics, 1 for perfectly correlated ones.
fn shared_luck(fits: &[Dispersion]) -> f64 {
    let q = fits.len() as f64;
    let mut sum = q;
    for (i, a) in fits.iter().enumerate() {
        for b in &fits[..i] {
            sum += 2.0 * squared_correlation(&a.standardized, &b.standardized);
        }
    }
    (sum / (q * q)).clamp(1.0 / q, 1.0)
}

/// Squared correlation of the residuals of the same trials, minus what chance adds (1 / degrees of freedom on average,
/// so the result is below 0 as often as above for independent metrics). 1, the conservative value, for metrics of
/// different trials.
fn squared_correlation(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    if a.len() != b.len() || a.iter().zip(b).any(|(a, b)| a.len() != b.len()) {
        return 1.0;
    }
    let pairs = || a.iter().flatten().zip(b.iter().flatten());
    let product: f64 = pairs().map(|(x, y)| x * y).sum();
    let (xx, yy): (f64, f64) = (pairs().map(|(x, _)| x * x).sum(), pairs().map(|(_, y)| y * y).sum());
    let df: f64 = a.iter().map(|cell| cell.len() as f64 - 1.0).sum();
    if df < 2.0 || xx * yy == 0.0 {
        return 1.0;
    }
    let r2 = product * product / (xx * yy);
    (r2 - 1.0 / df) / (1.0 - 1.0 / df)
}

/// Shapley values of the game 1 - product of the members' factors. With multiplicative factors the average over orders
/// is an integral: a member that enters at "time" t meets every other with probability t, so its value is the integral
/// over t in (0, 1) of (1 - v_i) prod_{j != i} (1 - t + t v_j).
fn shapley(v: &[f64]) -> Vec<f64> {
    // The integrand is a polynomial of degree n - 1 in t, expanded and integrated term by term.
    (0..v.len())
        .map(|i| {
            let mut polynomial = vec![1.0];
            for (j, vj) in v.iter().enumerate() {
                if j != i {
                    // times (1 + t (v_j - 1))
                    let mut next = vec![0.0; polynomial.len() + 1];
                    for (k, c) in polynomial.iter().enumerate() {
                        next[k] += c;
                        next[k + 1] += c * (vj - 1.0);
                    }
                    polynomial = next;
                }
            }
            (1.0 - v[i]) * polynomial.iter().enumerate().map(|(k, c)| c / (k as f64 + 1.0)).sum::<f64>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At the high level of the first factor one condition varies most of all and one hardly: the distances there are
    /// the larger ones on average, and the variances the smaller ones.
    #[test]
    fn no_level_is_called_noisier_against_the_test() {
        let cell = |levels: [bool; 2], apart: f64| {
            let ln = |trial: i32| apart * f64::from(trial % 2 * 2 - 1) * (0.8 + 0.1 * f64::from(trial % 5));
            Cell { levels: levels.to_vec(), trials: (0..40).map(|trial| ln(trial).exp()).collect() }
        };
        let cells = vec![
            cell([false, false], 0.1),
            cell([false, true], 0.1),
            cell([true, false], 0.001),
            cell([true, true], 0.4),
        ];
        let found = sources(2, &[cells], 0.95).unwrap();
        let of = |factor: usize| found.ranking.iter().find(|source| source.factor == factor).unwrap();
        assert_eq!((of(0).noisy_level, of(0).p_value), (false, 1.0));
        assert!(of(1).noisy_level && of(1).shown, "{found:?}");
    }

    #[test]
    fn shapley_shares_add_up_and_match_the_two_player_definition() {
        let (a, b) = (0.3, 0.6);
        let shares = shapley(&[a, b]);
        // The average of being set to the quiet level first and second.
        assert!((shares[0] - ((1.0 - a) + (b - a * b)) / 2.0).abs() < 1e-12);
        assert!((shares.iter().sum::<f64>() - (1.0 - a * b)).abs() < 1e-12);
        let three = shapley(&[0.5, 0.5, 0.9]);
        assert!((three.iter().sum::<f64>() - (1.0 - 0.225)).abs() < 1e-12 && three[0] == three[1]);
    }
}
