//! Main effects and interactions of one metric.

use super::block_spread::{self, BlockSpread, DIFFER, blocks_differ};
use super::design::{self, Cell, Design, log_cells};
use super::spread_test::{self, Dispersion, SpreadTest, brown_forsythe};
use crate::blocks::{Analysis, Contrast, Spread};
use crate::error::{Error, valid_confidence};
use crate::interval::{Estimate, Interval};
use crate::multiple::holm;
use crate::quantiles::t_two_sided;

/// The effect of one term on one metric. All ratios compare the high level with the low one. For an interaction they
/// are half the difference (on the log scale) between the effects of a factor at the high and at the low level of the
/// other one, the usual convention for two-level designs (Montgomery, "Design and Analysis of Experiments").
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// Indexes of the factors of the term, ascending: one for a main effect, more for an interaction.
    pub factors: Vec<usize>,
    /// Ratio of the geometric means. The interval is absent when no condition has two trials.
    pub mean_ratio: Estimate,
    /// p-value of no effect on the mean, not adjusted for the number of terms.
    pub mean_p: Option<f64>,
    /// With few blocks, where an effect must also be significant by its own differences between blocks: the standard
    /// errors of the coefficient, which is half of the logarithm of the ratio.
    error: Option<Contrast>,
    /// Ratio of the between-trial **variances** of ln(value), which are squared CoVs; its square root is the ratio of
    /// CoVs. `None` when too few conditions are replicated.
    pub spread_ratio: Option<Estimate>,
    /// p-value of no effect of a main effect on the variance, by Brown & Forsythe's test, which is robust against heavy
    /// tails and skew; not adjusted for the number of terms. 1 when that test finds the other level noisier. `None` for
    /// interactions, which are not tested.
    pub spread_p: Option<f64>,
    /// The analysis on which the ratio of the means is based.
    pub analysis: Analysis,
}

impl Effect {
    /// The larger of the p-values of no effect on the mean, for a family of tests on several metrics: conditions may be
    /// noisy in each of them.
    pub fn largest_mean_p(&self) -> Option<f64> {
        self.mean_p.map(|p| p.max(self.own_mean_p(1)))
    }

    /// The p-value by the effect's own differences between blocks, one of `tests`; 0 if it is not tested by these.
    fn own_mean_p(&self, tests: usize) -> f64 {
        self.error.and_then(|error| error.own_p_value(tests)).unwrap_or(0.0)
    }
}

/// The p-values of no effect on the mean of one metric, adjusted for all effects that are given (Holm).
pub fn adjusted_means(effects: &[&Effect]) -> Vec<f64> {
    let adjusted = holm(&effects.iter().map(|effect| effect.mean_p.unwrap_or(1.0)).collect::<Vec<_>>());
    adjusted.into_iter().zip(effects).map(|(adjusted, effect)| adjusted.max(effect.own_mean_p(effects.len()))).collect()
}

/// Main effects and interactions of up to `max_order` factors on mean and variance, lower orders first. Conditions may
/// be missing or differ in number of trials; a term that is aliased with an earlier one is left out. `factors` is the
/// number of factors.
///
/// `blocks` are the blocks of each cell's trials, or empty if there are none. With blocks, effects on the mean come
/// from least squares with block effects over all trials (see [`crate::blocks`]), so that drift between blocks does not
/// widen intervals and a lost trial does not discard others. Those on the variance use the residuals within blocks
/// where blocks may differ, as [`super::sources_at`] does. Interactions have none where blocks differ, because the
/// residuals of a block are those of one level of a factor.
///
/// `errors` are the standard deviations of the rounding error of a trial by cell, as parts of its value, or empty; see
/// [`crate::blocks::Model::rounded`].
///
/// Intervals of variance ratios are jackknifed over trials, with at least four trials per condition; with fewer they
/// assume that ln(trial means) within a condition is nearly normal, and are widened when the pooled tails are heavier.
///
/// # Errors
/// [`Error::Mismatch`] for cells whose number of levels differs from `factors`, [`Error::NotPositive`] for values
/// without a logarithm, [`Error::TooFew`] for fewer than two conditions with trials.
pub fn effects(
    factors: usize,
    cells: &[Cell],
    blocks: &[Vec<usize>],
    errors: &[f64],
    max_order: usize,
    confidence: f64,
) -> Result<Vec<Effect>, Error> {
    valid_confidence(confidence)?;
    let logs = [log_cells(factors, cells)?];
    let filled: Vec<usize> = (0..cells.len()).filter(|place| !cells[*place].trials.is_empty()).collect();
    let blocks: Vec<Vec<usize>> = filled.iter().filter_map(|place| blocks.get(*place).cloned()).collect();
    let errors: Vec<f64> = filled.iter().filter_map(|place| errors.get(*place).copied()).collect();
    let cells: Vec<&Cell> = logs[0].iter().collect();
    let design = Design::new(&cells, factors, max_order);
    let trials = cells.iter().map(|cell| cell.trials.len()).sum();
    let without = Analysis { by_block: false, spread: Spread::Own, trials, of: trials };
    let (means, analysis) = design::fit_blocks(&cells, &blocks, &errors, &design)
        .or_else(|| Some((design::fit_means(&cells, &errors, &design)?, without)))
        .ok_or_else(|| Error::NotFinite { what: "least squares on the trial means".into() })?;
    let spreads = Spreads::of(&logs, &blocks, (factors, max_order), confidence);
    let terms = design.terms.iter().zip(&means).filter(|(term, _)| !term.is_empty());
    let found: Vec<Effect> = terms
        .map(|(term, c)| {
            let on_spread = spreads.of_term(term, confidence);
            Effect {
                factors: term.clone(),
                mean_ratio: log_estimate(2.0 * c.value, c.half_width(confidence).map(|half| 2.0 * half)),
                mean_p: c.error.map(|error| error.p_value()),
                error: c.error,
                spread_ratio: on_spread.map(|(b, half)| log_estimate(b, Some(half))),
                spread_p: match (term.as_slice(), on_spread) {
                    ([one], Some((estimate, _))) => spreads.test(*one).map(|test| test.of(estimate)),
                    _ => None,
                },
                analysis,
            }
        })
        .collect();
    match found.iter().all(|effect| effect.mean_ratio.value.is_normal()) {
        true => Ok(found),
        false => Err(Error::NotFinite { what: "ratio of the levels' means".into() }),
    }
}

/// What is known of the effects on the variance of one metric.
struct Spreads {
    fit: Option<Dispersion>,
    inflation: f64,
    tests: Vec<SpreadTest>,
    /// p-value of no block effects.
    chance: f64,
    /// By factor, from the residuals within blocks; `None` where these cannot be separated.
    of_blocks: Vec<Option<BlockSpread>>,
}

impl Spreads {
    fn of(logs: &[Vec<Cell>; 1], blocks: &[Vec<usize>], (factors, max_order): (usize, usize), confidence: f64) -> Self {
        let cells: Vec<&Cell> = logs[0].iter().collect();
        let chance = if blocks.is_empty() { 1.0 } else { blocks_differ(logs, blocks) };
        let of =
            |factor| block_spread::of_factor(logs, blocks, factor, confidence).filter(|found| found.is_used(chance));
        Self {
            fit: spread_test::fit_dispersion(&cells, factors, max_order),
            // Tails are estimated from the model of main effects: the full model fits each cell's own variance and
            // hides them.
            inflation: spread_test::fit_dispersion(&cells, factors, 1)
                .map_or(1.0, |d| spread_test::inflation(&d.standardized)),
            tests: brown_forsythe(logs, factors),
            chance,
            of_blocks: (0..factors).map(of).collect(),
        }
    }

    /// Logarithm of the ratio of variances, and the half-width of its interval.
    fn of_term(&self, term: &[usize], confidence: f64) -> Option<(f64, f64)> {
        let own = |factor: &usize| self.of_blocks.get(*factor)?.as_ref();
        match term {
            [one] if own(one).is_some() => {
                own(one)?.ratios.first().map(|(ln, variance, df)| (*ln, variance.sqrt() * t_two_sided(confidence, *df)))
            }
            [_, _, ..] if self.chance <= DIFFER && self.of_blocks.iter().any(Option::is_some) => None,
            _ => {
                let fit = self.fit.as_ref()?;
                let place = fit.design.terms.iter().position(|own| own == term)?;
                let (variance, df) = fit.error(place, self.inflation);
                Some((2.0 * fit.values[place], 2.0 * variance.sqrt() * t_two_sided(confidence, df)))
            }
        }
    }

    fn test(&self, factor: usize) -> Option<SpreadTest> {
        let within = self.of_blocks.get(factor)?.as_ref().filter(|_| self.chance <= DIFFER);
        within.map(|own| own.test).or_else(|| self.tests.get(factor).copied())
    }
}

/// exp of a log effect and of its limits.
pub(super) fn log_estimate(effect: f64, half: Option<f64>) -> Estimate {
    let ci = half.and_then(|h| Interval::finite((effect - h).exp(), (effect + h).exp()));
    Estimate { value: effect.exp(), ci }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plasma etching, 2^3 with two replicates: Montgomery, "Design and Analysis of Experiments", example 6.1. Its
    /// effects are -101.625, 7.375, 306.125, -24.875, -153.625, -2.125 and 5.625, the error mean square is 2252.56 with
    /// 8 degrees of freedom. The values are exp(rate / 1000), so that ln returns the rate.
    fn plasma() -> Vec<Cell> {
        let rates = [
            (550., 604.),
            (669., 650.),
            (633., 601.),
            (642., 635.),
            (1037., 1052.),
            (749., 868.),
            (1075., 1063.),
            (729., 860.),
        ];
        rates
            .iter()
            .enumerate()
            .map(|(i, (a, b))| Cell {
                levels: (0..3).map(|f| i >> f & 1 == 1).collect(),
                trials: vec![(a / 1000.0f64).exp(), (b / 1000.0f64).exp()],
            })
            .collect()
    }

    #[test]
    fn effects_of_the_plasma_etching_data_match_the_textbook() {
        let found = effects(3, &plasma(), &[], &[], 3, 0.95).unwrap();
        let expected = [
            (vec![0], -101.625),
            (vec![1], 7.375),
            (vec![2], 306.125),
            (vec![0, 1], -24.875),
            (vec![0, 2], -153.625),
            (vec![1, 2], -2.125),
            (vec![0, 1, 2], 5.625),
        ];
        for (effect, (term, published)) in found.iter().zip(expected) {
            assert_eq!(effect.factors, term);
            assert!((effect.mean_ratio.value.ln() * 1000.0 - published).abs() < 1e-9);
            // Equal cell sizes: the standard error is that of the pooled analysis, 2 sqrt(MSE / 16) = 23.73.
            let ci = effect.mean_ratio.ci.unwrap();
            let half = (ci.high / ci.low).ln() * 500.0;
            assert!(half > 23.73 * 2.306 && half < 23.73 * 4.31, "{half}");
        }
        assert!(found[0].mean_p.unwrap() < 0.05 && found[1].mean_p.unwrap() > 0.5);
    }

    /// The variance effects of the full model are the plain contrasts of ln(s^2).
    #[test]
    fn spread_effects_are_contrasts_of_ln_variance() {
        let cells = plasma();
        let found = effects(3, &cells, &[], &[], 3, 0.95).unwrap();
        let ln_s2 = |c: &Cell| ((c.trials[0].ln() - c.trials[1].ln()).powi(2) / 2.0).ln();
        let contrast: f64 = cells.iter().map(|c| if c.levels[0] { ln_s2(c) } else { -ln_s2(c) }).sum::<f64>() / 4.0;
        assert!((found[0].spread_ratio.unwrap().value.ln() - contrast).abs() < 1e-6);
    }

    /// Two blocks a day apart: the second is 20% higher in every cell. With blocks the effect is exact.
    #[test]
    fn drift_between_blocks_leaves_effects_alone() {
        let cell = |level: bool, scale: f64| Cell {
            levels: vec![level],
            trials: [1.0, 1.2, 1.1].map(|drift| drift * scale).to_vec(),
        };
        let cells = [cell(false, 10.0), cell(true, 10.5)];
        let blocks = [vec![0, 1, 2], vec![0, 1, 2]];
        let found = effects(1, &cells, &blocks, &[], 1, 0.95).unwrap();
        let ci = found[0].mean_ratio.ci.unwrap();
        assert!((found[0].mean_ratio.value - 1.05).abs() < 1e-12 && ci.width() < 1e-9, "{ci:?}");
        let apart = effects(1, &cells, &[], &[], 1, 0.95).unwrap();
        assert!(apart[0].mean_ratio.ci.unwrap().width() > 0.3);
    }

    #[test]
    fn without_replicates_there_are_effects_and_no_intervals() {
        let mut cells = plasma();
        cells.iter_mut().for_each(|c| c.trials.truncate(1));
        let found = effects(3, &cells, &[], &[], 2, 0.95).unwrap();
        assert_eq!(found.len(), 6);
        assert!(found.iter().all(|e| e.mean_ratio.ci.is_none() && e.spread_ratio.is_none() && e.mean_p.is_none()));
    }

    #[test]
    fn missing_and_uneven_cells_recover_an_additive_truth() {
        let value = |l: &[bool]| 10.0 * if l[0] { 1.5 } else { 1.0 } * if l[1] { 0.8 } else { 1.0 };
        let cell = |l: [bool; 2], n: usize| Cell { levels: l.to_vec(), trials: vec![value(&l); n] };
        let cells = [cell([false, false], 5), cell([true, false], 1), cell([false, true], 3), cell([true, true], 0)];
        let found = effects(2, &cells, &[], &[], 2, 0.95).unwrap();
        assert_eq!(found.iter().map(|e| e.factors.as_slice()).collect::<Vec<_>>(), [[0], [1]]);
        assert!((found[0].mean_ratio.value - 1.5).abs() < 1e-12 && (found[1].mean_ratio.value - 0.8).abs() < 1e-12);
    }

    #[test]
    fn unusable_cells_are_named() {
        let bad = |levels: Vec<bool>, v: f64| [Cell { levels, trials: vec![v] }];
        assert!(matches!(effects(2, &bad(vec![true], 1.0), &[], &[], 2, 0.95), Err(Error::Mismatch { .. })));
        assert!(matches!(effects(1, &bad(vec![true], -1.0), &[], &[], 2, 0.95), Err(Error::NotPositive { .. })));
        assert!(matches!(effects(1, &bad(vec![true], 1.0), &[], &[], 2, 0.95), Err(Error::TooFew { .. })));
    }
}
