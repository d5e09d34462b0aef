//! Blocks of one study run by several machines: how much the machines differ, and which of them is odd.
//!
//! Comparisons within blocks do not care, for a block never crosses machines. What a reader must know is whether the
//! machines are alike, and which one to leave out next time.

use crate::descriptive::{mean, variance};
use crate::interval::{Estimate, Interval};
use crate::quantiles::{t_two_sided, t_upper_tail};
use crate::samples::Groups;

/// What is found over all machines.
#[derive(Debug, Clone, PartialEq)]
pub struct Machines {
    /// Standard deviation between machines, what blocks vary within one taken out; 0 where nothing is left.
    pub between: f64,
    /// Standard deviation between blocks of one machine.
    pub within: f64,
    /// Each machine's mean less the mean of the others' means; no interval where a machine has a single block.
    pub differences: Vec<Estimate>,
}

/// Compares machines by values of their blocks: outer = machines, inner = blocks, for example mean logarithms. `None`
/// where no machine has two blocks.
pub fn compare(machines: Groups<'_>, confidence: f64) -> Option<Machines> {
    let unit = unit(machines);
    let groups: Vec<Group> = machines.iter().map(|blocks| Group::of(blocks, unit)).collect::<Option<_>>()?;
    let all: Vec<usize> = (0..groups.len()).collect();
    let free: f64 = groups.iter().map(|group| group.n - 1.0).sum();
    if free < 1.0 {
        return None;
    }
    let within = groups.iter().map(|group| group.variance.unwrap_or(0.0) * (group.n - 1.0)).sum::<f64>() / free;
    // The one-way layout with unequal counts (Searle, Casella and McCulloch, "Variance Components", 1992, section 3.6).
    let (k, total) = (groups.len() as f64, groups.iter().map(|group| group.n).sum::<f64>());
    let grand = groups.iter().map(|group| group.n * group.mean).sum::<f64>() / total;
    let mean_square = groups.iter().map(|group| group.n * (group.mean - grand).powi(2)).sum::<f64>() / (k - 1.0);
    let n0 = (total - groups.iter().map(|group| group.n * group.n).sum::<f64>() / total) / (k - 1.0);
    let between = ((mean_square - within) / n0).max(0.0);
    let in_values = |found: Estimate| Estimate {
        value: found.value * unit,
        ci: found.ci.and_then(|ci| Interval::finite(ci.low * unit, ci.high * unit)),
    };
    let difference = |one: &usize| in_values(Contrast::of(&groups, *one, &all).estimate(confidence));
    let differences = all.iter().map(difference).collect();
    Some(Machines { between: between.sqrt() * unit, within: within.sqrt() * unit, differences })
}

/// The machines that are shown to differ from the others, at `alpha` over all of them together: the one farthest out
/// first, then again among the rest (of two machines no one can say which is odd). Given the logarithms of the spread
/// in each block in place of its mean, the ones that are more or less noisy.
pub fn odd(machines: Groups<'_>, alpha: f64) -> Vec<usize> {
    let unit = unit(machines);
    let Some(groups) = machines.iter().map(|blocks| Group::of(blocks, unit)).collect::<Option<Vec<_>>>() else {
        return Vec::new();
    };
    let mut left: Vec<usize> = (0..groups.len()).collect();
    let mut odd = Vec::new();
    while left.len() >= 3 {
        let tested = left.iter().map(|one| (*one, Contrast::of(&groups, *one, &left).p_value()));
        let Some((farthest, p)) = tested.min_by(|a, b| a.1.total_cmp(&b.1)) else { break };
        if p * left.len() as f64 > alpha {
            break;
        }
        odd.push(farthest);
        left.retain(|one| *one != farthest);
    }
    odd
}

/// The largest of all values: in units of it no square overflows.
fn unit(machines: Groups<'_>) -> f64 {
    let largest = machines.iter().flatten().fold(0.0f64, |largest, v| largest.max(v.abs()));
    if largest > 0.0 { largest } else { 1.0 }
}

/// One machine's blocks.
struct Group {
    n: f64,
    mean: f64,
    /// Absent for a single block.
    variance: Option<f64>,
}

impl Group {
    fn of(blocks: &[f64], unit: f64) -> Option<Self> {
        let blocks: Vec<f64> = blocks.iter().map(|v| v / unit).collect();
        Some(Self { n: blocks.len() as f64, mean: mean(&blocks)?, variance: variance(&blocks) })
    }
}

/// A mean less the mean of other means, with Welch and Satterthwaite's degrees of freedom.
struct Contrast {
    value: f64,
    error: f64,
    df: f64,
}

impl Contrast {
    fn of(groups: &[Group], one: usize, among: &[usize]) -> Self {
        let others = (among.len() - 1) as f64;
        let (mut value, mut square, mut spread) = (0.0, 0.0, 0.0);
        for index in among {
            let group = &groups[*index];
            let weight = if *index == one { 1.0 } else { -1.0 / others };
            value += weight * group.mean;
            let Some(variance) = group.variance else {
                return Self { value: f64::NAN, error: f64::INFINITY, df: 0.0 };
            };
            let part = weight * weight * variance / group.n;
            square += part;
            spread += part * part / (group.n - 1.0);
        }
        Self { value, error: square.sqrt(), df: if spread > 0.0 { square * square / spread } else { f64::INFINITY } }
    }

    fn p_value(&self) -> f64 {
        if self.error > 0.0 && self.error.is_finite() {
            (2.0 * t_upper_tail((self.value / self.error).abs(), self.df)).min(1.0)
        } else {
            1.0
        }
    }

    fn estimate(&self, confidence: f64) -> Estimate {
        let usable = self.error.is_finite() && self.df > 0.0 && self.df.is_finite();
        let half = usable.then(|| t_two_sided(confidence, self.df) * self.error);
        Estimate {
            value: self.value,
            ci: half.map(|half| Interval { low: self.value - half, high: self.value + half }),
        }
    }
}
