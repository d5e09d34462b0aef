//! A logarithmic axis of ratios around 1, which is always labelled.

use super::axis::px;
use super::frame::Frame;
use maud::{Markup, html};
use tare_stats::Interval;

/// Width of the number of a tick, in pixels.
const TICK: f64 = 40.0;
/// Candidate ticks; those that fit are used.
const TICKS: [f64; 21] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0,
];
/// The axis ends here, so that the interval of one noisy estimate does not compress all others.
const WIDEST: f64 = 100.0;

pub(super) struct RatioAxis<'f> {
    frame: &'f Frame,
    reach: f64,
}

impl<'f> RatioAxis<'f> {
    /// Extends equally far on both sides of 1, to the most distant of the ratios.
    pub(crate) fn of(ratios: impl Iterator<Item = f64>, frame: &'f Frame) -> Self {
        let reach = ratios
            .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
            .map(|ratio| ratio.ln().abs())
            .fold(1.05f64.ln(), f64::max)
            .min(WIDEST.ln());
        Self { frame, reach }
    }

    /// Pixel position of a ratio; ratios beyond the axis are at its end.
    pub(crate) fn at(&self, ratio: f64) -> f64 {
        let Frame { left, right, .. } = *self.frame;
        let share = (ratio.max(1e-9).ln() / self.reach).clamp(-1.0, 1.0);
        f64::midpoint(left, right) + share * (right - left) / 2.0
    }

    /// Grid lines from `top` to `bottom`, their numbers, and the name of the ratio.
    pub(crate) fn drawn(&self, what: &str, top: f64, bottom: f64) -> Markup {
        let Frame { left, right, slim, .. } = *self.frame;
        html! {
            @for tick in &self.ticks() {
                @let x = px(self.at(*tick));
                line class=(if *tick == 1.0 { "none" } else { "grid" }) x1=(x) x2=(x) y1=(px(top)) y2=(px(bottom)) {}
                text.tick x=(x) y=(px(bottom + 14.0)) text-anchor="middle" { (format!("{tick}x")) }
            }
            text.axis x=(px(f64::midpoint(left, right))) y=(px(bottom + 32.0)) text-anchor="middle" { (if slim { "ratio" } else { what }) }
        }
    }

    /// The tick of "no effect" is always present; the others if there is room.
    fn ticks(&self) -> Vec<f64> {
        let mut last = f64::NEG_INFINITY;
        let mut ticks: Vec<f64> = TICKS.into_iter().filter(|tick| tick.ln().abs() <= self.reach * 1.000_1).collect();
        ticks.retain(|tick| {
            let (x, middle) = (self.at(*tick), self.at(1.0));
            let inside = x >= TICK / 2.0 && x <= self.frame.width - TICK / 2.0;
            let room = *tick == 1.0 || (inside && x - last >= TICK && (x - middle).abs() >= TICK);
            if room {
                last = x;
            }
            room
        });
        ticks
    }
}

pub(super) fn with_ends(ratio: f64, ci: Option<Interval>) -> impl Iterator<Item = f64> {
    [Some(ratio), ci.map(|ci| ci.low), ci.map(|ci| ci.high)].into_iter().flatten()
}
