//! The model of conditions with or without blocks, from which their contrasts are computed.

use super::contrast::{Analysis, Contrast, Spread, are_few, in_errors, two_sided};
use super::fit::{Condition, Effects, Fit, MOST_CONDITIONS, Table, value_of};
use super::residuals::{Spreads, noisiest};
use crate::descriptive::{mean, std_dev};
use crate::quantiles;

/// With fewer blocks no test detects that one condition varies ten times as much: a pooled variance alone decides
/// nothing then, see [`Contrast::pooled`].
pub const FEWEST_BLOCKS: usize = 5;
/// With fewer trials of a condition no variances are pooled.
const FEWEST_TRIALS: usize = 3;
/// Largest number of jackknife groups. With at most this many blocks each group is one block. Each group is a fit of
/// all other trials, and a larger number makes a standard error hardly more precise.
const MOST_LEFT_OUT: usize = 500;
/// Differences below this rounding error count as 0, in units of the largest value.
const ROUNDING: f64 = 1e-13;

/// The p-values of the differences of separate pairs of conditions, each with whether it ran in blocks, by one variance
/// pooled over all pairs. With fewer than [`FEWEST_BLOCKS`] trials per condition a difference must be significant by
/// this too, as by [`Contrast::pooled`]: three differences of one pair often agree by chance. 0 for a pair with more
/// trials or without a standard error, which needs no such test, and is not part of the variance.
pub fn shared_p_values(pairs: &[([Condition; 2], bool)]) -> Vec<f64> {
    let difference = |(pair, blocked): &([Condition; 2], bool)| {
        let few = pair.iter().all(|condition| condition.len() < FEWEST_BLOCKS);
        few.then(|| Model::of(pair, *blocked).contrast(&[(0, -1.0), (1, 1.0)])).flatten()
    };
    let contrasts: Vec<Option<Contrast>> = pairs.iter().map(difference).collect();
    let mut pooled = pooled_p_values(&contrasts.iter().copied().flatten().collect::<Vec<_>>()).into_iter();
    contrasts.iter().map(|own| own.and_then(|_| pooled.next()).unwrap_or(0.0)).collect()
}

fn pooled_p_values(contrasts: &[Contrast]) -> Vec<f64> {
    // A contrast of two conditions in n blocks has n - 1 degrees of freedom.
    let blocks = |contrast: &Contrast| contrast.df + 1.0;
    let df: f64 = contrasts.iter().map(|contrast| contrast.df).sum();
    let variance = contrasts.iter().map(|own| own.se * own.se * blocks(own) * own.df / df).sum::<f64>();
    let of = |own: &Contrast| two_sided(in_errors(own.value, (variance / blocks(own)).sqrt()), df, false);
    contrasts.iter().map(of).collect()
}

/// Compares conditions, within blocks where they ran in blocks.
#[derive(Debug, Clone)]
pub struct Model {
    analysis: Analysis,
    errors: Errors,
    rounding: f64,
    /// By condition: the least variance of its mean, that of the rounding errors of its trials, and its degrees of
    /// freedom. Empty if trials are not rounded.
    least: Vec<(f64, f64)>,
}

#[derive(Debug, Clone)]
enum Errors {
    /// One pooled variance for all trials, except those of conditions with their own.
    Pooled { fit: Fit, spreads: Spreads },
    /// The effects without each block in turn, or without each of [`MOST_LEFT_OUT`] groups of blocks: the jackknife
    /// over blocks. With complete blocks its standard error is that of the mean of the contrasts within each block.
    /// With few blocks the pooled variances are held as well.
    Jackknife { fit: Fit, without: Vec<Effects>, trials: Vec<usize>, shared: Option<Spreads> },
    /// No blocks: mean, variance and number of trials of each condition (Welch). With few trials the variance pooled
    /// over all conditions and its degrees of freedom are held as well.
    Each { conditions: Vec<Option<Own>>, shared: Option<(f64, f64)> },
}

#[derive(Debug, Clone, Copy)]
struct Own {
    mean: f64,
    /// Variance of the trials and their number; `None` with a single trial.
    trials: Option<(f64, f64)>,
}

impl Model {
    /// Fits the conditions. With `blocks`, trials of the same block number ran in one block. Block effects are removed
    /// when the conditions are connected through blocks. Residual variances are pooled, except those of conditions that
    /// are shown to have a larger variance than the others.
    pub fn of(conditions: &[Condition], blocks: bool) -> Self {
        let of = conditions.iter().map(Vec::len).sum();
        let values = conditions.iter().flatten().map(|(_, value)| value.abs());
        let rounding = ROUNDING * values.fold(0.0, f64::max);
        let by_block = if blocks { by_block(conditions, of) } else { None };
        let (analysis, errors) = by_block.unwrap_or_else(|| {
            let each: Vec<Option<Own>> = conditions.iter().map(each).collect();
            let shared = shared(&each);
            let spread = if shared.is_some() { Spread::Both } else { Spread::Own };
            (Analysis { by_block: false, spread, trials: of, of }, Errors::Each { conditions: each, shared })
        });
        Self { analysis, errors, rounding, least: Vec::new() }
    }

    /// With what rounding hides: by condition, the standard deviation of the rounding error of a trial, in the unit of
    /// the trials. All trials of a condition are often equal by chance, and so are their differences between blocks, so
    /// that no standard error is less than that of these errors.
    #[must_use]
    pub fn rounded(self, conditions: &[Condition], errors: &[f64]) -> Self {
        let of = |(condition, error): (&Condition, &f64)| {
            let n = condition.len() as f64;
            (error * error / n, n - 1.0)
        };
        let least = conditions.iter().zip(errors).filter(|_| errors.iter().any(|error| *error > 0.0)).map(of).collect();
        Self { least, ..self }
    }

    /// The analysis on which the contrasts are based.
    pub fn analysis(&self) -> Analysis {
        self.analysis
    }

    /// The weighted sum of conditions, given by index; the weights sum to 0. `None` when a condition has too few trials
    /// for a standard error.
    pub fn contrast(&self, weights: &[(usize, f64)]) -> Option<Contrast> {
        let weights: Vec<(usize, f64)> = weights.iter().copied().filter(|(_, w)| *w != 0.0).collect();
        let mut found = match &self.errors {
            Errors::Pooled { fit, spreads } => pooled(fit, spreads, &weights)?,
            Errors::Jackknife { fit, without, trials, shared } => {
                let shared = shared.as_ref().and_then(|spreads| pooled(fit, spreads, &weights));
                let pooled = shared.map(|found| (found.se, found.df));
                Contrast { pooled, ..jackknife(fit, without, trials, &weights)? }
            }
            Errors::Each { conditions, shared } => each_own(conditions, *shared, &weights)?,
        };
        let scale: f64 = weights.iter().map(|(_, w)| w.abs()).sum();
        if found.value.abs() <= scale * self.rounding {
            found.value = 0.0;
        }
        let of_rounding = || weights.iter().filter_map(|(c, w)| Some((w, self.least.get(*c)?)));
        let least = of_rounding().map(|(w, (variance, _))| w * w * variance).sum::<f64>().sqrt();
        if found.se < least {
            // Trials that are equal after rounding say nothing about their spread together either.
            found.df = of_rounding().map(|(_, (_, df))| *df).fold(found.df, f64::min);
        }
        let rounded = |se: f64| if se < least || se <= scale * self.rounding { least } else { se };
        found.se = rounded(found.se);
        found.pooled = found.pooled.map(|(se, df)| (rounded(se), df));
        (found.se.is_finite() && found.df >= 1.0).then_some(found)
    }

    /// The weighted sum of conditions without its error; `None` when a condition has no trial.
    pub fn value(&self, weights: &[(usize, f64)]) -> Option<f64> {
        match &self.errors {
            Errors::Pooled { fit, .. } | Errors::Jackknife { fit, .. } => fit.value(weights),
            Errors::Each { conditions, .. } => weights.iter().map(|(c, w)| Some(w * conditions[*c]?.mean)).sum(),
        }
    }
}

/// The model with blocks: of all blocks, or only of the complete ones when there are too many conditions for a matrix.
/// `None` when block effects cannot be removed.
fn by_block(conditions: &[Condition], of: usize) -> Option<(Analysis, Errors)> {
    let table = Table::of(conditions);
    let table = if conditions.len() > MOST_CONDITIONS { table.complete() } else { table };
    let enough = table.blocks >= 2 && 3 * table.entries.len() >= 2 * of;
    let fit = Fit::of(&table).filter(|fit| enough && fit.df >= 1.0)?;
    // A condition that shares no block with others has no effect in this model, but has its mean in the one without
    // blocks.
    if conditions.iter().zip(&fit.effects).any(|(condition, effect)| effect.is_none() && !condition.is_empty()) {
        return None;
    }
    let n = table.of_conditions();
    let enough = table.conditions > 2 && table.blocks >= FEWEST_BLOCKS && n.iter().all(|n| *n >= FEWEST_TRIALS);
    let noisiest = noisiest(&table, &fit).filter(|_| enough);
    let spreads = noisiest.and_then(|_| Spreads::of(&table, &fit));
    let spread = match (noisiest, spreads.as_ref().map(Spreads::apart)) {
        (Some((_, p_value)), Some(0)) => Spread::Pooled { p_value },
        (Some((_, p_value)), Some(conditions)) => Spread::SomeOwn { p_value, conditions },
        (Some((_, p_value)), None) => Spread::Unequal { p_value },
        (None, _) if table.conditions > 2 => Spread::Both,
        (None, _) => Spread::Own,
    };
    let analysis = Analysis { by_block: true, spread, trials: table.entries.len(), of };
    let errors = match spreads {
        Some(spreads) => Errors::Pooled { fit, spreads },
        None => {
            let groups = table.blocks.min(MOST_LEFT_OUT);
            let without = |group| Some(Fit::of(&table.without(group, groups))?.effects);
            let without = (0..groups).map(without).collect::<Option<_>>()?;
            let shared = (spread == Spread::Both).then(|| Spreads::of_few(&table, &fit));
            Errors::Jackknife { fit, without, trials: n, shared }
        }
    };
    Some((analysis, errors))
}

fn each(condition: &Condition) -> Option<Own> {
    let values: Vec<f64> = condition.iter().map(|(_, value)| *value).collect();
    let n = values.len() as f64;
    Some(Own { mean: mean(&values)?, trials: std_dev(&values).map(|sd| (sd * sd, n)) })
}

fn pooled(fit: &Fit, spreads: &Spreads, weights: &[(usize, f64)]) -> Option<Contrast> {
    let unscaled = fit.unscaled(weights)?;
    let shared: f64 = unscaled.iter().filter(|(c, _)| spreads.own[*c].is_none()).map(|(_, scale)| scale).sum();
    let own = unscaled.iter().filter_map(|(c, scale)| spreads.own[*c].map(|(variance, df)| (scale * variance, df)));
    let (common, df) = spreads.common;
    let (variance, df) = quantiles::sum_of_variances(own.chain([(shared * common, df)]));
    Some(Contrast { value: fit.value(weights)?, se: variance.sqrt(), df, pooled: None, few: false })
}

fn jackknife(fit: &Fit, without: &[Effects], trials: &[usize], weights: &[(usize, f64)]) -> Option<Contrast> {
    let value = fit.value(weights)?;
    let others: Vec<f64> = without.iter().map(|effects| value_of(effects, weights)).collect::<Option<_>>()?;
    let m = others.len() as f64;
    let squares: f64 = others.iter().map(|other| (other - value).powi(2)).sum();
    let fewest = weights.iter().map(|(c, _)| trials[*c]).min()?;
    let (se, df) = (((m - 1.0) / m * squares).sqrt(), (fewest as f64).min(m) - 1.0);
    Some(Contrast { value, se, df, pooled: None, few: false })
}

/// The variance pooled over more than two conditions of fewer than [`FEWEST_BLOCKS`] trials each.
fn shared(conditions: &[Option<Own>]) -> Option<(f64, f64)> {
    let known: Vec<(f64, f64)> = conditions.iter().map(|own| own.as_ref()?.trials).collect::<Option<_>>()?;
    let few = known.len() > 2 && known.iter().all(|(_, n)| *n < FEWEST_BLOCKS as f64);
    let df: f64 = known.iter().map(|(_, n)| n - 1.0).sum();
    few.then(|| (known.iter().map(|(variance, n)| variance * (n - 1.0) / df).sum(), df))
}

fn each_own(conditions: &[Option<Own>], shared: Option<(f64, f64)>, weights: &[(usize, f64)]) -> Option<Contrast> {
    let means = weights.iter().map(|(c, w)| Some(w * conditions[*c]?.mean)).collect::<Option<Vec<f64>>>()?;
    let arms = weights.iter().map(|(c, _)| conditions[*c]?.trials).collect::<Option<Vec<_>>>()?;
    let parts = quantiles::variances_of_arms(&arms).into_iter().zip(&arms).zip(weights);
    let (variance, df) =
        quantiles::sum_of_variances(parts.map(|(((variance, df), (_, n)), (_, w))| (w * w * variance / n, df)));
    let scale: f64 = weights.iter().zip(&arms).map(|((_, w), (_, n))| w * w / n).sum();
    let pooled = shared.map(|(variance, df)| ((scale * variance).sqrt(), df));
    let few = are_few(arms.iter().map(|(_, n)| *n as usize));
    Some(Contrast { value: means.iter().sum(), se: variance.sqrt(), df, pooled, few })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete() -> Vec<Condition> {
        let rows = [[1.0, 2.1, 2.9], [4.0, 5.2, 6.1], [2.0, 2.9, 4.2], [0.0, 1.3, 1.8], [7.0, 7.9, 9.1]];
        (0..3).map(|c| rows.iter().enumerate().map(|(block, row)| (block, row[c])).collect()).collect()
    }

    #[test]
    fn in_complete_blocks_it_is_the_analysis_of_variance() {
        let model = Model::of(&complete(), true);
        assert!(matches!(model.analysis().spread, Spread::Pooled { .. }), "{:?}", model.analysis());
        let found = model.contrast(&[(0, -1.0), (2, 1.0)]).unwrap();
        assert!((found.value - 2.02).abs() < 1e-12 && found.df == 8.0, "{found:?}");
        // By hand: the residual sum of squares is the total minus those of conditions and blocks.
        let rows = complete();
        let all: f64 = rows.iter().flatten().map(|(_, v)| v * v).sum();
        let sum = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>();
        let of_conditions: f64 = rows.iter().map(|c| sum(&mut c.iter().map(|t| t.1)).powi(2) / 5.0).sum();
        let of_blocks: f64 = (0..5).map(|b| sum(&mut rows.iter().map(|c| c[b].1)).powi(2) / 3.0).sum();
        let of_all = sum(&mut rows.iter().flatten().map(|t| t.1)).powi(2) / 15.0;
        let squares = all - of_conditions - of_blocks + of_all;
        assert!((found.se - (squares / 8.0 * 2.0 / 5.0).sqrt()).abs() < 1e-9, "{found:?}, {squares}");
    }

    /// The other conditions are compared as if it were absent, and it is compared with them by Welch's method.
    #[test]
    fn a_noisy_condition_keeps_its_own_spread_and_the_rest_pool_theirs() {
        let noise = [4.0, -7.0, 1.0, 8.0, -6.0];
        let noisy = complete()[0].iter().zip(noise).map(|((block, v), noise)| (*block, v + noise)).collect();
        let model = Model::of(&[complete(), vec![noisy]].concat(), true);
        assert!(matches!(model.analysis().spread, Spread::SomeOwn { conditions: 1, .. }), "{:?}", model.analysis());
        let (weights, rest) = ([(0, -1.0), (2, 1.0)], Model::of(&complete(), true));
        let (found, without) = (model.contrast(&weights).unwrap(), rest.contrast(&weights).unwrap());
        assert!((found.value - without.value).abs() < 1e-12 && (found.df - 8.0).abs() < 1e-9, "{found:?}");
        assert!((found.se - without.se).abs() < 1e-12, "{found:?} {without:?}");
        let with_noisy = model.contrast(&[(0, -1.0), (3, 1.0)]).unwrap();
        // The variance of the five noises is 42.5; that of the other conditions is negligible next to it.
        assert!((with_noisy.se - (42.5_f64 / 5.0).sqrt()).abs() < 0.05, "{with_noisy:?}");
        assert!(with_noisy.df < 4.1, "{with_noisy:?}");
    }

    /// The closed form of the variance of a contrast agrees with the sum over the trials of each block.
    #[test]
    fn a_block_without_a_difference_changes_no_standard_error_but_by_what_it_holds() {
        let mut all = complete();
        all[0].remove(4);
        let table = Table::of(&all);
        let fit = Fit::of(&table).unwrap();
        let weights = [(1, -1.0), (2, 1.0)];
        let unscaled: f64 = fit.unscaled(&weights).unwrap().iter().map(|(_, scale)| scale).sum();
        // The two are compared in all five blocks, whatever happened to the third condition.
        assert!((unscaled - 2.0 / 5.0).abs() < 1e-12, "{unscaled}");
        let with_lost: f64 = fit.unscaled(&[(0, -1.0), (2, 1.0)]).unwrap().iter().map(|(_, scale)| scale).sum();
        assert!(with_lost > 2.0 / 5.0 && with_lost < 2.0 / 4.0, "{with_lost}");
    }

    #[test]
    fn p_of_two_trials_counts_20_times_and_own_differences_by_the_root_of_the_tests() {
        let of = |df: f64, few: bool| Contrast { value: -1.0, se: 0.001, df, pooled: None, few };
        // Twice the tail of the distribution with one degree of freedom.
        let p = std::f64::consts::FRAC_2_PI * 0.001_f64.atan();
        let is = |found: f64, times: f64| assert!((found / (times * p) - 1.0).abs() < 1e-6, "{found} {times}");
        for two in [of(1.0, false), of(1.8, false), of(2.5, true)] {
            is(two.p_value(), 20.0);
        }
        assert!(of(2.0, false).p_value() < 2e-6 && of(2.0, false).own_p_value(4).is_none());
        let both = Contrast { pooled: Some((0.001, 14.0)), ..of(2.5, true) };
        assert!(both.p_value() < 1e-20);
        for (tests, root) in [(1, 1.0), (4, 2.0), (5, 3.0)] {
            is(both.own_p_value(tests).unwrap(), root * 20.0);
        }
    }

    #[test]
    fn a_pair_that_lost_its_trials_does_not_spare_the_others_their_test() {
        let pair = |second: &[f64]| -> ([Condition; 2], bool) {
            let of = |values: &[f64]| values.iter().copied().enumerate().collect();
            ([of(&vec![0.0; second.len()]), of(second)], true)
        };
        let (agrees, wild) = (pair(&[1.0, 1.01, 1.02]), pair(&[-3.0, 2.0, 0.5]));
        let two = shared_p_values(&[agrees.clone(), wild.clone()]);
        assert!(two[0] > 0.3, "{two:?}");
        for other in [pair(&[1.0]), pair(&[1.0, 1.1, 0.9, 1.0, 1.2])] {
            assert_eq!(shared_p_values(&[agrees.clone(), other, wild.clone()]), [two[0], 0.0, two[1]]);
        }
    }

    #[test]
    fn trials_of_three_conditions_are_pooled_from_five_blocks_and_three_trials_on() {
        let spread = |conditions: &[Condition], blocks| Model::of(conditions, blocks).analysis().spread;
        let cut = |lengths: [usize; 3]| -> Vec<Condition> {
            complete().iter().zip(lengths).map(|(condition, n)| condition[..n].to_vec()).collect()
        };
        assert_eq!([[2, 5, 5], [4, 4, 4]].map(|lengths| spread(&cut(lengths), true)), [Spread::Both; 2]);
        assert!([[3, 5, 5], [5; 3]].iter().all(|lengths| spread(&cut(*lengths), true) != Spread::Both));
        assert_eq!(spread(&cut([5; 3])[..2], true), Spread::Own);
        // Without blocks, only fewer than five trials need both.
        assert_eq!(
            [[5; 3], [4, 5, 4], [4; 3]].map(|n| spread(&cut(n), false)),
            [Spread::Own, Spread::Own, Spread::Both]
        );
    }

    #[test]
    fn two_conditions_are_a_paired_comparison() {
        let two = complete()[..2].to_vec();
        let found = Model::of(&two, true).contrast(&[(0, -1.0), (1, 1.0)]).unwrap();
        let differences = [1.1, 1.2, 0.9, 1.3, 0.9];
        let se = std_dev(&differences).unwrap() / 5f64.sqrt();
        assert!((found.value - 1.08).abs() < 1e-12 && (found.se - se).abs() < 1e-12 && found.df == 4.0, "{found:?}");
    }

    /// Leaving out each block separately would take time and memory proportional to the square of their number.
    #[test]
    fn very_many_blocks_are_left_out_in_groups() {
        let blocks = 3 * MOST_LEFT_OUT;
        let moves = |block: usize, of: usize| (block * of % 101) as f64 / 100.0;
        let of = |c: usize| (0..blocks).map(|b| (b, c as f64 + moves(b, 7) + moves(b, 29 + c))).collect::<Condition>();
        let two = [of(0), of(1)];
        let found = Model::of(&two, true).contrast(&[(0, -1.0), (1, 1.0)]).unwrap();
        let differences: Vec<f64> = two[0].iter().zip(&two[1]).map(|((_, a), (_, b))| b - a).collect();
        let se = std_dev(&differences).unwrap() / (blocks as f64).sqrt();
        assert!((found.value - mean(&differences).unwrap()).abs() < 1e-9, "{found:?}");
        assert!((found.se / se - 1.0).abs() < 0.2 && found.df == MOST_LEFT_OUT as f64 - 1.0, "{found:?} {se}");
    }

    #[test]
    fn a_lost_trial_leaves_the_additive_truth_alone() {
        let mut all: Vec<Condition> =
            (0..3).map(|c| (0..5).map(|b| (b, 10.0 * c as f64 + (b * b) as f64)).collect()).collect();
        all[0].remove(4);
        all[1].remove(1);
        all[2].remove(2);
        let model = Model::of(&all, true);
        assert_eq!((model.analysis().trials, model.analysis().by_block), (12, true));
        let found = model.contrast(&[(0, -1.0), (2, 1.0)]).unwrap();
        assert!((found.value - 20.0).abs() < 1e-9 && found.se < 1e-9, "{found:?}");
    }

    #[test]
    fn conditions_that_share_no_block_are_compared_without() {
        let apart = [vec![(0, 1.0), (1, 1.1)], vec![(2, 2.0), (3, 2.2)]];
        let model = Model::of(&apart, true);
        assert!(!model.analysis().by_block);
        assert!((model.contrast(&[(0, -1.0), (1, 1.0)]).unwrap().value - 1.05).abs() < 1e-12);
        // Two thirds of the trials must be in blocks with others.
        let shared = [vec![(0, 1.0), (1, 1.1)], vec![(0, 2.0), (1, 2.2)]];
        let with =
            |more: usize| [[shared[0].clone(), (2..2 + more).map(|b| (b, 1.0)).collect()].concat(), shared[1].clone()];
        assert!(Model::of(&with(2), true).analysis().by_block && !Model::of(&with(3), true).analysis().by_block);
        let single = Model::of(&[vec![(0, 1.0)], vec![(0, 2.0)]], true);
        assert_eq!(single.contrast(&[(0, -1.0), (1, 1.0)]), None);
        assert_eq!(single.value(&[(0, -1.0), (1, 1.0)]), Some(1.0));
    }
}
