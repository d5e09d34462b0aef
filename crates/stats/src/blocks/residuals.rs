//! What conditions and blocks do not explain.

use super::fit::Fit;
use super::table::{Condition, Table};
use crate::quantiles::f_upper_tail;

/// The residuals of value = condition + block + error.
#[derive(Debug, Clone)]
pub(crate) struct Residuals {
    /// Scaled to the standard deviation of a trial. Of residuals that are equal but for their sign, as in two
    /// conditions or in two blocks, only one.
    pub values: Vec<f64>,
    /// p-value of no block effects, by the F test of the additive model.
    pub blocks: f64,
}

impl Residuals {
    /// `None` when the conditions are not connected through blocks, or nothing is left for an error.
    pub fn of(conditions: &[Condition]) -> Option<Self> {
        let table = Table::of(conditions);
        let fit = Fit::of(&table).filter(|fit| fit.df > 0.0)?;
        let present = table.of_conditions().iter().filter(|n| **n > 0).count();
        let first = table.entries.first()?;
        let scale = (table.entries.len() as f64 / fit.df).sqrt();
        let is_kept = |condition: usize, block: usize| {
            (present > 2 || condition == first.condition) && (table.blocks > 2 || block == first.block)
        };
        let entries = table.entries.iter().zip(&fit.residuals);
        let values = entries.filter(|(e, _)| is_kept(e.condition, e.block)).map(|(_, left)| left * scale).collect();
        let (left, df) = fit.variance();
        let of_blocks = (within_conditions(&table) - left * df) / (table.blocks as f64 - 1.0);
        let blocks = match left > 0.0 {
            true => f_upper_tail((of_blocks / left).max(0.0), table.blocks as f64 - 1.0, df),
            false => f64::from(u8::from(of_blocks <= 0.0)),
        };
        Some(Self { values, blocks })
    }
}

/// The sum of squares about the means of the conditions.
fn within_conditions(table: &Table) -> f64 {
    let mut means = vec![0.0; table.conditions];
    table.entries.iter().for_each(|entry| means[entry.condition] += entry.value);
    means.iter_mut().zip(table.of_conditions()).for_each(|(sum, n)| *sum /= n as f64);
    table.entries.iter().map(|entry| (entry.value - means[entry.condition]).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two conditions, three blocks: residuals by hand, F = 73 on 2 and 2 degrees of freedom.
    #[test]
    fn what_blocks_explain_is_removed_and_tested() {
        let conditions = [vec![(0, 1.0), (1, 5.0), (2, 9.0)], vec![(0, 2.0), (1, 8.0), (2, 11.0)]];
        let found = Residuals::of(&conditions).unwrap();
        // Differences 1, 3, 2 about their mean of 2, half of them in each condition, scaled by the root of 6 / 2.
        let expected = [0.5, -0.5, 0.0].map(|left: f64| left * 3.0_f64.sqrt());
        assert!(found.values.iter().zip(expected).all(|(v, e)| (v - e).abs() < 1e-12), "{found:?}");
        assert_eq!(found.values.len(), 3);
        let ratio: f64 = (32.0 + 42.0 - 1.0) / 2.0 / (1.0 / 2.0);
        assert!((found.blocks - 1.0 / (1.0 + ratio)).abs() < 1e-9, "{found:?}");
        assert!(Residuals::of(&conditions[..1]).is_none());
    }
}
