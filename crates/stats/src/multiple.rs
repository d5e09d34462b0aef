//! Multiple testing: p-values adjusted for the number of tests in a study.
//!
//! Holm's step-down where every claim must hold (a headline, a gate): it controls the probability of any false claim
//! (family-wise error rate) under any dependence. Benjamini-Yekutieli where many rows of a table are marked: it
//! controls the share of false ones (false discovery rate), also under any dependence. Queries of one trial share its
//! random effects, so neither independence nor a known correlation can be assumed, and e-values would have less power
//! for the same generality at a fixed number of trials. Benjamini-Hochberg for the hundreds of functions of a profile,
//! where that generality would cost a factor of six: a trial's random effects move their times per transaction in the
//! same direction, the dependence under which the method holds.

/// Holm's step-down adjustment of p-values ("A simple sequentially rejective multiple test procedure", 1979): the k-th
/// smallest of m is multiplied by m - k + 1, made monotone, capped at 1. The order of the input is kept.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    holm_of(p_values, p_values.len())
}

/// [`holm`] for the tested members of a family of `all`; the other members count as not significant.
pub fn holm_of(p_values: &[f64], all: usize) -> Vec<f64> {
    holm_bounded(p_values, all, |_| None)
}

/// [`holm_of`] where another method also bounds the family-wise p-value of a test: `bound` returns it by index, if
/// there is one. Both grow with the p-value, so the smaller of the two is one valid critical value.
pub(crate) fn holm_bounded(p_values: &[f64], all: usize, bound: impl Fn(usize) -> Option<f64>) -> Vec<f64> {
    let all = all.max(p_values.len());
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest = 0.0f64;
    for (rank, i) in ascending(p_values).into_iter().enumerate() {
        let own = p_values[i] * (all - rank) as f64;
        largest = largest.max(bound(i).map_or(own, |bound| own.min(bound))).min(1.0);
        adjusted[i] = largest;
    }
    adjusted
}

/// Benjamini-Yekutieli adjustment ("The control of the false discovery rate in multiple testing under dependency",
/// Annals of Statistics 29, 2001): the k-th smallest of m is multiplied by m (1 + 1/2 + ... + 1/m) / k, made monotone
/// from the largest down, capped at 1. Among those at or below q the expected share of false ones is at most q. The
/// order of the input is kept.
pub fn benjamini_yekutieli(p_values: &[f64]) -> Vec<f64> {
    let harmonic: f64 = (1..=p_values.len()).map(|i| 1.0 / i as f64).sum();
    step_up(p_values, harmonic)
}

/// Benjamini-Hochberg adjustment ("Controlling the false discovery rate", Journal of the Royal Statistical Society B
/// 57, 1995): as [`benjamini_yekutieli`] without the sum. Among those at or below q the expected share of false ones is
/// at most q, when the tests are independent or positively dependent. The order of the input is kept.
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    step_up(p_values, 1.0)
}

fn step_up(p_values: &[f64], factor: f64) -> Vec<f64> {
    let m = p_values.len();
    let mut adjusted = vec![1.0; m];
    let mut smallest = 1.0f64;
    for (rank, i) in ascending(p_values).into_iter().enumerate().rev() {
        smallest = smallest.min(p_values[i] * m as f64 * factor / (rank + 1) as f64);
        adjusted[i] = smallest;
    }
    adjusted
}

fn ascending(p_values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&i, &j| p_values[i].total_cmp(&p_values[j]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_on_a_worked_example() {
        // 0.01, 0.02, 0.03, 0.04 x 4, 3, 2, 1 made monotone.
        let adjusted = holm(&[0.03, 0.01, 0.04, 0.02]);
        for (got, expected) in adjusted.iter().zip([0.06, 0.04, 0.06, 0.06]) {
            assert!((got - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[0.9, 0.9]), [1.0, 1.0]);
        assert_eq!(holm_of(&[0.01, 0.02], 5), [0.05, 0.08]);
    }

    #[test]
    fn benjamini_yekutieli_on_a_worked_example() {
        // R: p.adjust(c(0.01, 0.02, 0.03, 0.5), "BY") = 0.08333333 0.08333333 0.08333333 1.
        let adjusted = benjamini_yekutieli(&[0.5, 0.01, 0.03, 0.02]);
        for (got, expected) in adjusted.iter().zip([1.0, 1.0 / 12.0, 1.0 / 12.0, 1.0 / 12.0]) {
            assert!((got - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert!(benjamini_yekutieli(&[]).is_empty());
        // R: p.adjust(c(0.01, 0.02, 0.03, 0.5), "BH") = 0.04 0.04 0.04 0.5.
        let adjusted = benjamini_hochberg(&[0.5, 0.01, 0.03, 0.02]);
        for (got, expected) in adjusted.iter().zip([0.5, 0.04, 0.04, 0.04]) {
            assert!((got - expected).abs() < 1e-12, "{adjusted:?}");
        }
    }
}
