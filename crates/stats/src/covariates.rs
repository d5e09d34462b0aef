//! Tests which recorded covariate (node of a thread, migrations, steal time, layout) explains a response, by
//! permutation: no distribution is assumed, and a covariate that differs in every trial explains nothing.

use std::collections::BTreeMap;
use std::fmt::Display;

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::error::{Error, all_finite};
use crate::multiple::holm;
use crate::order::{generator, shuffle};

/// Default number of permutations, enough for p-values down to 0.0005.
pub const PERMUTATIONS: usize = 1999;

/// Factor on the number of permutations for a covariate whose share at most [`FEW`] permutations reach.
const FURTHER: usize = 10;
const FEW: usize = 2;

/// Iterations of [`project`]: in randomised blocks each leaves a small part of what the one before left.
const ROUNDS: usize = 12;

/// The values of a covariate, one entry per trial; `None` where it was not recorded.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Counts or measured values.
    Numeric(Vec<Option<f64>>),
    /// Names, for instance of the node on which a thread ran.
    Categorical(Vec<Option<String>>),
}

/// A covariate with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Covariate<N = String> {
    /// Its name, or another value that identifies it.
    pub name: N,
    /// One value per trial.
    pub values: Values,
}

/// The form in which a numeric covariate may explain the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A straight line; the share is the squared correlation within groups.
    Linear,
    /// A step at the best-fitting threshold, which suits two modes; the permutation test accounts for the choice of the
    /// threshold.
    Threshold,
}

/// How well one covariate explains the response.
#[derive(Debug, Clone, PartialEq)]
pub struct Association<N = String> {
    /// Name of the covariate.
    pub name: N,
    /// Share of the response's variance within groups that the covariate explains, 0 to 1. It includes what is
    /// explained by chance: judge by the p-value.
    pub share: f64,
    /// (1 + permutations that explain as much) / (1 + permutations). More permutations are made when few of them
    /// explain as much.
    pub p_value: f64,
    /// p-value adjusted by Holm's method over all covariates; a small value identifies the covariate.
    pub p_adjusted: f64,
    /// Trials in which the covariate was recorded.
    pub trials: usize,
}

/// Associations of all covariates with a response, the best first: smallest p-value, then largest share. The response
/// is centred within `groups` (conditions), so that differences between conditions explain nothing, then within
/// `strata`, and permuted within these. Successive trials drift together; with [`neighbours`] as strata, slow changes
/// explain nothing either.
///
/// # Errors
/// [`Error::Mismatch`] when groups, strata or a covariate differ in length from the response, [`Error::NotFinite`].
pub fn explain<N: Clone + Display>(
    response: &[f64],
    groups: &[usize],
    strata: &[usize],
    covariates: &[Covariate<N>],
    shape: Shape,
    permutations: usize,
    seed: u64,
) -> Result<Vec<Association<N>>, Error> {
    all_finite("response", response)?;
    same_length("groups", response.len(), groups.len())?;
    same_length("strata", response.len(), strata.len())?;
    let blocks = Blocks { groups, strata };
    let mut found = Vec::with_capacity(covariates.len());
    for covariate in covariates {
        let length = match &covariate.values {
            Values::Numeric(v) => v.len(),
            Values::Categorical(v) => v.len(),
        };
        same_length(&format!("values of {}", covariate.name), response.len(), length)?;
        // Each covariate starts with the same seed, so that adding one does not change the p-values of the others.
        found.push(associate(response, &blocks, covariate, shape, permutations, &mut generator(seed)));
    }
    Ok(ranked(found))
}

/// Associations with one response as one family of tests, whatever the strata of each: adjusted together, the best
/// first.
pub fn ranked<N>(mut found: Vec<Association<N>>) -> Vec<Association<N>> {
    let adjusted = holm(&found.iter().map(|a| a.p_value).collect::<Vec<_>>());
    found.iter_mut().zip(adjusted).for_each(|(a, p)| a.p_adjusted = p);
    found.sort_by(|a, b| a.p_value.total_cmp(&b.p_value).then(b.share.total_cmp(&a.share)));
    found
}

fn same_length(what: &str, expected: usize, got: usize) -> Result<(), Error> {
    if expected == got { Ok(()) } else { Err(Error::Mismatch { what: what.into(), expected, got }) }
}

/// The covariate, over the trials that recorded it.
enum Known {
    /// Values centred within groups.
    Linear(Vec<f64>),
    /// Indexes in ascending order of value, and the positions after which the value changes.
    Threshold(Vec<usize>, Vec<usize>),
    Categories(Vec<Vec<usize>>),
}

impl Known {
    /// Sum of squares that the covariate explains, of a response that is centred over the same trials.
    fn explained(&self, y: &[f64]) -> f64 {
        match self {
            Self::Linear(x) => {
                let xx: f64 = x.iter().map(|x| x * x).sum();
                let xy: f64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
                if xx > 0.0 { xy * xy / xx } else { 0.0 }
            }
            Self::Threshold(order, cuts) => {
                let (n, mut sum, mut best) = (order.len(), 0.0, 0.0f64);
                let mut cut = cuts.iter().peekable();
                for (i, &trial) in order.iter().enumerate() {
                    sum += y[trial];
                    if cut.next_if_eq(&&i).is_some() {
                        // The two sides of the cut sum to +sum and -sum, since y sums to 0.
                        let below = i as f64 + 1.0;
                        best = best.max(sum * sum * (1.0 / below + 1.0 / (n as f64 - below)));
                    }
                }
                best
            }
            Self::Categories(members) => members
                .iter()
                .map(|trials| trials.iter().map(|&i| y[i]).sum::<f64>().powi(2) / trials.len() as f64)
                .sum(),
        }
    }
}

/// The groups (conditions) and strata within which the response is centred.
struct Blocks<'a> {
    groups: &'a [usize],
    strata: &'a [usize],
}

impl Blocks<'_> {
    /// The members of each group and of each stratum, among these trials only.
    fn members(&self, trials: &[usize]) -> [Vec<Vec<usize>>; 2] {
        [self.groups, self.strata].map(|of| members_of(&trials.iter().map(|&i| of[i]).collect::<Vec<_>>()))
    }
}

/// Pairs of successive trials, as strata for [`explain`]; `order` is the position of each trial in the run, after its
/// machine if there are several: trials of two machines are no neighbours, apart from the ends of their runs. With an
/// odd number of trials the first one, when the machine may still be settling, is a stratum of its own.
pub fn neighbours<P: Ord + Copy>(order: &[P]) -> Vec<usize> {
    let mut by_place: Vec<usize> = (0..order.len()).collect();
    by_place.sort_by_key(|&i| order[i]);
    let mut strata = vec![0; order.len()];
    for (place, i) in by_place.into_iter().enumerate() {
        strata[i] = (place + order.len() % 2) / 2;
    }
    strata
}

fn associate<N: Clone>(
    response: &[f64],
    blocks: &Blocks<'_>,
    covariate: &Covariate<N>,
    shape: Shape,
    permutations: usize,
    rng: &mut Xoshiro256PlusPlus,
) -> Association<N> {
    let (trials, known) = known(&covariate.values, blocks, shape);
    let [groups, members] = blocks.members(&trials);
    let mut y: Vec<f64> = trials.iter().map(|&i| response[i]).collect();
    to_unit(&mut y);
    project(&mut y, &[groups.clone(), members.clone()]);
    let total: f64 = y.iter().map(|v| v * v).sum();
    let mut association =
        Association { name: covariate.name.clone(), share: 0.0, p_value: 1.0, p_adjusted: 1.0, trials: trials.len() };
    if !(total > 0.0 && total.is_finite()) {
        return association;
    }
    let share = known.explained(&y) / total;
    // Permutations that group the trials in the same way differ from the observed share only by rounding.
    let as_much = share - 1e-9;
    let sets = [groups, members.clone()];
    let alike = blocks.groups == blocks.strata;
    let mut permuted = Vec::with_capacity(y.len());
    let (mut reached, mut done) = (0usize, 0usize);
    // A small p-value needs more permutations, because it must remain small after the adjustment over many covariates.
    while done < permutations || (done < FURTHER * permutations && reached <= FEW) {
        done += 1;
        for trials in &members {
            let mut values: Vec<f64> = trials.iter().map(|&i| y[i]).collect();
            shuffle(rng, &mut values);
            trials.iter().zip(values).for_each(|(&i, v)| y[i] = v);
        }
        // Freedman & Lane, "A nonstochastic interpretation of reported significance levels" (1983): the means of the
        // conditions are estimated again from the permuted values; otherwise p-values with few trials would be too
        // small.
        permuted.clone_from(&y);
        if !alike {
            project(&mut permuted, &sets);
        }
        let left: f64 = permuted.iter().map(|v| v * v).sum();
        reached += usize::from(known.explained(&permuted) >= as_much * left);
    }
    association.share = share.min(1.0);
    association.p_value = (1 + reached) as f64 / (1 + done) as f64;
    association
}

/// The trials that recorded the covariate, and its values in the form that is tested.
fn known(values: &Values, blocks: &Blocks<'_>, shape: Shape) -> (Vec<usize>, Known) {
    match values {
        Values::Categorical(names) => {
            let trials: Vec<usize> = (0..names.len()).filter(|&i| names[i].is_some()).collect();
            let mut members: BTreeMap<&Option<String>, Vec<usize>> = BTreeMap::new();
            for (at, &i) in trials.iter().enumerate() {
                members.entry(&names[i]).or_default().push(at);
            }
            let categories = members.into_values().collect();
            (trials, Known::Categories(categories))
        }
        Values::Numeric(numbers) => {
            let recorded = |i: &usize| numbers[*i].is_some_and(f64::is_finite);
            let trials: Vec<usize> = (0..numbers.len()).filter(recorded).collect();
            let mut x: Vec<f64> = trials.iter().filter_map(|&i| numbers[i]).collect();
            if shape == Shape::Linear {
                to_unit(&mut x);
                project(&mut x, &blocks.members(&trials));
                return (trials, Known::Linear(x));
            }
            let mut order: Vec<usize> = (0..x.len()).collect();
            order.sort_by(|&i, &j| x[i].total_cmp(&x[j]));
            let cuts = (1..order.len()).filter(|&k| x[order[k - 1]] < x[order[k]]).map(|k| k - 1).collect();
            (trials, Known::Threshold(order, cuts))
        }
    }
}

fn members_of(groups: &[usize]) -> Vec<Vec<usize>> {
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (i, &g) in groups.iter().enumerate() {
        members.entry(g).or_default().push(i);
    }
    members.into_values().collect()
}

/// Divides by the largest value: shares do not depend on the unit, and squares of residuals neither overflow nor
/// underflow.
fn to_unit(values: &mut [f64]) {
    let largest = values.iter().fold(0.0f64, |largest, v| largest.max(v.abs()));
    if largest > 0.0 {
        values.iter_mut().for_each(|v| *v /= largest);
    }
}

/// The residuals after groups and strata: both are centred in turn, [`ROUNDS`] times.
fn project(values: &mut [f64], sets: &[Vec<Vec<usize>>; 2]) {
    let rounds = if sets[0] == sets[1] { 1 } else { ROUNDS };
    for _ in 0..rounds {
        sets.iter().for_each(|members| centre_within(values, members));
    }
}

fn centre_within(values: &mut [f64], members: &[Vec<usize>]) {
    for trials in members {
        let mean = trials.iter().map(|&i| values[i] / trials.len() as f64).sum::<f64>();
        trials.iter().for_each(|&i| values[i] -= mean);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numeric(name: &str, values: &[f64]) -> Covariate {
        Covariate { name: name.into(), values: Values::Numeric(values.iter().map(|v| Some(*v)).collect()) }
    }

    fn categorical(name: &str, values: &[&str]) -> Covariate {
        let values = values.iter().map(|v| (!v.is_empty()).then(|| (*v).into())).collect();
        Covariate { name: name.into(), values: Values::Categorical(values) }
    }

    #[test]
    fn a_name_that_differs_in_every_trial_explains_nothing() {
        let y = [1.0, 1.1, 0.9, 2.0, 2.1, 1.9];
        let run = explain(
            &y,
            &[0; 6],
            &[0; 6],
            &[categorical("layout", &["a", "b", "c", "d", "e", "f"])],
            Shape::Linear,
            99,
            1,
        );
        let layout = &run.unwrap()[0];
        assert!((layout.share - 1.0).abs() < 1e-12);
        assert_eq!(layout.p_value, 1.0);
    }

    #[test]
    fn shares_are_the_squared_correlation_and_eta_squared() {
        let y = [1.0, 2.0, 3.0, 5.0];
        let found = explain(
            &y,
            &[0; 4],
            &[0; 4],
            &[numeric("x", &[1.0, 2.0, 3.0, 4.0]), categorical("side", &["a", "a", "b", "b"])],
            Shape::Linear,
            9,
            1,
        )
        .unwrap();
        let share = |name: &str| found.iter().find(|a| a.name == name).unwrap().share;
        // y centred: -1.75 -0.75 0.25 2.25, total 8.75; r^2 = 6.5^2 / (5 x 8.75); between sides 4 x 1.25^2.
        assert!((share("x") - 42.25 / 43.75).abs() < 1e-12);
        assert!((share("side") - 6.25 / 8.75).abs() < 1e-12);
    }

    #[test]
    fn differences_between_groups_are_not_explained() {
        let y = [1.0, 1.1, 0.9, 1.05, 9.0, 9.1, 8.9, 9.05];
        let groups = [0, 0, 0, 0, 1, 1, 1, 1];
        let arm = numeric("condition in disguise", &[0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
        let found = explain(&y, &groups, &groups, &[arm], Shape::Linear, 99, 1).unwrap();
        assert!(found[0].share < 1e-12);
        assert_eq!(found[0].p_value, 1.0);
    }

    #[test]
    fn missing_values_are_left_out_and_lengths_are_checked() {
        let y = [1.0, 1.0, 5.0, 5.0, 3.0];
        let found =
            explain(&y, &[0; 5], &[0; 5], &[categorical("node", &["0", "0", "1", "1", ""])], Shape::Linear, 99, 1);
        let node = &found.unwrap()[0];
        assert_eq!((node.trials, node.share), (4, 1.0));
        let none: [Covariate; 0] = [];
        assert!(explain(&y, &[0; 4], &[0; 4], &none, Shape::Linear, 9, 1).is_err());
        assert!(explain(&y, &[0; 5], &[0; 5], &[numeric("x", &[1.0])], Shape::Linear, 9, 1).is_err());
    }
}
