//! A figure with its confidence interval.

/// A two-sided confidence interval, in the unit of what it belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower bound, in the unit of what is estimated.
    pub low: f64,
    /// Upper bound, in the unit of what is estimated.
    pub high: f64,
}

impl Interval {
    /// `low` and `high` as an interval, `None` unless both are finite.
    pub(crate) fn finite(low: f64, high: f64) -> Option<Self> {
        (low.is_finite() && high.is_finite()).then_some(Self { low, high })
    }

    /// Whether `value` lies inside, bounds included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Both ends through `f`, in ascending order.
    pub fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        let (a, b) = (f(self.low), f(self.high));
        Self { low: a.min(b), high: a.max(b) }
    }

    /// From the lower bound to the upper one.
    pub fn width(&self) -> f64 {
        self.high - self.low
    }
}

/// A point estimate and its interval, absent where the data cannot carry one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The point estimate, in the unit of what was measured.
    pub value: f64,
    /// Its confidence interval; none where nothing says how sure it is.
    pub ci: Option<Interval>,
}
