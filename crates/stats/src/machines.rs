//! Compares machines that shared the blocks of one study: how much they differ, and which of them is an outlier.
//!
//! Comparisons within blocks are not affected, because a block never spans machines. But a reader must know whether the
//! machines are alike, and which one to leave out next time. The blocks of a machine are given in the order in which it
//! ran them: with autocorrelation between neighbours its mean is less precise than with independent blocks.

use super::trials::Groups;
use crate::descriptive::{mean, variance};
use crate::interval::{Estimate, Interval};
use crate::order::{generator, shuffle};
use crate::quantiles::{t, t_two_sided, t_upper_tail};
use crate::serial;

/// The comparison of all machines.
#[derive(Debug, Clone, PartialEq)]
pub struct Machines {
    /// Standard deviation between machines, with the variance between blocks of one machine removed; 0 if nothing
    /// remains.
    pub between: f64,
    /// Standard deviation between blocks of one machine.
    pub within: f64,
    /// Each machine's mean minus the mean of the others' means; without interval when a machine has a single block.
    pub differences: Vec<Estimate>,
}

/// Compares machines by values of their blocks (outer = machines, inner = blocks), for example mean logarithms. `None`
/// when no machine has two blocks.
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
    let widening = widening(machines);
    let between = ((mean_square - within * widening) / n0).max(0.0);
    let in_values = |found: Estimate| Estimate {
        value: found.value * unit,
        ci: found.ci.and_then(|ci| Interval::finite(ci.low * unit, ci.high * unit)),
    };
    let difference = |one: &usize| in_values(Contrast::of(&groups, *one, &all).estimate(confidence, widening.sqrt()));
    let differences = all.iter().map(difference).collect();
    Some(Machines { between: between.sqrt() * unit, within: within.sqrt() * unit, differences })
}

/// Permutations of the test in [`odd`].
const PERMUTATIONS: usize = 999;
/// Fixed, so that the same blocks always give the same machines.
const SEED: u64 = 1;

/// Machines that deviate from the others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Odd {
    /// Those that are shown to deviate, the most distant one first.
    pub shown: Vec<usize>,
    /// The one that would be next if blocks were independent, which they do not show.
    pub open: Option<usize>,
}

/// The machines that are shown to differ from the others, with a family-wise error rate of `alpha`: the most distant
/// one first, then again among the rest (of two machines neither can be called the outlier). Given the logarithms of
/// the standard deviation in each block instead of its mean, it finds machines that are more or less noisy.
///
/// The distance of the most distant machine is compared with the largest distance when blocks are permuted over all
/// machines, which is exact for independent blocks of any distribution. Distances are in units of the standard
/// deviation within machines, pooled over them, or of the machine's own if that is larger: five blocks estimate their
/// own standard deviation too poorly, and a noisy machine is not a distant one.
///
/// Blocks of one machine may be like their neighbours. A mean of such blocks is less precise, but blocks hardly show
/// it: five of them do not, and many do not show a drift that is as large as the noise of a block. With `alike`, the
/// correlation of neighbours that is possible, a machine must pass one of two tests, each with half of `alpha`:
/// - the same one with this correlation (or with the one that is shown, if that is larger). The distance is divided by
///   the factor by which it widens the error of a mean, and reduced by the degrees of freedom that it takes;
/// - the machine's mean is an outlier among the means of all machines (Grubbs), whatever is true of their blocks. This
///   needs several other machines, and no second one that deviates in the same direction.
///
/// With 0 only the autocorrelation that the blocks show counts.
pub fn odd(machines: Groups<'_>, alpha: f64, alike: f64) -> Odd {
    let unit = unit(machines);
    let blocks: Vec<Vec<f64>> = machines.iter().map(|blocks| blocks.iter().map(|v| v / unit).collect()).collect();
    let order = Order::of(machines, alike);
    let mut left: Vec<usize> = (0..blocks.len()).collect();
    let mut odd = Odd::default();
    while left.len() >= 3 {
        let among: Vec<&[f64]> = left.iter().map(|one| blocks[*one].as_slice()).collect();
        let Some(found) = farthest(&among, order) else { break };
        let is_possible = found.p_value <= alpha;
        let is_shown = || {
            let half = alpha / 2.0;
            found.p_cautious <= half || (found.p_value <= half && among_means(&among, found.place) <= half)
        };
        if !is_possible || (alike > 0.0 && !is_shown()) {
            odd.open = is_possible.then(|| left[found.place]);
            break;
        }
        odd.shown.push(left.remove(found.place));
    }
    odd
}

/// With a smaller p-value, degrees of freedom do not matter.
const CERTAIN: f64 = 1e-12;

/// How the autocorrelation of blocks affects a distance between machines.
#[derive(Debug, Clone, Copy)]
struct Order {
    /// Factor by which the autocorrelation that is shown widens the error of a mean.
    widening: f64,
    /// The same for the one that is possible.
    possible: f64,
    /// The degrees of freedom that remain with it, as a share of those of independent blocks.
    df: f64,
}

impl Order {
    fn of(machines: Groups<'_>, alike: f64) -> Self {
        let (shown, blocks) = correlation(machines);
        let (possible, blocks) = (shown.max(alike), blocks.max(2));
        let widening = |correlation: f64| serial::inflation(correlation, blocks).sqrt();
        let df = serial::spread_df(possible, blocks) / (blocks as f64 - 1.0);
        Self { widening: widening(shown), possible: widening(possible), df }
    }

    /// The distance that independent blocks would have with the same p-value; `df` are their degrees of freedom.
    fn cautious(self, distance: f64, df: f64) -> f64 {
        let distance = distance / self.possible;
        let p_value = t_upper_tail(distance, df * self.df);
        if p_value < CERTAIN { distance } else { distance.min(-t(p_value, df)) }
    }
}

/// The correlation of neighbouring blocks that the machines show, and the number of blocks of a machine.
fn correlation(machines: Groups<'_>) -> (f64, usize) {
    let runs: Vec<&[f64]> = machines.iter().collect();
    let blocks = runs.iter().map(|run| run.len()).sum::<usize>() / runs.len().max(1);
    (serial::of_many_runs(&runs, SEED).map_or(0.0, |order| order.correlation), blocks)
}

/// Factor by which the variance of a machine's mean exceeds that of independent blocks.
fn widening(machines: Groups<'_>) -> f64 {
    let (shown, blocks) = correlation(machines);
    serial::inflation(shown, blocks)
}

/// The machine that is most distant from the others.
struct Farthest {
    place: usize,
    /// p-value of its distance if all machines are alike and blocks have the autocorrelation that they show.
    p_value: f64,
    /// The same with the autocorrelation that is possible.
    p_cautious: f64,
}

fn farthest(machines: &[&[f64]], order: Order) -> Option<Farthest> {
    let sizes: Vec<usize> = machines.iter().map(|blocks| blocks.len()).collect();
    let mut all = machines.concat();
    let (place, distance) = extreme(&all, &sizes)?;
    let df = (all.len() - sizes.len()) as f64;
    let distances = [distance / order.widening, order.cautious(distance, df)];
    let mut rng = generator(SEED);
    let mut reached = [0usize; 2];
    for _ in 0..PERMUTATIONS {
        shuffle(&mut rng, &mut all);
        let other = extreme(&all, &sizes).map_or(0.0, |(_, other)| other);
        for (reached, distance) in reached.iter_mut().zip(distances) {
            *reached += usize::from(other >= distance * (1.0 - 1e-9));
        }
    }
    let [p_value, p_cautious] = reached.map(|reached| (1 + reached) as f64 / (1 + PERMUTATIONS) as f64);
    Some(Farthest { place, p_value, p_cautious })
}

/// The p-value of a machine's mean among the means of all, chosen as the most distant one: the externally studentised
/// residual (Grubbs, "Procedures for detecting outlying observations in samples", Technometrics 11, 1969). The mean of
/// a machine whose blocks vary more than usual has as much larger an error.
fn among_means(machines: &[&[f64]], place: usize) -> f64 {
    let p_value = || {
        let groups: Vec<Group> = machines.iter().map(|blocks| Group::of(blocks, 1.0)).collect::<Option<_>>()?;
        let others: Vec<f64> =
            groups.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, group)| group.mean).collect();
        let usual = mean(&groups.iter().filter_map(|group| group.variance).collect::<Vec<_>>())?;
        let noise = groups[place].variance.map_or(1.0, |own| (own / usual).max(1.0));
        let k = groups.len() as f64;
        let error = (variance(&others)? * (noise + 1.0 / (k - 1.0))).sqrt();
        let distance = (groups[place].mean - mean(&others)?).abs();
        (error > 0.0).then(|| (2.0 * k * t_upper_tail(distance / error, k - 2.0)).min(1.0))
    };
    p_value().unwrap_or(1.0)
}

/// The machine whose mean is most distant from the mean of the others' means, in standard errors; `all` holds the
/// blocks of one machine after the other. `None` when no machine's blocks vary.
fn extreme(all: &[f64], sizes: &[usize]) -> Option<(usize, f64)> {
    let mut rest = all;
    let mut groups: Vec<(f64, f64, f64)> = Vec::with_capacity(sizes.len());
    for size in sizes {
        let (own, others) = rest.split_at_checked(*size)?;
        let n = own.len() as f64;
        let centre = own.iter().sum::<f64>() / n;
        groups.push((n, centre, own.iter().map(|v| (v - centre) * (v - centre)).sum()));
        rest = others;
    }
    let free: f64 = groups.iter().map(|(n, ..)| n - 1.0).sum();
    let pooled = groups.iter().map(|(.., squares)| squares).sum::<f64>() / free;
    if free < 1.0 || pooled <= 0.0 || !pooled.is_finite() {
        return None;
    }
    let others = groups.len() as f64 - 1.0;
    let (total, inverse) =
        groups.iter().fold((0.0, 0.0), |(sum, inverse), (n, mean, _)| (sum + mean, inverse + 1.0 / n));
    let distance = |(n, mean, squares): &(f64, f64, f64)| {
        let own = if *n > 1.0 { (squares / (n - 1.0)).max(pooled) } else { pooled };
        let of_others = pooled * (inverse - 1.0 / n) / (others * others);
        (mean - (total - mean) / others).abs() / (own / n + of_others).sqrt()
    };
    groups.iter().map(distance).enumerate().max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The largest absolute value, as a unit in which no square overflows.
fn unit(machines: Groups<'_>) -> f64 {
    let largest = machines.iter().flatten().fold(0.0f64, |largest, v| largest.max(v.abs()));
    if largest > 0.0 { largest } else { 1.0 }
}

/// One machine's blocks.
struct Group {
    n: f64,
    mean: f64,
    /// `None` for a single block.
    variance: Option<f64>,
}

impl Group {
    fn of(blocks: &[f64], unit: f64) -> Option<Self> {
        let blocks: Vec<f64> = blocks.iter().map(|v| v / unit).collect();
        Some(Self { n: blocks.len() as f64, mean: mean(&blocks)?, variance: variance(&blocks) })
    }
}

/// A mean minus the mean of other means, with Welch-Satterthwaite degrees of freedom.
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

    fn estimate(&self, confidence: f64, widening: f64) -> Estimate {
        let usable = self.error.is_finite() && self.df > 0.0 && self.df.is_finite();
        let half = usable.then(|| t_two_sided(confidence, self.df) * self.error * widening);
        Estimate {
            value: self.value,
            ci: half.map(|half| Interval { low: self.value - half, high: self.value + half }),
        }
    }
}
