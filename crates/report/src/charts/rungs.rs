//! The axis of a numeric factor: threads and nodes double from rung to rung, so doublings have equal distances.

use super::axis::px;
use maud::{Markup, html};

/// Width of the number of a tick, in pixels.
const TICK_WIDTH: f64 = 34.0;

pub(super) struct Rungs {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    logarithmic: bool,
    levels: Vec<f64>,
}

impl Rungs {
    pub(crate) fn new(levels: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let mut levels: Vec<f64> = levels.filter(|level| level.is_finite()).collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        let low = levels.first().copied().unwrap_or(0.0);
        let high = levels.last().copied().unwrap_or(1.0);
        Self { low, high, from, to, logarithmic: low > 0.0 && high / low >= 4.0, levels }
    }

    pub(crate) fn at(&self, level: f64) -> f64 {
        if self.high <= self.low {
            return (self.from + self.to) / 2.0;
        }
        let share = if self.logarithmic {
            (level / self.low).ln() / (self.high / self.low).ln()
        } else {
            (level - self.low) / (self.high - self.low)
        };
        self.from + share * (self.to - self.from)
    }

    /// Evenly spaced values between two levels, for a smooth curve.
    pub(crate) fn between(&self, from: f64, to: f64, count: usize) -> Vec<f64> {
        let step = |i: usize| {
            let share = i as f64 / count as f64;
            if self.logarithmic { from * (to / from).powf(share) } else { from + (to - from) * share }
        };
        (0..=count).map(step).collect()
    }

    /// Grid lines at the levels with their numbers below; numbers that would overlap are left out.
    pub(crate) fn grid(&self, top: f64, bottom: f64) -> Markup {
        let mut shown = f64::NEG_INFINITY;
        let mut ticks: Vec<(f64, Option<f64>)> = Vec::new();
        for level in &self.levels {
            let x = self.at(*level);
            let number = (x - shown >= TICK_WIDTH).then_some(*level);
            if number.is_some() {
                shown = x;
            }
            ticks.push((x, number));
        }
        html! {
            @for (x, number) in &ticks {
                line.grid x1=(px(*x)) x2=(px(*x)) y1=(px(top)) y2=(px(bottom)) {}
                @if let Some(number) = number {
                    text.tick x=(px(*x)) y=(px(bottom + 14.0)) text-anchor="middle" { (number) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doublings_are_equally_far_apart() {
        let rungs = Rungs::new([4.0, 1.0, 2.0, 8.0].into_iter(), 0.0, 300.0);
        assert_eq!([1.0, 2.0, 4.0, 8.0].map(|n| rungs.at(n).round()), [0.0, 100.0, 200.0, 300.0]);
        assert_eq!(rungs.between(1.0, 4.0, 2), [1.0, 2.0, 4.0]);
        let linear = Rungs::new([0.0, 1.0, 2.0].into_iter(), 0.0, 100.0);
        assert_eq!(linear.at(1.0), 50.0);
        assert_eq!(Rungs::new([3.0].into_iter(), 0.0, 100.0).at(3.0), 50.0);
    }

    #[test]
    fn numbers_that_would_touch_are_left_out() {
        let many = Rungs::new((1..=100).map(f64::from), 0.0, 200.0).grid(0.0, 10.0).into_string();
        assert_eq!(many.matches("<line").count(), 100);
        assert!(many.matches("<text").count() <= 6);
    }
}
