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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_parts_add_up_their_freedom_and_one_part_keeps_its_own() {
        assert_eq!(sum([(2.0, 4.0), (2.0, 4.0)]), (4.0, 8.0));
        assert_eq!(sum([(2.0, 4.0), (0.0, 9.0)]), (2.0, 4.0));
        assert_eq!(sum([(0.0, 4.0), (0.0, 9.0)]), (0.0, 13.0));
    }
}
