//! A logarithmic axis of ratios about 1, which is always named.

use super::axis::px;
use super::frame::Frame;
use maud::{Markup, html};
use tare_stats::Interval;

/// Pixels that the number of a tick needs.
const TICK: f64 = 40.0;
/// Ratios that may stand at a tick; those that fit are taken.
const TICKS: [f64; 21] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0,
];
/// No interval of an unsteady estimate may squeeze all others.
const WIDEST: f64 = 100.0;

pub(super) struct RatioAxis<'f> {
    frame: &'f Frame,
    reach: f64,
}

impl<'f> RatioAxis<'f> {
    /// As far on either side of 1 as the farthest of these lies.
    pub fn of(ratios: impl Iterator<Item = f64>, frame: &'f Frame) -> Self {
        let reach = ratios
            .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
            .map(|ratio| ratio.ln().abs())
            .fold(1.05f64.ln(), f64::max)
            .min(WIDEST.ln());
        Self { frame, reach }
    }

    /// Pixel of a ratio; what lies beyond the axis is at its end.
    pub fn at(&self, ratio: f64) -> f64 {
        let Frame { left, right, .. } = *self.frame;
        let share = (ratio.max(1e-9).ln() / self.reach).clamp(-1.0, 1.0);
        f64::midpoint(left, right) + share * (right - left) / 2.0
    }

    /// Grid lines from `top` to `bottom`, their numbers, and what they are numbers of.
    pub fn drawn(&self, what: &str, top: f64, bottom: f64) -> Markup {
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

    /// "No effect" is always named; of the others those that have room.
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

/// A ratio and the ends of its interval.
pub(super) fn with_ends(ratio: f64, ci: Option<Interval>) -> impl Iterator<Item = f64> {
    [Some(ratio), ci.map(|ci| ci.low), ci.map(|ci| ci.high)].into_iter().flatten()
}
