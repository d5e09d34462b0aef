//! Autocorrelation of successive trials: whether the machine drifts, and its effect on a comparison of two runs.

use crate::descriptive::{lag1_autocorrelation, mean};
use crate::order::{generator, shuffle};

/// Maximum number of permutations of the test.
const PERMUTATIONS: usize = 1999;
/// Limit of permutations times trials: thousands of trials need fewer permutations ...
const SHUFFLES: usize = 20_000_000;
/// ... but at least this many, enough for a p-value of 1%.
const FEWEST_PERMUTATIONS: usize = 199;
/// Fewest trials in which drift can be detected.
pub const FEWEST: usize = 6;
/// Upper limit of the estimated correlation; a trend would bring it arbitrarily close to 1.
const LARGEST: f64 = 0.9;
/// The largest variance inflation: an estimate from a few trials is no more precise than "several times".
const LARGEST_INFLATION: f64 = 16.0;
/// p-value up to which autocorrelation widens the interval of a comparison of runs. Without this test every second
/// comparison of independent runs would be widened by noise.
const WIDENS: f64 = 0.1;
/// Number of standard deviations below which 5% of correlations are.
const ONE_IN_20: f64 = 1.645;

/// Autocorrelation of the trials of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunOrder {
    /// Lag-1 correlation, bias-corrected for the number of trials; 0 when trials are independent, never below.
    pub correlation: f64,
    /// Permutation p-value of the correlation.
    pub p_value: f64,
    /// Number of trials used.
    pub trials: usize,
}

impl RunOrder {
    /// Factor by which the variance of a mean over `n` trials exceeds that of independent ones with the same sample
    /// variance, for an AR(1) process: [1 + 2 sum (1 - k/n) rho^k], divided by the factor by which autocorrelation
    /// reduces the expected sample variance.
    ///
    /// At most 16, whatever the correlation.
    pub fn inflation(&self, n: usize) -> f64 {
        inflation(self.correlation, n)
    }

    /// The same for `n` trials that are each `apart` trials of the run after the one before, because trials of other
    /// conditions ran between them.
    pub fn inflation_apart(&self, n: usize, apart: f64) -> f64 {
        inflation(self.correlation.powf(apart.max(1.0)), n)
    }
}

pub(crate) fn inflation(rho: f64, n: usize) -> f64 {
    let n_f = n.max(1) as f64;
    let sum: f64 = (1..n).map(|k| (1.0 - k as f64 / n_f) * rho.powi(i32::try_from(k).unwrap_or(i32::MAX))).sum();
    let of_mean = 1.0 + 2.0 * sum;
    // E[s^2] = sigma^2 (n - of_mean) / (n - 1).
    let of_spread = ((n_f - of_mean) / (n_f - 1.0)).max(1.0 / n_f);
    (of_mean / of_spread).min(LARGEST_INFLATION)
}

/// Tests whether trials, in the order in which they ran, are correlated with their neighbours. `None` below 6 trials or
/// without variance: then drift cannot be detected, which does not mean that there is none.
pub fn run_order(values: &[f64], seed: u64) -> Option<RunOrder> {
    run_order_of(&values.iter().map(|value| (0, *value)).collect::<Vec<_>>(), seed)
}

/// The same for trials of several conditions, each with the number of its condition and its residual, so that the order
/// of the conditions has no effect. Only trials of one condition are permuted: as their residuals add up to 0, they are
/// negatively correlated, but neighbours are mostly of different conditions.
pub fn run_order_of(trials: &[(usize, f64)], seed: u64) -> Option<RunOrder> {
    let n = trials.len();
    if n < FEWEST {
        return None;
    }
    let mut conditions: Vec<Vec<f64>> = Vec::new();
    let mut places = Vec::new();
    for (condition, residual) in trials {
        conditions.resize(conditions.len().max(condition + 1), Vec::new());
        places.push((*condition, conditions[*condition].len()));
        conditions[*condition].push(*residual);
    }
    let in_order = |conditions: &[Vec<f64>]| {
        let values: Vec<f64> = places.iter().map(|(condition, place)| conditions[*condition][*place]).collect();
        lag1_autocorrelation(&values)
    };
    let found = in_order(&conditions)?;
    let p_value = permuted(&mut conditions, found, seed, in_order);
    // Kendall 1954: E[r] = rho - (1 + 4 rho) / n.
    let corrected = (n as f64 * found + 1.0) / (n as f64 - 4.0);
    Some(RunOrder { correlation: corrected.clamp(0.0, LARGEST), p_value, trials: n })
}

/// The autocorrelation of trials from several runs, for comparing them: one lag-1 correlation over all runs, tested by
/// permutation within each. It is 0 unless the p-value is at most 10%: the correlation of a few trials is so noisy that
/// half of all independent runs would appear to drift. The correction for the number of trials is the smaller one, r +
/// (1 + 4 r) / n. `None` when no run has three trials with some variance, or all runs together have fewer than 6.
pub fn of_runs(runs: &[&[f64]], seed: u64) -> Option<RunOrder> {
    let known = centred(runs).into_iter().map(|run| in_units(&run, largest(&run))).collect();
    pooled(known, seed, together, |found, n| found + (1.0 + 4.0 * found) / n)
}

/// The same for many runs of about equal variance, where the bias of short runs can be corrected fully: the result is
/// the correlation of the AR(1) process whose runs of this length have the observed correlation on average. For
/// example, runs of five trials with a correlation of 0.8 show -0.04.
pub fn of_many_runs(runs: &[&[f64]], seed: u64) -> Option<RunOrder> {
    let known = centred(runs);
    let unit = known.iter().map(|run| largest(run)).fold(f64::MIN_POSITIVE, f64::max);
    pooled(known.iter().map(|run| in_units(run, unit)).collect(), seed, in_sum, matched)
}

/// The largest correlation of neighbours, to a hundredth and at most `most`, that the runs do not exclude: an AR(1)
/// process with this correlation shows no more than the runs do in 5% of cases. `most` if nothing is known of them.
pub fn not_excluded(runs: &[&[f64]], most: f64) -> f64 {
    let known: Vec<Vec<f64>> = centred(runs).into_iter().map(|run| in_units(&run, largest(&run))).collect();
    let trials = known.iter().map(Vec::len).sum::<usize>() as f64;
    let Some(found) = together(&known) else { return most };
    let n = (trials / known.len() as f64).round().min(100.0) as usize;
    let hundredths = (0..=100).map(|hundredth| f64::from(hundredth) / 100.0).take_while(|rho| *rho <= most);
    // The standard deviation of the correlation of short runs, from simulations.
    let least = |rho: f64| shown(rho, n) - ONE_IN_20 * ((1.0 - rho * rho / 2.0) / trials).sqrt();
    hundredths.filter(|rho| least(*rho) <= found).last().unwrap_or(0.0)
}

/// `runs` are centred, `figure` computes their correlation, and `corrected` corrects it for the number of trials of a
/// run.
fn pooled(
    mut runs: Vec<Vec<f64>>,
    seed: u64,
    figure: fn(&[Vec<f64>]) -> Option<f64>,
    corrected: fn(f64, f64) -> f64,
) -> Option<RunOrder> {
    let trials: usize = runs.iter().map(Vec::len).sum();
    if trials < FEWEST {
        return None;
    }
    let found = figure(&runs)?;
    let n = trials as f64 / runs.len() as f64;
    let p_value = permuted(&mut runs, found, seed, figure);
    let corrected = if p_value <= WIDENS { corrected(found, n) } else { 0.0 };
    Some(RunOrder { correlation: corrected.clamp(0.0, LARGEST), p_value, trials })
}

/// The correlation, to a hundredth, of the AR(1) process whose runs of `n` trials show `found` on average.
fn matched(found: f64, n: f64) -> f64 {
    let n = n.round().min(100.0) as usize;
    let hundredths = (0..=100).map(|hundredth| f64::from(hundredth) / 100.0);
    hundredths.take_while(|rho| *rho <= LARGEST && shown(*rho, n) <= found).last().unwrap_or(0.0)
}

/// The expected sample correlation of `n` trials of an AR(1) process: the expectation of the products of neighbours
/// about the run's mean, divided by that of the squares.
fn shown(rho: f64, n: usize) -> f64 {
    let size = n as f64;
    let row = |i: usize| (0..n).map(|j| rho.powf(i.abs_diff(j) as f64)).sum::<f64>() / size;
    let rows: Vec<f64> = (0..n).map(row).collect();
    let all = rows.iter().sum::<f64>() / size;
    let neighbours: f64 = rows.windows(2).map(|pair| rho - pair[0] - pair[1] + all).sum();
    let squares: f64 = rows.iter().map(|own| 1.0 - 2.0 * own + all).sum();
    neighbours / squares
}

/// Most trials for which the degrees of freedom are computed; those of more are proportional to their number.
const MOST_COMPUTED: usize = 100;

/// Degrees of freedom of the sample variance of `n` neighbours with this correlation (Satterthwaite): n - 1 if they
/// are independent.
pub(crate) fn spread_df(rho: f64, n: usize) -> f64 {
    let m = n.min(MOST_COMPUTED);
    let size = m as f64;
    let of = |i: usize, j: usize| rho.powf(i.abs_diff(j) as f64);
    let rows: Vec<f64> = (0..m).map(|i| (0..m).map(|j| of(i, j)).sum::<f64>() / size).collect();
    let all = rows.iter().sum::<f64>() / size;
    let (mut trace, mut squares) = (0.0, 0.0);
    for i in 0..m {
        for j in 0..m {
            let centred = of(i, j) - rows[i] - rows[j] + all;
            squares += centred * centred;
            trace += if i == j { centred } else { 0.0 };
        }
    }
    trace * trace / squares * ((n as f64 - 1.0) / (size - 1.0))
}

/// Each run that has three values and some variance, minus its mean.
fn centred(runs: &[&[f64]]) -> Vec<Vec<f64>> {
    let known = runs.iter().filter(|run| lag1_autocorrelation(run).is_some());
    let about = |run: &&[f64]| mean(run).map(|centre| run.iter().map(|v| v - centre).collect());
    known.filter_map(about).collect()
}

fn largest(run: &[f64]) -> f64 {
    run.iter().fold(f64::MIN_POSITIVE, |largest, v| largest.max(v.abs()))
}

/// Scales the values so that squares neither overflow nor underflow.
fn in_units(run: &[f64], unit: f64) -> Vec<f64> {
    run.iter().map(|v| v / unit).collect()
}

/// Lag-1 autocorrelation of centred runs, each weighted by its number of trials.
fn together(runs: &[Vec<f64>]) -> Option<f64> {
    let (mut sum, mut trials) = (0.0, 0.0);
    for run in runs {
        let lagged: f64 = run.windows(2).map(|w| w[0] * w[1]).sum();
        let total: f64 = run.iter().map(|v| v * v).sum();
        sum += run.len() as f64 * lagged / total;
        trials += run.len() as f64;
    }
    let found = sum / trials;
    found.is_finite().then_some(found)
}

/// Lag-1 autocorrelation of centred runs, each weighted by its sum of squares, for which the expectation is known.
fn in_sum(runs: &[Vec<f64>]) -> Option<f64> {
    let lagged: f64 = runs.iter().flat_map(|run| run.windows(2)).map(|w| w[0] * w[1]).sum();
    let total: f64 = runs.iter().flatten().map(|v| v * v).sum();
    let found = lagged / total;
    found.is_finite().then_some(found)
}

/// p-value of a correlation of at least `found`, by permuting each run.
fn permuted(runs: &mut [Vec<f64>], found: f64, seed: u64, figure: impl Fn(&[Vec<f64>]) -> Option<f64>) -> f64 {
    let trials: usize = runs.iter().map(Vec::len).sum();
    let mut rng = generator(seed);
    let mut reached = 0usize;
    let permutations = (SHUFFLES / trials.max(1)).clamp(FEWEST_PERMUTATIONS, PERMUTATIONS);
    for _ in 0..permutations {
        runs.iter_mut().for_each(|run| shuffle(&mut rng, run));
        reached += usize::from(figure(runs).is_some_and(|r| r >= found - 1e-12));
    }
    (1 + reached) as f64 / (1 + permutations) as f64
}

/// The size of a trend over a run: mean of the last third divided by that of the first, minus 1. `None` below 6 trials
/// or when the mean of the first third is 0.
pub fn drift(values: &[f64]) -> Option<f64> {
    if values.len() < FEWEST {
        return None;
    }
    let third = values.len() / 3;
    let change = mean(&values[values.len() - third..])? / mean(&values[..third])? - 1.0;
    change.is_finite().then_some(change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::randomized_blocks;

    #[test]
    fn a_trend_is_seen_and_an_alternation_is_not() {
        let trend: Vec<f64> = (0..12).map(|i| f64::from(i) + if i % 2 == 0 { 0.3 } else { -0.3 }).collect();
        let found = run_order(&trend, 1).unwrap();
        assert!(found.p_value < 0.01 && found.correlation > 0.6, "{found:?}");
        let saw: Vec<f64> = (0..12).map(|i| f64::from(i % 2)).collect();
        let found = run_order(&saw, 1).unwrap();
        assert!(found.p_value > 0.9 && found.correlation == 0.0, "{found:?}");
        assert_eq!((run_order(&[1.0; 9], 1), run_order(&trend[..5], 1)), (None, None));
        assert!((drift(&[10.0, 10.0, 11.0, 11.0, 12.0, 12.0]).unwrap() - 0.2).abs() < 1e-12);
    }

    /// The p-values of independent trials are uniform. If all trials are permuted, their mean is 0.46.
    #[test]
    fn residuals_of_conditions_are_not_correlated_because_they_add_up_to_zero() {
        let mut rng = generator(1);
        let mut p_value = |seed: u64| {
            let mut values = [[-1.93, -1.07, 0.13, 0.84, 2.03]; 4];
            values.iter_mut().for_each(|own| shuffle(&mut rng, own));
            let blocks = randomized_blocks(4, 5, seed).into_iter().enumerate();
            let trials: Vec<(usize, f64)> =
                blocks.flat_map(|(block, order)| order.into_iter().map(move |i| (i, values[i][block]))).collect();
            run_order_of(&trials, seed).unwrap().p_value
        };
        let p_values: Vec<f64> = (0..2000).map(&mut p_value).collect();
        assert!((mean(&p_values).unwrap() - 0.5).abs() < 0.02, "{:?}", mean(&p_values));
    }

    #[test]
    fn inflation_is_that_of_an_ar1_process() {
        assert_eq!(inflation(0.0, 10), 1.0);
        // For large n: (1 + rho) / (1 - rho).
        assert!((inflation(0.5, 10_000) - 3.0).abs() < 0.01);
        assert!(inflation(0.5, 10) > 2.9 && inflation(0.8, 10) > 9.0);
        assert_eq!(inflation(0.9, 20), 16.0, "and has an end");
        let order = RunOrder { correlation: 0.5, p_value: 0.01, trials: 40 };
        assert!((order.inflation_apart(10, 4.0) - inflation(0.0625, 10)).abs() < 1e-12);
    }

    #[test]
    fn neighbours_that_are_alike_leave_few_degrees_of_freedom() {
        assert!((spread_df(0.0, 5) - 4.0).abs() < 1e-9 && (spread_df(0.0, 300) - 299.0).abs() < 1e-6);
        // Two values differ in one way; for large n: n (1 - rho^2) / (1 + rho^2).
        assert!((spread_df(0.8, 2) - 1.0).abs() < 1e-9);
        let many = spread_df(0.8, 1000);
        assert!((180.0..=230.0).contains(&many), "{many}");
    }

    #[test]
    fn runs_are_seen_together_and_what_could_be_chance_widens_nothing() {
        let trend: Vec<f64> = (0..6).map(|i| f64::from(i) + if i % 2 == 0 { 0.3 } else { -0.3 }).collect();
        let both = of_runs(&[&trend, &trend], 1).unwrap();
        assert!(both.p_value < 0.01 && both.correlation > 0.6 && both.trials == 12, "{both:?}");
        let saw: Vec<f64> = (0..12).map(|i| f64::from(i % 2)).collect();
        assert_eq!(of_runs(&[&saw, &trend[..3]], 1).unwrap().correlation, 0.0);
        assert_eq!(of_runs(&[&trend[..3], &trend[..2]], 1), None);
        assert_eq!((not_excluded(&[&trend, &trend], 0.8), not_excluded(&[&saw, &saw], 0.8)), (0.8, 0.0));
        assert_eq!(not_excluded(&[&[1.0; 9]], 0.8), 0.8);
    }
}
