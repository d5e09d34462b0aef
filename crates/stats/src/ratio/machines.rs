//! Two arms whose trials ran on the same machines, without the levels of these machines.

use crate::descriptive::mean;
use std::collections::BTreeMap;

/// Both arms without the levels of the machines.
#[derive(Debug, Clone, PartialEq)]
pub struct Levelled {
    /// Of A and of B.
    pub arms: [Vec<f64>; 2],
    /// Whether these are trials, with the factor on their variance, or machines.
    pub basis: Basis,
    /// Those whose levels were removed; of [`Basis::Machines`] only the shared ones.
    pub machines: usize,
}

/// What the values of [`Levelled`] are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Basis {
    /// Trials in their order, each divided by the level of its machine. The variance of each arm's mean, computed as if
    /// they were independent, has to be multiplied by this factor, see [`super::Design::Apart`].
    Trials(f64),
    /// The means of the machines that both arms share, in pairs: the arms differ more from machine to machine than
    /// their trials explain, so each machine is one observation.
    Machines,
}

/// Fewest machines that are observations themselves.
const FEWEST_MACHINES: usize = 3;

/// Degrees of freedom that an arm must keep: with fewer, [`super::fieller::fewer`] would count too many.
const FEWEST_DF: f64 = 2.0;

/// Fits ln(value) = arm + machine + error to the means of the arms on each machine, by least squares; each input is
/// (machine, trial mean). The estimate of B / A is then the mean of its logarithms on each machine, weighted by
/// h = n_A n_B / (n_A + n_B), so that a machine on which only one arm ran says nothing of it. Its variance is that of
/// a trial divided by the sum of h, and one degree of freedom is lost for each machine but the first (Searle, Linear
/// Models, 1971, chapter 7).
///
/// A run may have an offset of its own on each machine, which its trials share, and so does the drift of a machine
/// within a run. From three shared machines on the mean square of arm x machine shows both. Where it is larger than
/// that of trials, [`Basis::Machines`] is used. In simulations with four machines of four trials the 95% interval then
/// covers 97% without offsets, and 94 to 95% with offsets of 0.5 and 1 standard deviations of a trial, for which
/// trials alone cover 86 and 71%.
///
/// `None` if there is a single machine, no machine that both arms share, too few trials, or a value that is not
/// positive.
pub fn by_machine(arms: [&[(usize, f64)]; 2]) -> Option<Levelled> {
    let mut cells: BTreeMap<usize, [Vec<f64>; 2]> = BTreeMap::new();
    for (side, arm) in arms.iter().enumerate() {
        arm.iter().for_each(|(machine, value)| cells.entry(*machine).or_default()[side].push(*value));
    }
    let n = arms.map(|arm| arm.len() as f64);
    let (all, machines) = (n[0] + n[1], cells.len() as f64);
    let left = all - 1.0 - machines;
    let lost = (all - 2.0) / left;
    let enough = left >= 1.0 && n.iter().all(|n| (n - 1.0) / lost >= FEWEST_DF);
    let pairs = cells.values().filter(|cell| cell.iter().all(|own| !own.is_empty())).count();
    if cells.len() < 2
        || !(enough || pairs >= FEWEST_MACHINES)
        || arms.iter().any(|arm| arm.iter().any(|(_, value)| *value <= 0.0))
    {
        return None;
    }
    let size = |cell: &[Vec<f64>; 2]| cell.each_ref().map(|own| own.len() as f64);
    let logarithms = |cell: &[Vec<f64>; 2]| cell.each_ref().map(|own| mean(own).map_or(0.0, f64::ln));
    let shared = |[a, b]: [f64; 2]| a * b / (a + b);
    let sum: f64 = cells.values().map(|cell| shared(size(cell))).sum();
    let ratio = |cell: &[Vec<f64>; 2]| shared(size(cell)) * (logarithms(cell)[1] - logarithms(cell)[0]);
    let log_ratio = cells.values().map(ratio).sum::<f64>() / sum;
    let level = |cell: &[Vec<f64>; 2]| {
        let ([n_a, n_b], [a, b]) = (size(cell), logarithms(cell));
        (n_a * a + n_b * (b - log_ratio)) / (n_a + n_b)
    };
    let of_all = cells.values().map(|cell| level(cell) * size(cell).iter().sum::<f64>()).sum::<f64>() / all;
    let factors: BTreeMap<usize, f64> =
        cells.iter().map(|(machine, cell)| (*machine, (level(cell) - of_all).exp())).collect();
    let without = |arm: &[(usize, f64)]| -> Option<Vec<f64>> {
        arm.iter().map(|(machine, value)| Some(value / factors.get(machine)?).filter(|v| v.is_finite())).collect()
    };
    let both: Vec<&[Vec<f64>; 2]> = cells.values().filter(|cell| shared(size(cell)) > 0.0).collect();
    if both.len() >= FEWEST_MACHINES && (!enough || vary_more(&both, &cells, log_ratio)) {
        let means = |side: usize| both.iter().filter_map(|cell| mean(&cell[side])).collect();
        return Some(Levelled { arms: [means(0), means(1)], basis: Basis::Machines, machines: both.len() });
    }
    let inflation = lost * shared(n) / sum;
    let found = || {
        let arms = [without(arms[0])?, without(arms[1])?];
        Some(Levelled { arms, basis: Basis::Trials(inflation), machines: cells.len() })
    };
    found().filter(|_| inflation.is_finite())
}

/// Whether the mean square of arm x machine is larger than that of the trials within both, or the latter is unknown.
fn vary_more(both: &[&[Vec<f64>; 2]], cells: &BTreeMap<usize, [Vec<f64>; 2]>, log_ratio: f64) -> bool {
    let of_machine = |[a, b]: &[Vec<f64>; 2]| {
        let (n_a, n_b) = (a.len() as f64, b.len() as f64);
        let own = mean(b).unwrap_or(f64::NAN).ln() - mean(a).unwrap_or(f64::NAN).ln();
        n_a * n_b / (n_a + n_b) * (own - log_ratio).powi(2)
    };
    let of_cell = |own: &Vec<f64>| {
        let centre = mean(own).unwrap_or(f64::NAN);
        own.iter().map(|value| (value / centre - 1.0).powi(2)).sum::<f64>()
    };
    let filled = || cells.values().flatten().filter(|own| !own.is_empty());
    let df = filled().map(|own| own.len() - 1).sum::<usize>() as f64;
    let within = filled().map(of_cell).sum::<f64>() / df;
    let between = both.iter().map(|cell| of_machine(cell)).sum::<f64>() / (both.len() as f64 - 1.0);
    df < 1.0 || between > within
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ratio::{Arms, Better, Design};

    /// Two machines of which one is twice as fast. In logarithms it is the analysis of variance of arm + machine; by
    /// hand, of 12 trials 9 degrees of freedom are left.
    #[test]
    fn the_levels_of_machines_are_gone_and_cost_a_degree_of_freedom_each() {
        let arm = |times: f64| -> Vec<(usize, f64)> {
            let noise = [0.99, 1.01, 1.0, 1.0, 1.01, 0.99];
            (0..6).map(|i| (i % 2, times * [100.0, 200.0][i % 2] * noise[i])).collect()
        };
        let (a, b) = (arm(1.0), arm(1.05));
        let found = by_machine([&a, &b]).unwrap();
        let Basis::Trials(inflation) = found.basis else { panic!("{found:?}") };
        assert!((inflation - 10.0 / 9.0).abs() < 1e-12 && found.machines == 2, "{found:?}");
        let [one, other] = &found.arms;
        let ratio = |a: &[f64], b: &[f64], design| {
            Arms { a, b, better: Better::Higher, design, rounding: None }.ratio(0.95).unwrap()
        };
        let levelled = ratio(one, other, Design::Apart([inflation; 2]));
        assert!((levelled.value - 1.05).abs() < 1e-12, "{levelled:?}");
        assert!(levelled.ci.unwrap().width() < 0.03, "{levelled:?}");
        let plain = |arm: &[(usize, f64)]| arm.iter().map(|(_, value)| *value).collect::<Vec<f64>>();
        assert!(ratio(&plain(&a), &plain(&b), Design::Apart([1.0; 2])).ci.unwrap().width() > 0.5);
    }

    /// B ran mostly on the fast machine. The sum of h is 4 / 5 + 4 / 5, that of arms on one machine 25 / 10.
    #[test]
    fn unequal_shares_of_a_fast_machine_are_no_difference() {
        let arm = |fast: usize| -> Vec<(usize, f64)> {
            (0..5).map(|i| [(0, 100.0), (1, 200.0)][usize::from(i < fast)]).collect()
        };
        let found = by_machine([&arm(1), &arm(4)]).unwrap();
        let [a, b] = found.arms.each_ref().map(|arm| mean(arm).unwrap());
        assert!((b / a - 1.0).abs() < 1e-12, "{found:?}");
        let Basis::Trials(inflation) = found.basis else { panic!("{found:?}") };
        assert!((inflation - 8.0 / 7.0 * 2.5 / 1.6).abs() < 1e-12, "{found:?}");
        let apart: Vec<(usize, f64)> = arm(0).iter().map(|(_, value)| (2, *value)).collect();
        assert_eq!(by_machine([&arm(1), &apart]), None, "they share none");
        assert_eq!(by_machine([&arm(0), &arm(0)]), None, "it is one machine");
        assert_eq!(by_machine([&arm(1)[..2], &arm(1)[..2]]), None, "too few");
    }

    /// B is 1, 3 and 5% faster on three machines, and trials differ by 0.1%.
    #[test]
    fn a_difference_that_depends_on_the_machine_is_as_uncertain_as_the_machines_are() {
        let arm = |gain: f64| -> Vec<(usize, f64)> {
            let value = |i: usize| 100.0 * (1.0 + gain * (1 + 2 * (i % 3)) as f64) * [0.999, 1.001][i / 3 % 2];
            (0..12).map(|i| (i % 3, value(i))).collect()
        };
        let found = by_machine([&arm(0.0), &arm(0.01)]).unwrap();
        assert_eq!((found.basis, found.machines, found.arms[0].len()), (Basis::Machines, 3, 3));
        let gains: Vec<f64> = found.arms[0].iter().zip(&found.arms[1]).map(|(a, b)| b / a).collect();
        assert!(gains.iter().zip([1.01, 1.03, 1.05]).all(|(own, gain)| (own - gain).abs() < 1e-9), "{gains:?}");
        let even = by_machine([&arm(0.0), &arm(0.0)]).unwrap();
        assert!(matches!(even.basis, Basis::Trials(_)), "{even:?}");
    }
}
