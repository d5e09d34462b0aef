//! Variance components of nested repetitions: Kalibera & Jones, "Rigorous benchmarking in reasonable time" (ISMM 2013,
//! with the corrected estimators of its updated version). Level 1 = sample, 2 = trial, 3 = data directory rebuilt, 4 =
//! binary rebuilt.

use super::trials::Trials;
use crate::descriptive::mean;
use crate::error::Error;

/// Nested measurements. All leaves must have the same depth; groups may differ in size.
#[derive(Debug, Clone, PartialEq)]
pub enum Nested {
    /// One measured value.
    Value(f64),
    /// Repetitions of the level below.
    Group(Vec<Nested>),
}

impl Nested {
    /// Two levels: samples in trials. Trials without samples are left out.
    pub fn from_trials(trials: Trials<'_>) -> Self {
        let group = |samples: &[f64]| Self::Group(samples.iter().copied().map(Self::Value).collect());
        Self::Group(trials.iter().map(group).collect())
    }
}

/// One level of repetition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Repetitions in each group of the level above. If groups differ in size this is their harmonic mean, which keeps
    /// the component above unbiased.
    pub count: f64,
    /// S_i^2: variance of the means of the next lower level within a group, pooled over groups by degrees of freedom.
    /// `None` when no group has two children; the component is then part of the next higher one.
    pub s2: Option<f64>,
    /// T_i^2: the variance component of this level, T_1^2 = S_1^2 and T_i^2 = S_i^2 - S_{i-1}^2 / r_{i-1}, in the
    /// metric's unit squared. 0 where the estimate is not positive: the level adds nothing.
    pub t2: f64,
}

/// The variance components of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Components {
    /// Grand mean, in which each group has the same weight as its siblings.
    pub mean: f64,
    /// The levels, from samples (index 0) up.
    pub levels: Vec<Level>,
}

impl Components {
    /// Coefficient of variation of each level as a fraction, sqrt(T_i^2) / |mean|: index 0 is within trials, index 1
    /// between trials. `None` when the mean is 0.
    pub fn covs(&self) -> Option<Vec<f64>> {
        (self.mean != 0.0).then(|| self.levels.iter().map(|l| l.t2.sqrt() / self.mean.abs()).collect())
    }

    /// Variance of the mean of one top-level repetition if the levels below the top were repeated `counts` times (one
    /// entry per level below the top): T_n^2 + T_{n-1}^2 / r_{n-1} + T_{n-2}^2 / (r_{n-1} r_{n-2}) + ...
    pub fn top_variance(&self, counts: &[u64]) -> f64 {
        let mut repetitions = 1.0;
        let mut sum = 0.0;
        for (i, level) in self.levels.iter().enumerate().rev() {
            sum += level.t2 / repetitions;
            if i > 0 {
                repetitions *= counts.get(i - 1).copied().unwrap_or(1).max(1) as f64;
            }
        }
        sum
    }
}

/// Standard deviations below this are too small to be squared.
const LEAST: f64 = 1e-150;

/// Sums over all groups of one level while the tree is traversed.
#[derive(Default, Clone)]
struct Tally {
    squares: f64,
    /// The largest deviation from a group's mean.
    largest: f64,
    df: f64,
    groups: f64,
    inverse_counts: f64,
}

/// Variance components of nested measurements.
///
/// # Errors
/// [`Error::TooFew`] when there is no group, an empty group, or a top with fewer than two children; [`Error::Mismatch`]
/// when leaves differ in depth; [`Error::NotFinite`] for values or variances that are not finite; [`Error::OutOfRange`]
/// for a standard deviation too small to be squared: measure in a smaller unit.
pub fn components(data: &Nested) -> Result<Components, Error> {
    let mut tallies = Vec::new();
    let top = walk(data, &mut tallies)?;
    of_tallies(top, &tallies)
}

/// Components of samples in trials, without building a tree; trials without samples are left out.
///
/// # Errors
/// As [`components`].
pub fn of_trials(trials: Trials<'_>) -> Result<Components, Error> {
    let mut tallies = Vec::new();
    let mut means = Vec::new();
    for samples in trials.iter() {
        means.push(add(samples, Some(0), &mut tallies)?.0);
    }
    let top = add(&means, Some(1), &mut tallies)?;
    of_tallies(top, &tallies)
}

fn of_tallies((grand_mean, height): (f64, usize), tallies: &[Tally]) -> Result<Components, Error> {
    if height == 0 {
        return Err(Error::TooFew { what: "levels of repetition".into(), needed: 1, got: 0 });
    }
    if tallies[height - 1].df < 1.0 {
        return Err(Error::TooFew { what: "repetitions of the top level".into(), needed: 2, got: 1 });
    }
    let largest = tallies.iter().map(|tally| tally.largest).fold(0.0, f64::max);
    if largest > 0.0 && largest < LEAST {
        let expected = format!("none, or at least {LEAST:e}");
        return Err(Error::OutOfRange { what: "spread of the measurements".into(), expected, got: largest });
    }
    let mut levels: Vec<Level> = Vec::with_capacity(height);
    for tally in tallies {
        let s2 = (tally.df > 0.0).then(|| tally.squares / tally.df);
        let below = levels.last().and_then(|l| l.s2.map(|s2| s2 / l.count)).unwrap_or(0.0);
        let t2 = (s2.unwrap_or(0.0) - below).max(0.0);
        if !t2.is_finite() {
            return Err(Error::NotFinite { what: "variance of the measurements".into() });
        }
        levels.push(Level { count: tally.groups / tally.inverse_counts, s2, t2 });
    }
    Ok(Components { mean: grand_mean, levels })
}

/// Mean and height of a subtree; adds every group in it to the tally of its height.
fn walk(node: &Nested, tallies: &mut Vec<Tally>) -> Result<(f64, usize), Error> {
    let children = match node {
        Nested::Value(v) if v.is_finite() => return Ok((*v, 0)),
        Nested::Value(_) => return Err(Error::NotFinite { what: "measurements".into() }),
        Nested::Group(children) => children,
    };
    let mut means = Vec::with_capacity(children.len());
    let mut height = None;
    for child in children {
        let (m, h) = walk(child, tallies)?;
        if height.is_some_and(|seen| seen != h) {
            return Err(Error::Mismatch { what: "depth of nesting".into(), expected: height.unwrap_or(0), got: h });
        }
        height = Some(h);
        means.push(m);
    }
    add(&means, height, tallies)
}

/// Adds one group to the tally of its height; returns its mean and the height of its parent.
fn add(means: &[f64], height: Option<usize>, tallies: &mut Vec<Tally>) -> Result<(f64, usize), Error> {
    let (Some(height), Some(centre)) = (height, mean(means)) else {
        return Err(Error::TooFew { what: "repetitions in a group".into(), needed: 1, got: 0 });
    };
    if tallies.len() <= height {
        tallies.resize(height + 1, Tally::default());
    }
    let tally = &mut tallies[height];
    tally.largest = means.iter().map(|m| (m - centre).abs()).fold(tally.largest, f64::max);
    tally.squares += means.iter().map(|m| (m - centre).powi(2)).sum::<f64>();
    tally.df += (means.len() - 1) as f64;
    tally.groups += 1.0;
    tally.inverse_counts += 1.0 / means.len() as f64;
    Ok((centre, height + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(values: &[f64]) -> Nested {
        Nested::Group(values.iter().copied().map(Nested::Value).collect())
    }

    /// Calcium in turnip greens, 4 plants x 3 leaves x 2 determinations: Snedecor & Cochran, "Statistical Methods",
    /// give 0.0067, 0.1611 and 0.3652.
    #[test]
    fn components_of_the_turnip_greens_data_match_the_textbook() {
        let plants = [
            [[3.28, 3.09], [3.52, 3.48], [2.88, 2.80]],
            [[2.46, 2.44], [1.87, 1.92], [2.19, 2.19]],
            [[2.77, 2.66], [3.74, 3.44], [2.55, 2.55]],
            [[3.78, 3.87], [4.07, 4.12], [3.31, 3.31]],
        ];
        let tree = Nested::Group(
            plants.iter().map(|leaves| Nested::Group(leaves.iter().map(|l| group(l)).collect())).collect(),
        );
        let c = components(&tree).unwrap();
        let t2: Vec<f64> = c.levels.iter().map(|l| l.t2).collect();
        for (got, published) in t2.iter().zip([0.0067, 0.1611, 0.3652]) {
            assert!((got - published).abs() < 1e-4, "{t2:?}");
        }
        assert_eq!(c.levels.iter().map(|l| l.count.round()).collect::<Vec<_>>(), [2.0, 3.0, 4.0]);
        // The variance of an observed plant mean is S_3^2 itself.
        assert!((c.top_variance(&[2, 3]) - c.levels[2].s2.unwrap()).abs() < 1e-12);
    }

    /// Dyestuff yields, 6 batches x 5: Davies & Goldsmith 1972; the components are 2451.25 within and 1764.05 between
    /// (Bates et al., lme4).
    #[test]
    fn dyestuff_yields_give_the_published_components() {
        let batches = vec![
            vec![1545., 1440., 1440., 1520., 1580.],
            vec![1540., 1555., 1490., 1560., 1495.],
            vec![1595., 1550., 1605., 1510., 1560.],
            vec![1445., 1440., 1595., 1465., 1545.],
            vec![1595., 1630., 1515., 1635., 1625.],
            vec![1520., 1455., 1450., 1480., 1445.],
        ];
        let c = components(&Nested::from_trials(Trials::new(&batches).unwrap())).unwrap();
        assert_eq!(c.mean, 1527.5);
        assert!((c.levels[0].t2 - 2451.25).abs() < 1e-9);
        assert!((c.levels[1].t2 - 1764.05).abs() < 1e-9);
        assert!((c.covs().unwrap()[1] - 42.0 / 1527.5).abs() < 1e-6);
    }

    #[test]
    fn one_sample_a_trial_leaves_all_variance_at_the_trial() {
        let c = components(&Nested::from_trials(Trials::new(&[vec![1.0], vec![2.0], vec![3.0]]).unwrap())).unwrap();
        assert_eq!((c.levels[0].s2, c.levels[0].t2, c.levels[1].t2), (None, 0.0, 1.0));
    }

    #[test]
    fn a_level_that_adds_nothing_is_zero_not_negative() {
        let c = components(&Nested::from_trials(Trials::new(&[vec![1.0, 3.0], vec![1.0, 3.0]]).unwrap())).unwrap();
        assert_eq!((c.levels[0].t2, c.levels[1].t2), (2.0, 0.0));
    }

    #[test]
    fn trials_need_no_tree() {
        let trials = [vec![1.0, 3.0, 2.5], vec![], vec![4.0], vec![2.0, 2.25]];
        for trials in [&trials[..], &[vec![1.0, 2.0]]] {
            let trials = Trials::new(trials).unwrap();
            assert_eq!(of_trials(trials), components(&Nested::from_trials(trials)), "{trials:?}");
        }
    }

    #[test]
    fn unusable_input_is_named() {
        let uneven = Nested::Group(vec![Nested::Value(1.0), group(&[1.0])]);
        assert!(matches!(components(&uneven), Err(Error::Mismatch { .. })));
        assert!(matches!(
            components(&Nested::from_trials(Trials::new(&[vec![1.0, 2.0]]).unwrap())),
            Err(Error::TooFew { .. })
        ));
        assert!(matches!(components(&group(&[])), Err(Error::TooFew { .. })));
        assert!(matches!(components(&Nested::Value(1.0)), Err(Error::TooFew { .. })));
        assert!(matches!(components(&group(&[f64::NAN, 1.0])), Err(Error::NotFinite { .. })));
    }
}
