//! One step measured on many ladders: its mean over all of them, and the ladders that are exceptions.

use super::descriptive::{mean, std_dev};
use super::interval::{Estimate, Interval};
use super::plan::POWER;
use super::quantiles::{self, f_upper_tail, normal, t, t_upper_tail, trigamma};
use super::ratio::Rounding;

/// A variance with its degrees of freedom.
pub(crate) type Variance = (f64, f64);

/// The pooled variance of all samples.
pub(crate) fn pooled(samples: &[Variance]) -> Variance {
    let df: f64 = samples.iter().map(|(_, df)| df).sum();
    (samples.iter().map(|(variance, df)| variance * df).sum::<f64>() / df, df)
}

/// Whether no sample varies more than the rest (the largest against all others, Bonferroni), and the logarithms of the
/// variances scatter no more than expected by chance (the variance of ln of a chi-squared is a trigamma). `chance` is
/// the probability of rejecting equal variances when they are equal, for each of the two tests.
pub(crate) fn alike(samples: &[Variance], chance: f64) -> bool {
    let n = samples.len() as f64;
    if samples.len() < 2 || samples.iter().any(|(variance, df)| *variance <= 0.0 || *df < 1.0) {
        return false;
    }
    let largest = (0..samples.len()).max_by(|a, b| samples[*a].0.total_cmp(&samples[*b].0)).unwrap_or(0);
    let others: Vec<Variance> =
        (0..samples.len()).filter(|place| *place != largest).map(|place| samples[place]).collect();
    let (rest, rest_df) = pooled(&others);
    if f_upper_tail(samples[largest].0 / rest, samples[largest].1, rest_df) * n < chance {
        return false;
    }
    let logs: Vec<f64> = samples.iter().map(|(variance, _)| variance.ln()).collect();
    let Some(centre) = mean(&logs) else { return false };
    let spread = logs.iter().map(|log| (log - centre).powi(2)).sum::<f64>() / (n - 1.0);
    let expected = samples.iter().map(|(_, df)| trigamma(df / 2.0)).sum::<f64>() / n;
    // Approximates the kurtosis of ln of a chi-squared minus 1: 6 at one degree of freedom, 3.6 at three, 2 at many.
    let heavy = 2.0 + 4.0 / pooled(samples).1 * n;
    spread <= expected * (1.0 + normal(1.0 - chance) * (heavy / n).sqrt())
}

/// A step on one ladder.
#[derive(Debug, Clone, PartialEq)]
pub struct LadderStep {
    /// ln(after / before), with the block in which both ran.
    pub blocks: Vec<(usize, f64)>,
    /// What rounding hides of these logarithms; nothing by default.
    pub rounding: Rounding,
}

/// A ladder whose step differs from that of the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exception {
    /// Its index among the given ladders.
    pub ladder: usize,
    /// after / before on this ladder, with its interval.
    pub ratio: Estimate,
}

/// A step over many ladders.
#[derive(Debug, Clone, PartialEq)]
pub struct PooledStep {
    /// The geometric mean of after / before over the ladders that are not exceptions, with its interval.
    pub ratio: Estimate,
    /// One-sided p-value of a mean of 1 or more: small when throughput drops.
    pub p_less: f64,
    /// p-value of the same step on all ladders: small when the most distant one differs.
    pub p_alike: f64,
    /// Number of ladders in the mean.
    pub ladders: usize,
    /// Ladders whose step is shown to differ, the most distant first.
    pub exceptions: Vec<Exception>,
}

/// Probability that ladders with equal variances are judged unequal, over all steps.
const UNLIKE: f64 = 0.02;

/// The same step on many ladders.
#[derive(Debug, Clone, PartialEq)]
pub struct StepOfLadders {
    /// The differences of each ladder.
    pub ladders: Vec<LadderStep>,
    /// Whether the ladders of a block ran on one server and so share its random effects: then the unit is the block,
    /// otherwise each difference.
    pub shared: bool,
}

/// The mean of each of these steps over its ladders, in the same order; `None` when fewer than two ladders have two
/// blocks.
///
/// `rate` is the probability that any ladder of any step is reported as an exception when there is none. Exceptions are
/// left out of the mean; they are always fewer than half of the ladders. A ladder uses the pooled variance of its
/// step's ladders if the ladders of no step are shown to have unequal variances; otherwise it uses the largest of them,
/// so that only very distant ladders are exceptions.
pub fn pooled_steps(steps: &[StepOfLadders], confidence: f64, rate: f64) -> Vec<Option<PooledStep>> {
    let own: Vec<Vec<Option<Own>>> = steps.iter().map(freed).collect();
    let chance = UNLIKE / steps.len().max(1) as f64;
    let are_alike = own.iter().all(|own| alike(&variances(own), chance));
    let each = rate / steps.len().max(1) as f64;
    steps.iter().zip(own).map(|(step, own)| pooled_step(step, &own, are_alike, confidence, each)).collect()
}

/// The differences of every ladder of a step. With shared servers the block effects are subtracted, because they do not
/// distinguish ladders.
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
        // Of two remaining ladders, neither is the exception.
        if rest.len() < 3 || p_value > rate {
            break;
        }
        rest.retain(|kept| *kept != ladder);
        exceptions.push(ladder);
    }
    let exceptions = exceptions.into_iter().filter_map(|ladder| {
        let own = own[ladder]?;
        let se = (common.of_ladder(own) / own.n).sqrt();
        let found = Mean { value: own.mean, se, df: common.df, slack: own.rounding.slack };
        Some(Exception { ladder, ratio: found.estimate(confidence) })
    });
    let exceptions = exceptions.collect();
    let found = if *shared { by_block(ladders, &rest)? } else { by_ladder(own, &rest)? };
    let (ratio, p_less) = (found.estimate(confidence), found.p_less());
    Some(PooledStep { ratio, p_less, p_alike, ladders: rest.len(), exceptions })
}

/// A mean of logarithms with its standard error and degrees of freedom.
struct Mean {
    value: f64,
    se: f64,
    df: f64,
    /// By how much rounding may have moved it.
    slack: f64,
}

impl Mean {
    /// One-sided p-value of a mean of 0 or more.
    fn p_less(&self) -> f64 {
        // The largest mean that rounding allows.
        match (self.value + self.slack, self.se) {
            (0.0, _) => 1.0,
            (value, se) if se > 0.0 => t_upper_tail(-value / se, self.df),
            (value, _) => f64::from(u8::from(value > 0.0)),
        }
    }

    fn estimate(&self, confidence: f64) -> Estimate {
        let half = t(0.5 + confidence / 2.0, self.df.min(1e9)) * self.se + self.slack;
        let end = |to: f64| (self.value + to).exp();
        let ci = half.is_finite().then(|| Interval { low: end(-half), high: end(half) });
        Estimate { value: self.value.exp(), ci }
    }
}

/// The variance that the ladders of a step share.
#[derive(Debug, Clone, Copy)]
struct Common {
    /// The pooled variance if variances are equal, otherwise the largest; a ladder whose own is larger uses its own.
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
    rounding: Rounding,
}

impl Own {
    fn of(step: &LadderStep) -> Option<Self> {
        let values: Vec<f64> = step.blocks.iter().map(|(_, value)| *value).collect();
        let (n, rounding) = (values.len() as f64, step.rounding);
        let variance = std_dev(&values)?.max(rounding.error).powi(2);
        Some(Self { mean: mean(&values)?, variance, n, df: n - 1.0, rounding })
    }
}

/// The ladder that differs most from the rest, with its p-value; two ladders need one test, more need one per ladder.
fn farthest(own: &[Option<Own>], rest: &[usize], common: Common) -> Option<(usize, f64)> {
    let tests = rest.iter().filter_map(|ladder| Some((*ladder, apart(own, rest, *ladder, common)?)));
    let (ladder, p_value) = tests.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let count = if rest.len() == 2 { 1.0 } else { rest.len() as f64 };
    Some((ladder, (p_value * count).min(1.0)))
}

/// Two-sided p-value of a ladder being like the rest.
fn apart(own: &[Option<Own>], rest: &[usize], ladder: usize, common: Common) -> Option<f64> {
    let of = |ladder: usize| own[ladder].map(|own| (own.mean, common.of_ladder(own) / own.n, own.rounding.slack));
    let (value, variance, slack) = of(ladder)?;
    let others: Vec<(f64, f64, f64)> =
        rest.iter().filter(|other| **other != ladder).filter_map(|other| of(*other)).collect();
    let m = others.len() as f64;
    let over = |part: fn(&(f64, f64, f64)) -> f64| others.iter().map(part).sum::<f64>() / m;
    let se = (variance + over(|other| other.1) / m).sqrt();
    let difference = (value - over(|other| other.0)).abs() - slack - over(|other| other.2);
    let statistic = if se > 0.0 { difference.max(0.0) / se } else { return None };
    Some((2.0 * t_upper_tail(statistic, common.df)).min(1.0))
}

/// For independent ladders: the variance of their mean follows from that of each, with Satterthwaite's degrees of
/// freedom.
fn by_ladder(own: &[Option<Own>], rest: &[usize]) -> Option<Mean> {
    let all: Vec<Own> = rest.iter().filter_map(|ladder| own[*ladder]).collect();
    let m = all.len() as f64;
    let value = mean(&all.iter().map(|own| own.mean).collect::<Vec<_>>())?;
    let (variance, df) = quantiles::sum_of_variances(all.iter().map(|own| (own.variance / own.n, own.df)));
    let slack = all.iter().map(|own| own.rounding.slack).sum::<f64>() / m;
    Some(Mean { value, se: variance.sqrt() / m, df, slack })
}

/// The same ladders after subtracting block effects.
fn without_blocks(ladders: &[LadderStep], rest: &[usize]) -> Vec<LadderStep> {
    let values = |wanted: Option<usize>| {
        let all = rest.iter().flat_map(|ladder| &ladders[*ladder].blocks);
        all.filter(|(block, _)| wanted.is_none_or(|wanted| wanted == *block)).map(|(_, v)| *v).collect::<Vec<_>>()
    };
    let all = mean(&values(None)).unwrap_or(0.0);
    let own = |block: usize| mean(&values(Some(block))).unwrap_or(all);
    let freed = |step: &LadderStep| step.blocks.iter().map(|(block, v)| (*block, v - own(*block) + all)).collect();
    ladders.iter().map(|step| LadderStep { blocks: freed(step), ..*step }).collect()
}

/// For ladders that share the random effects of their block: the block's mean is one value.
fn by_block(ladders: &[LadderStep], rest: &[usize]) -> Option<Mean> {
    let mut blocks: Vec<usize> = rest.iter().flat_map(|l| ladders[*l].blocks.iter().map(|(block, _)| *block)).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let of = |block: usize| {
        let values = rest.iter().flat_map(|l| ladders[*l].blocks.iter()).filter(|(b, _)| *b == block).map(|(_, v)| *v);
        mean(&values.collect::<Vec<_>>())
    };
    let means: Vec<f64> = blocks.into_iter().filter_map(of).collect();
    let (n, m) = (means.len() as f64, rest.len() as f64);
    let hidden = rest.iter().map(|ladder| ladders[*ladder].rounding);
    let error = hidden.clone().map(|rounding| rounding.error * rounding.error).sum::<f64>().sqrt() / m;
    let slack = hidden.map(|rounding| rounding.slack).sum::<f64>() / m;
    Some(Mean { value: mean(&means)?, se: std_dev(&means)?.max(error) / n.sqrt(), df: n - 1.0, slack })
}

/// The smallest change, as a fraction, that a contrast with this standard error (of logarithms) and these degrees of
/// freedom detects with [`POWER`] in a two-sided test at `alpha`.
pub fn smallest_shown(se: f64, df: f64, alpha: f64) -> f64 {
    ((t(1.0 - alpha / 2.0, df) + t(POWER, df)) * se).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_varies_alike_is_pooled_and_one_that_varies_more_is_seen() {
        let some = [(1.0, 3.0), (1.6, 3.0), (0.3, 3.0), (1.1, 3.0), (0.7, 3.0)];
        assert!(alike(&some, 0.02));
        let (variance, df) = pooled(&some);
        assert!((variance - 0.94).abs() < 1e-12 && df == 15.0, "{variance} {df}");
        assert!(!alike(&[some.as_slice(), &[(40.0, 3.0)]].concat(), 0.02));
        assert!(!alike(&[(1e-6, 3.0), (1.0, 3.0), (1e-4, 3.0), (0.5, 3.0), (1e-5, 3.0), (2.0, 3.0)], 0.02));
        assert!(!alike(&[(0.0, 3.0), (1.0, 3.0)], 0.02));
    }
}
