//! An estimate with its confidence interval.

/// A two-sided confidence interval, in the unit of the estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower limit, in the unit of the estimate.
    pub low: f64,
    /// Upper limit, in the unit of the estimate.
    pub high: f64,
}

impl Interval {
    /// `low` and `high` as an interval, `None` unless both are finite.
    pub(crate) fn finite(low: f64, high: f64) -> Option<Self> {
        (low.is_finite() && high.is_finite()).then_some(Self { low, high })
    }

    /// Whether `value` is in the interval, limits included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Applies `f` to both limits; the result is in ascending order.
    pub fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        let (a, b) = (f(self.low), f(self.high));
        Self { low: a.min(b), high: a.max(b) }
    }

    /// The upper limit minus the lower one.
    pub fn width(&self) -> f64 {
        self.high - self.low
    }
}

/// A point estimate with its interval, which is absent when the data do not allow one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The point estimate, in the unit of the measured values.
    pub value: f64,
    /// Its confidence interval; `None` when its uncertainty is unknown.
    pub ci: Option<Interval>,
}
