//! Simulated error rates and powers as rows of one table: `benches/truth` prints the rows of all tests, below a header.

/// Number of studies of each kind, if set.
pub fn requested() -> Option<usize> {
    std::env::var("TARE_NULL_STUDIES").ok().and_then(|text| text.parse().ok())
}

#[derive(Debug, Clone, Copy)]
pub struct Rate {
    pub hits: usize,
    pub of: usize,
}

impl Rate {
    pub fn count(of: usize, mut holds: impl FnMut(usize) -> bool) -> Self {
        Self { hits: (0..of).filter(|i| holds(*i)).count(), of }
    }

    pub fn percent(self) -> f64 {
        100.0 * self.hits as f64 / self.of.max(1) as f64
    }

    /// Probability of at least so many hits if the rate is this, in percent.
    fn chance(self, percent: f64) -> f64 {
        let (p, n) = (percent / 100.0, self.of);
        // Terms of the binomial distribution from 0 hits on, as logarithms.
        let next = |ln: f64, k: usize| ln + ((n - k + 1) as f64 / k as f64).ln() + (p / (1.0 - p)).ln();
        let mut ln = n as f64 * (1.0 - p).ln();
        let mut fewer = 0.0;
        for k in 1..=self.hits {
            fewer += ln.exp();
            ln = next(ln, k);
        }
        1.0 - fewer
    }

    /// 95% Wilson interval, in percent.
    fn interval(self) -> (f64, f64) {
        let (n, z) = (self.of.max(1) as f64, 1.96_f64);
        let share = self.hits as f64 / n;
        let centre = share + z * z / (2.0 * n);
        let half = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
        let percent = |v: f64| 100.0 * (v / (1.0 + z * z / n)).max(0.0);
        (percent(centre - half), percent(centre + half))
    }
}

/// Three standard deviations: of hundreds of rows, some are two above by chance.
const BY_CHANCE: f64 = 0.001_35;

/// What a rate is compared with, in percent.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// The rate of errors is not shown to exceed this ([`BY_CHANCE`]).
    AtMost(f64),
    /// The measured power is at least this.
    AtLeast(f64),
    /// For information.
    None,
}

/// The rows of one test. All are measured and printed before it fails.
#[derive(Debug, Default)]
pub struct Rows {
    missed: Vec<String>,
}

impl Rows {
    pub fn add(&mut self, what: &str, limit: Limit, rate: Rate) {
        let (expected, is_missed) = match limit {
            Limit::AtMost(most) => (format!("at most {most}"), rate.chance(most) < BY_CHANCE),
            Limit::AtLeast(least) => (format!("at least {least:.1}"), rate.percent() < least),
            Limit::None => ("-".to_owned(), false),
        };
        let (low, high) = rate.interval();
        let row = format!("| {what} | {expected} | {:.2} ({low:.2} to {high:.2}) | {} |", rate.percent(), rate.of);
        println!("{row}{}", if is_missed { " missed |" } else { " |" });
        self.missed.extend(is_missed.then_some(row));
    }

    /// Fails with the rows that are beyond their limits.
    pub fn judge(self) {
        assert!(self.missed.is_empty(), "beyond the limit:\n{}", self.missed.join("\n"));
    }
}

#[test]
fn a_rate_is_shown_to_exceed_its_limit_by_the_binomial_distribution() {
    let chance = |hits, of, percent| Rate { hits, of }.chance(percent);
    assert!((chance(2, 6, 5.0) - 0.0328).abs() < 1e-4 && (chance(4, 20, 2.5) - 0.001_37).abs() < 1e-4);
    assert!((chance(0, 50, 2.0) - 1.0).abs() < 1e-12 && (chance(30, 1000, 2.0) - 0.022).abs() < 2e-3);
}

#[test]
fn every_row_is_measured_before_a_test_fails_and_those_beyond_their_limits_are_named() {
    let mut rows = Rows::default();
    let rate = |hits| Rate { hits, of: 100 };
    rows.add("within", Limit::AtMost(5.0), rate(8));
    rows.add("above", Limit::AtMost(5.0), rate(18));
    rows.add("found", Limit::AtLeast(80.0), rate(80));
    rows.add("below", Limit::AtLeast(80.0), rate(79));
    rows.add("any", Limit::None, rate(100));
    let named: Vec<bool> = ["above", "below"].iter().zip(&rows.missed).map(|(name, row)| row.contains(name)).collect();
    assert!(named == [true, true] && rows.missed.len() == 2, "{rows:?}");
    assert!(std::panic::catch_unwind(|| rows.judge()).is_err());
}
