//! Compares how often an event, for instance a failed trial, occurs on two sides.

/// How many trials had the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// Number of trials in which it occurred.
    pub hits: usize,
    /// Number of all trials.
    pub of: usize,
}

/// One-sided p-value of Fisher's exact test: the probability that B has at least this many of the hits when both sides
/// have the same rate. 1 when a side has no trials, or neither has a hit.
pub fn more_in_b(a: Count, b: Count) -> f64 {
    let hits = a.hits.min(a.of) + b.hits.min(b.of);
    let all = a.of + b.of;
    if a.of == 0 || b.of == 0 || hits == 0 {
        return 1.0;
    }
    let chance = |in_b: usize| (ln_choose(b.of, in_b) + ln_choose(a.of, hits - in_b) - ln_choose(all, hits)).exp();
    let fewest = b.hits.min(b.of).max(hits.saturating_sub(a.of));
    (fewest..=hits.min(b.of)).map(chance).sum::<f64>().min(1.0)
}

impl Count {
    /// One-sided p-value of the sign test: the probability of at least this many hits when a hit has probability 1/2. 1
    /// without trials.
    pub fn by_coin(self) -> f64 {
        let chance = |hits: usize| (ln_choose(self.of, hits) - self.of as f64 * std::f64::consts::LN_2).exp();
        (self.hits..=self.of).map(chance).sum()
    }

    /// The exact one-sided upper confidence limit of the rate by Clopper & Pearson (Biometrika 26, 1934): the rate at
    /// which at most this many hits have the probability 1 - `confidence`. 1 without trials.
    pub fn at_most(self, confidence: f64) -> f64 {
        let hits = self.hits.min(self.of);
        if hits == self.of {
            return 1.0;
        }
        let as_few = |rate: f64| -> f64 {
            let ln_odds = rate.ln() - (-rate).ln_1p();
            let (mut ln_chance, mut sum) = (self.of as f64 * (-rate).ln_1p(), 0.0);
            for k in 0..=hits {
                sum += f64::exp(ln_chance);
                ln_chance += ((self.of - k) as f64 / (k + 1) as f64).ln() + ln_odds;
            }
            sum
        };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if as_few(middle) > 1.0 - confidence { low = middle } else { high = middle }
        }
        high
    }
}

fn ln_choose(n: usize, k: usize) -> f64 {
    let k = k.min(n - k);
    (0..k).map(|i| ((n - i) as f64 / (k - i) as f64).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(a: (usize, usize), b: (usize, usize)) -> f64 {
        more_in_b(Count { hits: a.0, of: a.1 }, Count { hits: b.0, of: b.1 })
    }

    #[test]
    fn the_bound_of_a_rate_is_exact() {
        let at_most = |hits: usize, of: usize| Count { hits, of }.at_most(0.95);
        // Without hits: 1 - 0.05^(1/n).
        assert!((at_most(0, 20) - 0.139_108).abs() < 1e-6 && (at_most(0, 59) - 0.049_508).abs() < 1e-6);
        // The root of P(X <= 2) = 0.05 for 60 trials, by summing binomial terms.
        assert!((at_most(2, 60) - 0.101_236).abs() < 1e-6, "{}", at_most(2, 60));
        assert_eq!((at_most(0, 0), at_most(3, 3)), (1.0, 1.0));
    }

    #[test]
    fn a_sign_test_adds_the_terms_of_the_binomial() {
        let p = |hits: usize, of: usize| Count { hits, of }.by_coin();
        assert!((p(3, 3) - 0.125).abs() < 1e-12 && (p(5, 6) - 7.0 / 64.0).abs() < 1e-12);
        assert!((p(0, 9) - 1.0).abs() < 1e-12 && (p(0, 0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_comparison_of_counts_is_fishers_exact_test() {
        // R: fisher.test(matrix(c(3, 1, 1, 3), 2), alternative = "greater")$p.value = 0.2428571 (the lady tasting tea).
        assert!((p((1, 4), (3, 4)) - 17.0 / 70.0).abs() < 1e-12);
        // C(10, 5) / C(20, 5); C(6, 3) / C(12, 3).
        assert!((p((0, 10), (5, 10)) - 252.0 / 15504.0).abs() < 1e-12);
        assert!((p((0, 6), (3, 6)) - 20.0 / 220.0).abs() < 1e-12);
        assert_eq!([p((5, 10), (0, 10)), p((0, 10), (0, 10)), p((0, 0), (3, 3))], [1.0; 3]);
        assert!((p((10, 10), (10, 10)) - 1.0).abs() < 1e-12);
        assert!(p((0, 100_000), (60, 100_000)) < 1e-15);
    }
}
