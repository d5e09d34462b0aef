//! The mean of a step over ladders, block by block, and the ladders at which it is another.

use super::variances::{Variance, alike, pooled};
use crate::descriptive::{mean, std_dev};
use crate::interval::{Estimate, Interval};
use crate::quantiles::{t, t_upper_tail};
use crate::welch;

/// A step on one ladder.
#[derive(Debug, Clone, PartialEq)]
pub struct LadderStep {
    /// ln(after / before) with the block that both ran in.
    pub blocks: Vec<(usize, f64)>,
}

/// A ladder whose step is another than that of the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exception {
    /// Its place among the ladders that were given.
    pub ladder: usize,
    /// after / before on it, with its interval.
    pub ratio: Estimate,
}

/// A step over many ladders.
#[derive(Debug, Clone, PartialEq)]
pub struct PooledStep {
    /// The geometric mean of after / before over the ladders that are no exception, with its interval.
    pub ratio: Estimate,
    /// One-sided p-value of a mean of 1 or more: small where more gives less.
    pub p_less: f64,
    /// P-value of the same step on all ladders: small where the farthest is another.
    pub p_alike: f64,
    /// Ladders that the mean is of.
    pub ladders: usize,
    /// Ladders at which it is shown to be another, the farthest first.
    pub exceptions: Vec<Exception>,
}

/// Chance that ladders which vary alike are judged not to, over all steps.
const UNLIKE: f64 = 0.02;

/// Many ladders with the same step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepOfLadders {
    /// Each ladder's own differences.
    pub ladders: Vec<LadderStep>,
    /// Whether ladders of a block ran on one server, whose luck they share: then a block is the unit, else every
    /// difference is.
    pub shared: bool,
}

/// Each of these steps over its ladders, in their order; none where fewer than two ladders have two blocks.
///
/// `rate` is the chance that any ladder of any step is called an exception where none is. An exception is taken out of
/// the mean, and fewer than half of the ladders are. A ladder borrows the variance of its step's ladders where those of
/// all steps are shown to vary alike; else it has the largest of them, and only what is far off is an exception.
pub fn pooled_steps(steps: &[StepOfLadders], confidence: f64, rate: f64) -> Vec<Option<PooledStep>> {
    let own: Vec<Vec<Option<Own>>> = steps.iter().map(freed).collect();
    let chance = UNLIKE / steps.len().max(1) as f64;
    let are_alike = own.iter().all(|own| alike(&variances(own), chance));
    let each = rate / steps.len().max(1) as f64;
    steps.iter().zip(own).map(|(step, own)| pooled_step(step, &own, are_alike, confidence, each)).collect()
}

/// The differences of every ladder of a step; without what all of a block share, where that tells none from the others.
fn freed(step: &StepOfLadders) -> Vec<Option<Own>> {
    let usable: Vec<usize> = (0..step.ladders.len()).filter(|ladder| step.ladders[*ladder].blocks.len() >= 2).collect();
    match step.shared {
        true => without_blocks(&step.ladders, &usable).iter().map(Own::of).collect(),
        false => step.ladders.iter().map(Own::of).collect(),
    }
}

fn variances(own: &[Option<Own>]) -> Vec<Variance> {
    own.iter().flatten().map(|own| (own.variance, own.df)).collect()
}

fn pooled_step(
    StepOfLadders { ladders, shared }: &StepOfLadders,
    own: &[Option<Own>],
    are_alike: bool,
    confidence: f64,
    rate: f64,
) -> Option<PooledStep> {
    let mut rest: Vec<usize> = (0..ladders.len()).filter(|ladder| ladders[*ladder].blocks.len() >= 2).collect();
    if rest.len() < 2 {
        return None;
    }
    let common = Common::of(own, are_alike);
    let (all, mut exceptions) = (rest.len(), Vec::new());
    let p_alike = farthest(own, &rest, common).map_or(1.0, |(_, p_value)| p_value);
    while exceptions.len() < (all - 1) / 2 {
        let Some((ladder, p_value)) = farthest(own, &rest, common) else { break };
        // With two left, neither is the exception to the other.
        if rest.len() < 3 || p_value > rate {
            break;
        }
        rest.retain(|kept| *kept != ladder);
        exceptions.push(ladder);
    }
    let exceptions = exceptions.into_iter().filter_map(|ladder| {
        let own = own[ladder]?;
        let se = (common.of_ladder(own) / own.n).sqrt();
        Some(Exception { ladder, ratio: estimate(own.mean, se, common.df, confidence) })
    });
    let exceptions = exceptions.collect();
    let (value, se, df) = if *shared { by_block(ladders, &rest)? } else { by_ladder(own, &rest)? };
    let p_less = match (value, se) {
        (0.0, _) => 1.0,
        (value, se) if se > 0.0 => t_upper_tail(-value / se, df),
        (value, _) => f64::from(u8::from(value > 0.0)),
    };
    Some(PooledStep { ratio: estimate(value, se, df, confidence), p_less, p_alike, ladders: rest.len(), exceptions })
}

/// What ladders of a step borrow.
#[derive(Debug, Clone, Copy)]
struct Common {
    /// At least this, where all vary alike; else this.
    variance: f64,
    df: f64,
}

impl Common {
    fn of(own: &[Option<Own>], are_alike: bool) -> Self {
        let all = variances(own);
        let (pooled, df) = pooled(&all);
        let largest = all.iter().map(|(variance, _)| *variance).fold(0.0, f64::max);
        Self { variance: if are_alike { pooled } else { largest }, df }
    }

    fn of_ladder(&self, own: Own) -> f64 {
        self.variance.max(own.variance)
    }
}

/// A ladder's own differences.
#[derive(Debug, Clone, Copy)]
struct Own {
    mean: f64,
    variance: f64,
    n: f64,
    df: f64,
}

impl Own {
    fn of(step: &LadderStep) -> Option<Self> {
        let values: Vec<f64> = step.blocks.iter().map(|(_, value)| *value).collect();
        let n = values.len() as f64;
        Some(Self { mean: mean(&values)?, variance: std_dev(&values)?.powi(2), n, df: n - 1.0 })
    }
}

/// The ladder that is least like the rest, with the p-value of its being like them; of two it is one test, of more as
/// many as there are ladders.
fn farthest(own: &[Option<Own>], rest: &[usize], common: Common) -> Option<(usize, f64)> {
    let tests = rest.iter().filter_map(|ladder| Some((*ladder, apart(own, rest, *ladder, common)?)));
    let (ladder, p_value) = tests.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let count = if rest.len() == 2 { 1.0 } else { rest.len() as f64 };
    Some((ladder, (p_value * count).min(1.0)))
}

/// Two-sided p-value of a ladder's being like the rest of them.
fn apart(own: &[Option<Own>], rest: &[usize], ladder: usize, common: Common) -> Option<f64> {
    let of = |ladder: usize| own[ladder].map(|own| (own.mean, common.of_ladder(own) / own.n));
    let (value, variance) = of(ladder)?;
    let others: Vec<(f64, f64)> =
        rest.iter().filter(|other| **other != ladder).filter_map(|other| of(*other)).collect();
    let m = others.len() as f64;
    let mean = others.iter().map(|other| other.0).sum::<f64>() / m;
    let se = (variance + others.iter().map(|other| other.1).sum::<f64>() / (m * m)).sqrt();
    let statistic = if se > 0.0 { (value - mean).abs() / se } else { return None };
    Some((2.0 * t_upper_tail(statistic, common.df)).min(1.0))
}

/// Ladders are independent: the variance of their mean is that of each, with Satterthwaite's degrees of freedom.
fn by_ladder(own: &[Option<Own>], rest: &[usize]) -> Option<(f64, f64, f64)> {
    let all: Vec<Own> = rest.iter().filter_map(|ladder| own[*ladder]).collect();
    let m = all.len() as f64;
    let value = mean(&all.iter().map(|own| own.mean).collect::<Vec<_>>())?;
    let (variance, df) = welch::sum(all.iter().map(|own| (own.variance / own.n, own.df)));
    Some((value, variance.sqrt() / m, df))
}

/// The same ladders without what their blocks differ by.
fn without_blocks(ladders: &[LadderStep], rest: &[usize]) -> Vec<LadderStep> {
    let values = |wanted: Option<usize>| {
        let all = rest.iter().flat_map(|ladder| &ladders[*ladder].blocks);
        all.filter(|(block, _)| wanted.is_none_or(|wanted| wanted == *block)).map(|(_, v)| *v).collect::<Vec<_>>()
    };
    let all = mean(&values(None)).unwrap_or(0.0);
    let own = |block: usize| mean(&values(Some(block))).unwrap_or(all);
    let freed = |step: &LadderStep| step.blocks.iter().map(|(block, v)| (*block, v - own(*block) + all)).collect();
    ladders.iter().map(|step| LadderStep { blocks: freed(step) }).collect()
}

/// Ladders of a block share its luck: the block's mean is one value.
fn by_block(ladders: &[LadderStep], rest: &[usize]) -> Option<(f64, f64, f64)> {
    let mut blocks: Vec<usize> = rest.iter().flat_map(|l| ladders[*l].blocks.iter().map(|(block, _)| *block)).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let of = |block: usize| {
        let values = rest.iter().flat_map(|l| ladders[*l].blocks.iter()).filter(|(b, _)| *b == block).map(|(_, v)| *v);
        mean(&values.collect::<Vec<_>>())
    };
    let means: Vec<f64> = blocks.into_iter().filter_map(of).collect();
    let n = means.len() as f64;
    Some((mean(&means)?, std_dev(&means)? / n.sqrt(), n - 1.0))
}

fn estimate(value: f64, se: f64, df: f64, confidence: f64) -> Estimate {
    let half = t(0.5 + confidence / 2.0, df.min(1e9)) * se;
    let ci = half.is_finite().then(|| Interval { low: (value - half).exp(), high: (value + half).exp() });
    Estimate { value: value.exp(), ci }
}

/// The smallest change, as a part of the whole, that a contrast with this standard error (of logarithms) and these
/// degrees of freedom shows with this `power` in a two-sided test at `alpha`.
pub fn smallest_shown(se: f64, df: f64, alpha: f64, power: f64) -> f64 {
    ((t(1.0 - alpha / 2.0, df) + t(power, df)) * se).exp_m1()
}
