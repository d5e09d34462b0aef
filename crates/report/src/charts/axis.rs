//! A value axis: range, ticks, and whether it starts at zero.

use crate::figures::Scale;
use maud::{Markup, html};
use tare_results::unit::Unit;

/// If the span of the data is below this share of the largest value, it would be invisible on an axis that starts at
/// zero.
const ZERO_SPAN: f64 = 0.25;
/// If largest / smallest is above this ratio, the small values would be at the bottom of a linear axis.
const LOG_RATIO: f64 = 40.0;
/// Larger values are drawn at the end, because ranges and ratios of values beyond it overflow.
const LARGEST: f64 = 1e150;
/// Ranges below this share of the values are treated as empty.
const LEAST: f64 = 1e-12;

#[derive(Debug, Clone)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    pub scale: Scale,
    ticks: Vec<f64>,
    logarithmic: bool,
}

impl Axis {
    /// Like [`Axis::new`], but logarithmic if positive values span so much that a linear axis would hide the small
    /// ones.
    pub(crate) fn spanning(values: impl Iterator<Item = f64>, unit: Unit, from: f64, to: f64) -> Self {
        let values: Vec<f64> = drawable(values).collect();
        let (low, high) =
            values.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(*value), high.max(*value)));
        if low < LARGEST.recip() || high / low < LOG_RATIO || values.is_empty() {
            return Self::new(values.into_iter(), unit, from, to);
        }
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let factors: &[f64] = if last - first > 3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let every = ((last - first) / 8 + 1) as usize;
        let decades = (first..=last).step_by(every).flat_map(|d| factors.iter().map(move |f| f * 10f64.powi(d)));
        let mut ticks: Vec<f64> = decades.collect();
        // One tick below the data and one above.
        ticks.retain(|tick| *tick > low / 5.01 && *tick < high * 5.01);
        let below = ticks.iter().copied().filter(|tick| *tick <= low).fold(low, f64::max);
        let above = ticks.iter().copied().filter(|tick| *tick >= high).fold(f64::INFINITY, f64::min);
        let (low, high) = (below.min(low), if above.is_finite() { above } else { high });
        ticks.retain(|tick| (low..=high).contains(tick));
        let digits = (high / low).log10().ceil() as usize + 1;
        Self { low, high, from, to, scale: Scale::new(unit, high, digits.min(6)), ticks, logarithmic: true }
    }

    /// An axis for values of a unit between two pixel positions (`to` may be smaller than `from`).
    pub(crate) fn new(values: impl Iterator<Item = f64>, unit: Unit, from: f64, to: f64) -> Self {
        let (mut low, mut high) = drawable(values)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        let span = high - low;
        if low >= 0.0 && (span >= ZERO_SPAN * high || span == 0.0) {
            low = 0.0;
        }
        let least = (LEAST * low.abs().max(high.abs())).max(LARGEST.recip());
        if high - low < least {
            high = low + (1e6 * least).max(1.0);
        }
        let step = nice_step((high - low) / 5.0);
        let low = (low / step).floor() * step;
        let high = (high / step).ceil() * step;
        let count = ((high - low) / step).round() as usize;
        let ticks: Vec<f64> = (0..=count).map(|i| low + i as f64 * step).collect();
        let largest = high.abs().max(low.abs());
        // Enough digits that no two ticks have the same label.
        let digits = (largest / step).log10().ceil().max(1.0) as usize + 1;
        Self { low, high, from, to, scale: Scale::new(unit, largest, digits.min(6)), ticks, logarithmic: false }
    }

    /// Pixel position of a value, limited to the axis.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        let share = share.clamp(0.0, 1.0);
        self.from + share * (self.to - self.from)
    }

    pub(crate) fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    fn starts_at_zero(&self) -> bool {
        self.low == 0.0
    }

    /// The label of the axis: name, unit, and whether it starts at zero.
    pub(crate) fn label(&self, metric: &str) -> String {
        let zero = match (self.logarithmic, self.starts_at_zero()) {
            (true, _) => " (logarithmic axis)",
            (_, true) => "",
            _ => " (axis does not start at zero)",
        };
        self.scale.with_unit(metric) + zero
    }

    /// The label of a tick. Trailing zeros are removed on a logarithmic axis, where ticks have one significant digit.
    fn tick(&self, tick: f64) -> String {
        let number = self.scale.number(tick);
        match self.logarithmic && number.contains('.') {
            true => number.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => number,
        }
    }

    /// Vertical grid lines from `top` to `bottom` with their numbers below.
    pub(crate) fn horizontal(&self, top: f64, bottom: f64) -> Markup {
        html! {
            @for tick in &self.ticks {
                @let x = px(self.at(*tick));
                line.grid x1=(x) x2=(x) y1=(px(top)) y2=(px(bottom)) {}
                text.tick x=(x) y=(px(bottom + 14.0)) text-anchor="middle" { (self.tick(*tick)) }
            }
        }
    }

    /// Horizontal grid lines from `left` to `right` without numbers.
    pub(crate) fn lines(&self, left: f64, right: f64) -> Markup {
        html! {
            @for tick in &self.ticks {
                @let y = px(self.at(*tick));
                line.grid x1=(px(left)) x2=(px(right)) y1=(y) y2=(y) {}
            }
        }
    }

    /// Horizontal grid lines from `left` to `right` with their numbers at the left.
    pub(crate) fn vertical(&self, left: f64, right: f64) -> Markup {
        html! {
            @for tick in &self.ticks {
                @let y = px(self.at(*tick));
                line.grid x1=(px(left)) x2=(px(right)) y1=(y) y2=(y) {}
                text.tick x=(px(left - 6.0)) y=(px(self.at(*tick) + 4.0)) text-anchor="end" { (self.tick(*tick)) }
            }
        }
    }
}

fn drawable(values: impl Iterator<Item = f64>) -> impl Iterator<Item = f64> {
    values.filter(|value| value.is_finite()).map(|value| value.clamp(-LARGEST, LARGEST))
}

/// A pixel position with one decimal, which is enough for the eye and saves bytes.
pub(crate) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// How far the ends of intervals may stretch an axis beyond the values, as a share of the values' span: one noisy
/// condition must not flatten all others. A longer interval is drawn to the edge; the tables have its ends.
const STRETCH: f64 = 0.3;

/// The values that determine an axis: those of trials, and the ends of intervals as far as the values remain legible.
pub(crate) fn shown(values: impl Iterator<Item = f64>, ends: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut shown: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    let (low, high) =
        shown.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)));
    if low <= high {
        let room = (high - low) * STRETCH;
        // Throughput and time cannot be negative; half of the lowest value is enough room on a logarithmic axis too.
        let floor = if low >= 0.0 { (low - room).max(low / 2.0) } else { low - room };
        shown.extend(ends.map(|end| end.clamp(floor, high + room)));
    }
    shown
}

/// Path data of a line through these points; empty without points.
pub(crate) fn through(points: impl Iterator<Item = (f64, f64)>) -> String {
    let places: Vec<String> = points.map(|(x, y)| format!("{} {}", px(x), px(y))).collect();
    if places.is_empty() { String::new() } else { format!("M{}", places.join("L")) }
}

/// The next of 1, 2, 5, 10 ... at or above `raw`.
fn nice_step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= raw * 0.999_999).unwrap_or(10.0);
    factor * power
}

/// Width of the number of a tick, in pixels.
const RUNG_WIDTH: f64 = 34.0;

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
            let number = (x - shown >= RUNG_WIDTH).then_some(*level);
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
    fn an_axis_that_does_not_start_at_zero_is_labelled() {
        let wide = Axis::new([13_000.0, 66_000.0].into_iter(), Unit::PerS, 0.0, 100.0);
        assert!(wide.starts_at_zero());
        assert_eq!(wide.label("tps"), "tps, k/s");
        assert_eq!(wide.at(0.0), 0.0);
        let narrow = Axis::new([39_000.0, 40_000.0].into_iter(), Unit::PerS, 0.0, 100.0);
        assert!(!narrow.starts_at_zero());
        assert!(narrow.label("tps").contains("does not start at zero"));
        assert!(narrow.at(39_000.0) >= 0.0 && narrow.at(40_000.0) <= 100.0);
    }

    #[test]
    fn values_of_many_sizes_get_a_labelled_logarithmic_axis() {
        let axis = Axis::spanning([3.0, 70.0, 4000.0].into_iter(), Unit::Ns, 100.0, 0.0);
        assert!(axis.label("time").contains("logarithmic"), "{axis:?}");
        assert!(axis.low <= 3.0 && axis.high >= 4000.0 && (3..=12).contains(&axis.ticks.len()), "{axis:?}");
        let [low, middle, high] = [3.0, 109.5, 4000.0].map(|value| axis.at(value));
        assert!(
            (low - middle - (middle - high)).abs() < 0.1,
            "equal ratios are equal distances: {low} {middle} {high}"
        );
        let drawn = Axis::spanning([0.02, 700.0].into_iter(), Unit::Ms, 100.0, 0.0).vertical(52.0, 332.0).into_string();
        assert!(drawn.contains(">1000<") && drawn.contains(">0.1<") && !drawn.contains(">0.10<"), "{drawn}");
        let linear = Axis::spanning([30.0, 70.0].into_iter(), Unit::Ns, 100.0, 0.0);
        assert!(linear.starts_at_zero());
        assert!(!Axis::spanning([0.0, 70.0].into_iter(), Unit::Ns, 100.0, 0.0).label("x").contains("logarithmic"));
    }

    #[test]
    fn intervals_stretch_an_axis_no_further_than_leaves_its_values_legible() {
        assert_eq!(shown([10.0, 20.0].into_iter(), [-500.0, 900.0].into_iter()), [10.0, 20.0, 7.0, 23.0]);
        assert_eq!(shown([10.0, 20.0].into_iter(), [9.0, 21.0].into_iter()), [10.0, 20.0, 9.0, 21.0]);
        assert_eq!(shown([1.0, 1000.0].into_iter(), [0.0].into_iter()), [1.0, 1000.0, 0.5]);
        assert!(shown(std::iter::empty(), [1.0].into_iter()).is_empty());
    }

    #[test]
    fn no_values_are_too_large_too_small_or_too_near_for_an_axis() {
        let extreme = [-f64::MAX, -1.0, 0.0, f64::MIN_POSITIVE, 5e-324, 1e-310, 1.0, 1e149, 1.6e308, f64::MAX];
        for low in extreme {
            for high in extreme {
                for make in [Axis::new, Axis::spanning] {
                    let axis = make([low, high].into_iter(), Unit::S, 0.0, 100.0);
                    let at: Vec<f64> = [low, high].map(|value| axis.at(value)).to_vec();
                    assert!(at.iter().all(|x| (0.0..=100.0).contains(x)), "{low} {high}: {at:?}");
                    assert!(axis.ticks.len() < 1000 && axis.ticks.iter().all(|tick| tick.is_finite()), "{low} {high}");
                }
            }
        }
    }

    #[test]
    fn ticks_never_read_the_same() {
        for (low, high) in [(0.0, 1.0), (39_000.0, 39_010.0), (1e-9, 2e-9), (5.0, 5.0), (0.0, 0.0), (1e12, 3e12)] {
            let axis = Axis::new([low, high].into_iter(), Unit::S, 0.0, 100.0);
            let mut labels: Vec<String> = axis.ticks.iter().map(|tick| axis.scale.number(*tick)).collect();
            let count = labels.len();
            labels.dedup();
            assert_eq!(labels.len(), count, "{low}..{high}: {labels:?}");
            assert!((2..=12).contains(&count), "{labels:?}");
        }
    }

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
