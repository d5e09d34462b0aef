//! The run-order strip: values by time of day, which makes drift and interference visible.

use super::axis::{Axis, px};
use super::end_names::{self, End};
use super::frame::{Frame, LETTER};
use super::marks;
use maud::{Markup, html};

const TOP: f64 = 22.0;
const BOTTOM: f64 = 210.0;
/// Vertical position of the lane for trials without a usable value.
const LANE: f64 = BOTTOM + 16.0;
const TIMES: f64 = BOTTOM + 40.0;
/// Width of the label of a time, in pixels.
const TIME: f64 = 60.0;

/// From this many trials on, a small screen shows dots, which take a tenth of the bytes of marks.
const MARKS: usize = 100;

pub(crate) struct Point {
    /// Seconds since the epoch, or the position in the file if no time was recorded.
    pub at: f64,
    /// Its value; `None` for a trial that was not analysed.
    pub value: Option<f64>,
    pub mark: usize,
    /// Whether the trial counts although it was disturbed: then the mark is hollow.
    pub disturbed: bool,
    pub title: String,
}

pub(crate) struct Strip<'a> {
    pub label: &'a str,
    pub unit: &'a str,
    pub points: &'a [Point],
    /// Whether [`Point::at`] is a time of day in UTC.
    pub clock: bool,
    /// Name and mark of each condition, which are placed at its last trial.
    pub names: &'a [(&'a str, usize)],
}

/// Draws the strip. Trials without a value are in a separate lane below; many trials in little space are drawn as dots.
pub(crate) fn draw(strip: &Strip<'_>, frame: &Frame) -> Markup {
    let (points, clock) = (strip.points, strip.clock);
    let values = Axis::new(points.iter().filter_map(|point| point.value), strip.unit, BOTTOM, TOP);
    let (first, last) = points
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), point| (low.min(point.at), high.max(point.at)));
    let span = (last - first).max(1.0);
    let x = |at: f64| frame.left + 10.0 + (at - first) / span * (frame.right - frame.left - 20.0);
    let not_used = points.iter().any(|point| point.value.is_none());
    let end = |&(label, mark)| {
        let last = points.iter().rev().find(|point| point.mark == mark && point.value.is_some())?;
        Some(End { label, mark, at: (x(last.at), values.at(last.value?)) })
    };
    let ends: Vec<End<'_>> = strip.names.iter().filter_map(end).collect();
    let bottom = BOTTOM + 21.0;
    let small = frame.slim && points.len() > MARKS;
    html! {
        svg class=(frame.class()) viewBox=(format!("0 0 {} {}", frame.width, px(end_names::height(ends.len(), frame, bottom)))) role="img" {
            title { (strip.label) " in the order in which trials ran" }
            desc { (points.len()) " trials from left to right." }
            (values.vertical(frame.left, frame.right))
            text.axis x="2" y="11" text-anchor="start" { (values.label(strip.label)) }
            @for tick in times(first, last, clock, ((frame.right - frame.left) / TIME) as usize) {
                @let label = time_label(tick, clock);
                text.tick x=(px(within(x(tick), &label, frame))) y=(px(TIMES)) text-anchor="middle" { (label) }
                line.grid x1=(px(x(tick))) x2=(px(x(tick))) y1=(px(TOP)) y2=(px(BOTTOM)) {}
            }
            text.axis x=(px((frame.left + frame.right) / 2.0)) y=(px(TIMES + 17.0)) text-anchor="middle" {
                (if clock { "time of day, UTC" } else { "order in the file (no times were recorded)" })
            }
            @if not_used { text.tick x="2" y=(px(LANE + 4.0)) { "not used" } }
            @if small {
                @for mark in 0..marks::MEANT {
                    @let clean = points.iter().filter(|point| point.mark == mark && !point.disturbed);
                    @let dots = clean.filter_map(|point| Some((x(point.at), values.at(point.value?))));
                    path class=(format!("dots small {}", marks::class(mark))) d=(marks::dots(dots)) {}
                }
            }
            @for point in points.iter().filter(|point| !small || point.disturbed || point.value.is_none()) {
                @match point.value {
                    Some(value) => path class={ (marks::class(point.mark)) @if point.disturbed { " disturbed" } } d=(marks::path(point.mark, x(point.at), values.at(value), 3.8)) {
                        @if !frame.slim { title { (point.title) } }
                    },
                    None => path.bad d=(marks::cross(x(point.at), LANE, 3.5)) {
                        @if !frame.slim { title { (point.title) } }
                    },
                }
            }
            (end_names::draw(&ends, frame, bottom))
        }
    }
}

/// Round times between first and last, about six and at most `most`.
fn times(first: f64, last: f64, clock: bool, most: usize) -> Vec<f64> {
    if !clock {
        return vec![first, last];
    }
    const STEPS_S: [f64; 12] =
        [5.0, 15.0, 30.0, 60.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 21_600.0, 43_200.0, 86_400.0];
    let most = most.clamp(2, 8) as f64;
    let step = STEPS_S.into_iter().find(|step| (last - first) / step <= most).unwrap_or((last - first) / most);
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

/// The middle of a label at `x`, moved as far as it would exceed the chart: the last time may be at the plot's end.
fn within(x: f64, label: &str, frame: &Frame) -> f64 {
    x.min(frame.width - LETTER * label.chars().count() as f64 / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_the_last_trial_is_within_the_chart() {
        let at = |at: f64| Point { at, value: Some(1.0), mark: 0, disturbed: false, title: String::new() };
        let points = [at(0.0), at(45.0)];
        let strip = Strip { label: "throughput", unit: "1/s", points: &points, clock: true, names: &[] };
        let page = draw(&strip, &Frame::SLIM).into_string();
        let end = "text-anchor=\"middle\">00:00:45";
        let before = &page[..page.find(end).expect("a tick at the end of the plot")];
        let x = before.rsplit("x=\"").next().and_then(|rest| rest.split('"').next()).unwrap();
        assert!(x.parse::<f64>().unwrap() + 4.0 * LETTER <= Frame::SLIM.width, "{x}");
    }
}
