//! A sum of independent variances, each with its degrees of freedom.

/// The sum, with Welch-Satterthwaite degrees of freedom; without any variance, the sum of all degrees of freedom.
pub(crate) fn sum(parts: impl IntoIterator<Item = (f64, f64)>) -> (f64, f64) {
    let (mut total, mut by_df, mut all) = (0.0, 0.0, 0.0);
    for (variance, df) in parts {
        total += variance;
        by_df += variance * variance / df;
        all += df;
    }
    let df = total * total / by_df;
    (total, if df.is_finite() { df } else { all })
}

/// An arm with at most this many trials, and fewer than another, uses the pooled variance where it is larger.
const FEW: f64 = 4.0;

/// The variance of each arm, given as sample variance and number of trials, and its degrees of freedom. The variance of
/// two trials is often far too small by chance, and the sum then has the degrees of freedom of a larger arm: Welch's
/// test calls 2 trials and 10 of the same distribution different in 10% of cases at a level of 5%, and 3 and 10 in 7%.
/// With this rule it does so in 4%.
pub(crate) fn of_arms(arms: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let most = arms.iter().fold(0.0f64, |most, (_, n)| most.max(*n));
    let df = arms.iter().map(|(_, n)| n - 1.0).sum::<f64>();
    let pooled = arms.iter().map(|(variance, n)| variance * (n - 1.0)).sum::<f64>() / df;
    let of_arm = |&(variance, n): &(f64, f64)| match (2.0..=FEW).contains(&n) && n < most && pooled > variance {
        true => (pooled, df),
        false => (variance, n - 1.0),
    };
    arms.iter().map(of_arm).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_arm_of_few_trials_uses_a_larger_pooled_variance() {
        assert_eq!(of_arms(&[(1.0, 2.0), (3.0, 10.0)]), [(2.8, 10.0), (3.0, 9.0)]);
        for kept in [[(4.0, 2.0), (3.0, 10.0)], [(1.0, 3.0), (3.0, 3.0)], [(1.0, 5.0), (3.0, 10.0)]] {
            assert_eq!(of_arms(&kept), kept.map(|(variance, n)| (variance, n - 1.0)));
        }
        assert!(of_arms(&[(f64::NAN, 1.0), (3.0, 10.0)])[0].0.is_nan());
    }

    #[test]
    fn equal_parts_add_up_their_freedom_and_one_part_keeps_its_own() {
        assert_eq!(sum([(2.0, 4.0), (2.0, 4.0)]), (4.0, 8.0));
        assert_eq!(sum([(2.0, 4.0), (0.0, 9.0)]), (2.0, 4.0));
        assert_eq!(sum([(0.0, 4.0), (0.0, 9.0)]), (0.0, 13.0));
    }
}
