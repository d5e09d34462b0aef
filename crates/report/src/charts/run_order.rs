//! The run-order strip: value against time of day, so that drift and interference are seen at once.

use super::axis::{Axis, px};
use super::marks;
use maud::{Markup, html};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 264.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 945.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 200.0;
/// Height of the lane in which trials without a usable value stand.
const LANE: f64 = BOTTOM + 16.0;

/// One attempt at a trial.
pub struct Point {
    /// Seconds since the epoch, or the position in the file where no time was recorded.
    pub at: f64,
    /// Its value; none for a trial that was not analysed.
    pub value: Option<f64>,
    /// Mark of its condition.
    pub mark: usize,
    /// Whether it counts although it was disturbed: then it is hollow.
    pub disturbed: bool,
    /// What is shown when the mark is pointed at.
    pub title: String,
}

/// Draws the strip; `clock` says that [`Point::at`] is a time of day in UTC.
pub fn draw(metric: &str, unit: &str, points: &[Point], clock: bool) -> Markup {
    let values = Axis::new(points.iter().filter_map(|point| point.value), unit, BOTTOM, TOP);
    let (first, last) = points
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), point| (low.min(point.at), high.max(point.at)));
    let span = (last - first).max(1.0);
    let x = |at: f64| LEFT + 10.0 + (at - first) / span * (RIGHT - LEFT - 20.0);
    let odd = points.iter().any(|point| point.value.is_none());
    html! {
        svg.chart viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" {
            title { (metric) " in the order in which trials ran" }
            desc { (points.len()) " trials from left to right; shape and colour say the condition, listed below." }
            (values.vertical(LEFT, RIGHT))
            text.axis x=(px(LEFT)) y="11" text-anchor="start" { (values.label(metric)) }
            @for tick in times(first, last, clock) {
                text.tick x=(px(x(tick))) y=(px(BOTTOM + 40.0)) text-anchor="middle" { (time_label(tick, clock)) }
                line.grid x1=(px(x(tick))) x2=(px(x(tick))) y1=(px(TOP)) y2=(px(BOTTOM)) {}
            }
            text.axis x=(px((LEFT + RIGHT) / 2.0)) y=(px(BOTTOM + 57.0)) text-anchor="middle" {
                (if clock { "time of day, UTC" } else { "order in the file (no times were recorded)" })
            }
            @if odd { text.tick x=(px(LEFT - 6.0)) y=(px(LANE + 4.0)) text-anchor="end" { "not used" } }
            @for point in points {
                @match point.value {
                    Some(value) => path class={ (marks::class(point.mark)) @if point.disturbed { " disturbed" } } d=(marks::path(point.mark, x(point.at), values.at(value), 3.8)) {
                        title { (point.title) }
                    },
                    None => path.bad d=(format!("M{} {}l7 7m0 -7l-7 7", px(x(point.at) - 3.5), px(LANE - 3.5))) {
                        title { (point.title) }
                    },
                }
            }
        }
    }
}

/// Round times between first and last, about six of them.
fn times(first: f64, last: f64, clock: bool) -> Vec<f64> {
    if !clock {
        return vec![first, last];
    }
    const STEPS_S: [f64; 12] =
        [5.0, 15.0, 30.0, 60.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 21_600.0, 43_200.0, 86_400.0];
    let step = STEPS_S.into_iter().find(|step| (last - first) / step <= 8.0).unwrap_or((last - first) / 6.0);
    let start = (first / step).ceil();
    let ticks: Vec<f64> = (0..10).map(|i| (start + f64::from(i)) * step).take_while(|tick| *tick <= last).collect();
    if ticks.is_empty() { vec![first] } else { ticks }
}

fn time_label(at: f64, clock: bool) -> String {
    if !clock {
        return format!("{at:.0}");
    }
    let seconds = at as i64;
    let (h, m, s) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    if s == 0 { format!("{h:02}:{m:02}") } else { format!("{h:02}:{m:02}:{s:02}") }
}
