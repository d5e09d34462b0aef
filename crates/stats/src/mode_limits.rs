//! Null distribution of the gap statistics of [`crate::modes`] under one uniform mode, by simulation: 3,000,000 draws
//! up to 12 values, 50,000 of 200.

/// Quantiles of a statistic by number of values, at three upper-tail probabilities.
pub(crate) struct Limits {
    /// Upper-tail probabilities, each a tenth of the one before.
    chances: [f64; 3],
    /// Numbers of values, and the quantiles at these probabilities.
    rows: &'static [(f64, [f64; 3])],
}

/// ln(W1 / min W2). Of unimodal distributions the uniform one looks most like two modes.
pub(crate) const TWO: Limits = Limits {
    chances: [0.02, 0.002, 0.0002],
    rows: &[
        (6.0, [1.870, 2.536, 3.166]),
        (7.0, [1.705, 2.234, 2.729]),
        (8.0, [1.641, 2.092, 2.520]),
        (9.0, [1.537, 1.927, 2.300]),
        (10.0, [1.491, 1.853, 2.199]),
        (12.0, [1.386, 1.690, 1.976]),
        (15.0, [1.279, 1.532, 1.752]),
        (20.0, [1.186, 1.389, 1.571]),
        (30.0, [1.075, 1.232, 1.364]),
        (50.0, [0.975, 1.093, 1.194]),
        (100.0, [0.885, 0.962, 1.029]),
        (200.0, [0.824, 0.880, 0.920]),
    ],
};

/// ln(W1 / min W3). Stricter, because it is a second chance of a false alarm in addition to [`TWO`].
pub(crate) const THREE: Limits = Limits {
    chances: [0.002, 0.0002, 0.00002],
    rows: &[
        (9.0, [2.350, 2.774, 3.178]),
        (10.0, [2.365, 2.725, 3.062]),
        (12.0, [2.262, 2.553, 2.832]),
        (15.0, [2.080, 2.319, 2.530]),
        (20.0, [1.897, 2.080, 2.229]),
        (30.0, [1.699, 1.823, 1.955]),
        (50.0, [1.529, 1.618, 1.690]),
        (100.0, [1.379, 1.438, 1.479]),
        (200.0, [1.287, 1.326, 1.349]),
    ],
};

impl Limits {
    /// The critical value at the largest of the probabilities.
    pub(crate) fn first(&self, n: usize) -> f64 {
        self.at(n)[0]
    }

    /// The p-value of this statistic of n values under one mode. Its logarithm is interpolated linearly between
    /// quantiles and extrapolated beyond them, as is that of the share of draws in which all values are in two narrow
    /// groups.
    pub(crate) fn p_value(&self, n: usize, value: f64) -> f64 {
        let limits = self.at(n);
        let from = if value < limits[1] { 0 } else { 1 };
        let decades = (value - limits[from]) / (limits[from + 1] - limits[from]);
        let tenth = self.chances[from + 1] / self.chances[from];
        (self.chances[from] * tenth.powf(decades)).min(1.0)
    }

    /// The quantiles for n values: interpolated by ln n, and beyond the table those of its last row.
    fn at(&self, n: usize) -> [f64; 3] {
        let n = n as f64;
        match self.rows.iter().position(|(at, _)| *at >= n) {
            Some(0) => self.rows[0].1,
            Some(i) => {
                let ((from, low), (to, high)) = (self.rows[i - 1], self.rows[i]);
                let part = (n / from).ln() / (to / from).ln();
                std::array::from_fn(|k| low[k] + (high[k] - low[k]) * part)
            }
            None => self.rows[self.rows.len() - 1].1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_those_of_the_table_and_fall_beyond_it() {
        for (n, limits) in TWO.rows {
            for (limit, chance) in limits.iter().zip(TWO.chances) {
                assert!((TWO.p_value(*n as usize, *limit) / chance - 1.0).abs() < 1e-9);
            }
        }
        assert!(TWO.p_value(8, 3.0) < 0.0002 && TWO.p_value(8, 0.0) == 1.0);
        assert!((TWO.first(11) - 1.436).abs() < 2e-3 && TWO.first(5000) == 0.824);
    }
}
