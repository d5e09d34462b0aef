//! Contrasts of conditions with their standard errors.

use super::analysis::{Analysis, Spread};
use super::fit::{Effects, Fit, MOST_CONDITIONS, value_of};
use super::spread::{Spreads, noisiest};
use super::table::{Condition, Table};
use crate::descriptive::{mean, std_dev};
use crate::quantiles::t_upper_tail;
use crate::welch;

/// Blocks below which nothing is pooled: no test shows with four that one condition varies ten times as much.
const FEWEST_BLOCKS: usize = 5;
/// Trials of each condition below which nothing is pooled.
const FEWEST_TRIALS: usize = 3;
/// Blocks that the jackknife leaves out one by one. More are left out in so many groups: each is a fit of all the rest,
/// and more of them say nothing more of a standard error.
const MOST_LEFT_OUT: usize = 500;
/// Differences below rounding are none, in units of the largest value.
const ROUNDING: f64 = 1e-13;

/// A sum of conditions with weights that add up to 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contrast {
    /// Its value, in the unit of the trials.
    pub value: f64,
    /// Its standard error, in the same unit.
    pub se: f64,
    /// Degrees of freedom of the standard error.
    pub df: f64,
}

impl Contrast {
    /// The value in units of its standard error.
    pub fn statistic(&self) -> f64 {
        match self.value.abs() {
            0.0 => 0.0,
            value if self.se > 0.0 => value / self.se,
            _ => f64::INFINITY,
        }
    }

    /// Two-sided p-value of no difference.
    pub fn p_value(&self) -> f64 {
        (2.0 * t_upper_tail(self.statistic(), self.df)).min(1.0)
    }
}

/// Conditions compared, by block where they ran in blocks.
#[derive(Debug, Clone)]
pub struct Model {
    analysis: Analysis,
    errors: Errors,
    rounding: f64,
}

#[derive(Debug, Clone)]
enum Errors {
    /// One variance for all trials but those of conditions that have their own.
    Pooled { fit: Fit, spreads: Spreads },
    /// The effects without each block in turn, or without each of [`MOST_LEFT_OUT`] groups of them: the jackknife over
    /// blocks, which in complete blocks is the standard error of the contrasts of each block.
    Jackknife { fit: Fit, without: Vec<Effects>, trials: Vec<usize> },
    /// No blocks: mean, variance of the mean and degrees of freedom of each condition (Welch).
    Each(Vec<Option<Own>>),
}

#[derive(Debug, Clone, Copy)]
struct Own {
    mean: f64,
    /// Variance of the mean and its degrees of freedom; none with a single trial.
    error: Option<(f64, f64)>,
}

impl Model {
    /// The model of these conditions; `blocks` says that trials with one number ran in one block. Blocks are taken out
    /// where conditions are connected through them. The residuals are pooled, but for those of conditions that are
    /// shown to vary more than the others.
    pub fn of(conditions: &[Condition], blocks: bool) -> Self {
        let of = conditions.iter().map(Vec::len).sum();
        let values = conditions.iter().flatten().map(|(_, value)| value.abs());
        let rounding = ROUNDING * values.fold(0.0, f64::max);
        let by_block = if blocks { by_block(conditions, of) } else { None };
        let (analysis, errors) = by_block.unwrap_or_else(|| {
            let analysis = Analysis { by_block: false, spread: Spread::Own, trials: of, of };
            (analysis, Errors::Each(conditions.iter().map(each).collect()))
        });
        Self { analysis, errors, rounding }
    }

    /// What its contrasts rest on.
    pub fn analysis(&self) -> Analysis {
        self.analysis
    }

    /// The weighted sum of conditions, by their places; weights add up to 0. None where a condition has too few trials
    /// for a standard error.
    pub fn contrast(&self, weights: &[(usize, f64)]) -> Option<Contrast> {
        let weights: Vec<(usize, f64)> = weights.iter().copied().filter(|(_, w)| *w != 0.0).collect();
        let mut found = match &self.errors {
            Errors::Pooled { fit, spreads } => pooled(fit, spreads, &weights)?,
            Errors::Jackknife { fit, without, trials } => jackknife(fit, without, trials, &weights)?,
            Errors::Each(conditions) => each_own(conditions, &weights)?,
        };
        let scale: f64 = weights.iter().map(|(_, w)| w.abs()).sum();
        if found.value.abs() <= scale * self.rounding {
            found.value = 0.0;
        }
        if found.se <= scale * self.rounding {
            found.se = 0.0;
        }
        (found.se.is_finite() && found.df >= 1.0).then_some(found)
    }

    /// The weighted sum of conditions without its error; none where a condition has no trial.
    pub fn value(&self, weights: &[(usize, f64)]) -> Option<f64> {
        match &self.errors {
            Errors::Pooled { fit, .. } | Errors::Jackknife { fit, .. } => fit.value(weights),
            Errors::Each(conditions) => weights.iter().map(|(c, w)| Some(w * conditions[*c]?.mean)).sum(),
        }
    }
}

/// The model with blocks, over all of them; over the complete ones where conditions are too many for a matrix. None
/// where blocks cannot be taken out.
fn by_block(conditions: &[Condition], of: usize) -> Option<(Analysis, Errors)> {
    let table = Table::of(conditions);
    let table = if conditions.len() > MOST_CONDITIONS { table.complete() } else { table };
    let enough = table.blocks >= 2 && 3 * table.entries.len() >= 2 * of;
    let fit = Fit::of(&table).filter(|fit| enough && fit.df >= 1.0)?;
    // What shares no block with the others has its mean at least where blocks are left in.
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
        (None, _) => Spread::Own,
    };
    let analysis = Analysis { by_block: true, spread, trials: table.entries.len(), of };
    let errors = match spreads {
        Some(spreads) => Errors::Pooled { fit, spreads },
        None => {
            let groups = table.blocks.min(MOST_LEFT_OUT);
            let without = |group| Some(Fit::of(&table.without(group, groups))?.effects);
            let without = (0..groups).map(without).collect::<Option<_>>()?;
            Errors::Jackknife { fit, without, trials: n }
        }
    };
    Some((analysis, errors))
}

fn each(condition: &Condition) -> Option<Own> {
    let values: Vec<f64> = condition.iter().map(|(_, value)| *value).collect();
    let n = values.len() as f64;
    Some(Own { mean: mean(&values)?, error: std_dev(&values).map(|sd| (sd * sd / n, n - 1.0)) })
}

fn pooled(fit: &Fit, spreads: &Spreads, weights: &[(usize, f64)]) -> Option<Contrast> {
    let unscaled = fit.unscaled(weights)?;
    let shared: f64 = unscaled.iter().filter(|(c, _)| spreads.own[*c].is_none()).map(|(_, scale)| scale).sum();
    let own = unscaled.iter().filter_map(|(c, scale)| spreads.own[*c].map(|(variance, df)| (scale * variance, df)));
    let (common, df) = spreads.common;
    let (variance, df) = welch::sum(own.chain([(shared * common, df)]));
    Some(Contrast { value: fit.value(weights)?, se: variance.sqrt(), df })
}

fn jackknife(fit: &Fit, without: &[Effects], trials: &[usize], weights: &[(usize, f64)]) -> Option<Contrast> {
    let value = fit.value(weights)?;
    let others: Vec<f64> = without.iter().map(|effects| value_of(effects, weights)).collect::<Option<_>>()?;
    let m = others.len() as f64;
    let squares: f64 = others.iter().map(|other| (other - value).powi(2)).sum();
    let fewest = weights.iter().map(|(c, _)| trials[*c]).min()?;
    Some(Contrast { value, se: ((m - 1.0) / m * squares).sqrt(), df: (fewest as f64).min(m) - 1.0 })
}

fn each_own(conditions: &[Option<Own>], weights: &[(usize, f64)]) -> Option<Contrast> {
    let parts: Vec<(f64, f64, f64)> = weights
        .iter()
        .map(|(c, w)| {
            let own = conditions[*c]?;
            let (variance, df) = own.error?;
            Some((w * own.mean, w * w * variance, df))
        })
        .collect::<Option<_>>()?;
    let (variance, df) = welch::sum(parts.iter().map(|(_, variance, df)| (*variance, *df)));
    Some(Contrast { value: parts.iter().map(|part| part.0).sum(), se: variance.sqrt(), df })
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
        // By hand: residual squares are those of all trials less those of conditions and blocks.
        let rows = complete();
        let all: f64 = rows.iter().flatten().map(|(_, v)| v * v).sum();
        let sum = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>();
        let of_conditions: f64 = rows.iter().map(|c| sum(&mut c.iter().map(|t| t.1)).powi(2) / 5.0).sum();
        let of_blocks: f64 = (0..5).map(|b| sum(&mut rows.iter().map(|c| c[b].1)).powi(2) / 3.0).sum();
        let of_all = sum(&mut rows.iter().flatten().map(|t| t.1)).powi(2) / 15.0;
        let squares = all - of_conditions - of_blocks + of_all;
        assert!((found.se - (squares / 8.0 * 2.0 / 5.0).sqrt()).abs() < 1e-9, "{found:?}, {squares}");
    }

    /// The others are compared as if it were not there, and it with them by Welch.
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
        // Of the five noises the variance is 42.5; what the others vary by is hardly anything next to it.
        assert!((with_noisy.se - (42.5_f64 / 5.0).sqrt()).abs() < 0.05, "{with_noisy:?}");
        assert!(with_noisy.df < 4.1, "{with_noisy:?}");
    }

    /// Whether the variance of a contrast is taken in closed form or through the trials of each block.
    #[test]
    fn a_block_without_a_difference_changes_no_standard_error_but_by_what_it_holds() {
        let mut all = complete();
        all[0].remove(4);
        let table = Table::of(&all);
        let fit = Fit::of(&table).unwrap();
        let weights = [(1, -1.0), (2, 1.0)];
        let unscaled: f64 = fit.unscaled(&weights).unwrap().iter().map(|(_, scale)| scale).sum();
        // The two are compared in all five blocks, whatever the third did.
        assert!((unscaled - 2.0 / 5.0).abs() < 1e-12, "{unscaled}");
        let with_lost: f64 = fit.unscaled(&[(0, -1.0), (2, 1.0)]).unwrap().iter().map(|(_, scale)| scale).sum();
        assert!(with_lost > 2.0 / 5.0 && with_lost < 2.0 / 4.0, "{with_lost}");
    }

    #[test]
    fn two_conditions_are_a_paired_comparison() {
        let two = complete()[..2].to_vec();
        let found = Model::of(&two, true).contrast(&[(0, -1.0), (1, 1.0)]).unwrap();
        let differences = [1.1, 1.2, 0.9, 1.3, 0.9];
        let se = std_dev(&differences).unwrap() / 5f64.sqrt();
        assert!((found.value - 1.08).abs() < 1e-12 && (found.se - se).abs() < 1e-12 && found.df == 4.0, "{found:?}");
    }

    /// Each left out by itself would take the square of their number, in time and in memory.
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
        let single = Model::of(&[vec![(0, 1.0)], vec![(0, 2.0)]], true);
        assert_eq!(single.contrast(&[(0, -1.0), (1, 1.0)]), None);
        assert_eq!(single.value(&[(0, -1.0), (1, 1.0)]), Some(1.0));
    }
}
