//! Lines of a history: every run is a point, every segment a mean with its interval, and changes are between segments.

use super::axis::{Axis, px, through};
use super::marks::{self, Frame, shortened};
use crate::figures::change;
use maud::{Markup, html};
use tare_findings::history::{MetricHistory, Segment};

const HEIGHT: f64 = 264.0;
const TOP: f64 = 54.0;
const BOTTOM: f64 = 219.0;
/// Width of the name of a run, in pixels.
const NAME: f64 = 150.0;
/// Maximum characters of a name, and width of a character in pixels.
const LETTERS: usize = 20;
const LETTER: f64 = 8.0;

pub(crate) fn draw(lines: &[MetricHistory], frame: &Frame) -> Markup {
    html! {
        svg class=(frame.class()) viewBox=(format!("0 0 {} {}", frame.width, px(HEIGHT * lines.len().max(1) as f64))) role="img" {
            title { "runs in the order of time, with the mean of each segment between two changes and its 95% interval" }
            desc { (lines.len()) " lines; a cross is far from the neighbouring runs and not part of any mean." }
            @for (place, line) in lines.iter().enumerate() {
                g transform=(format!("translate(0 {})", px(HEIGHT * place as f64))) { (one(line, frame)) }
            }
        }
    }
}

fn one(line: &MetricHistory, frame: &Frame) -> Markup {
    let (left, right) = (frame.left, frame.right);
    let values = Axis::new(line.points.iter().map(|point| point.value), line.unit, BOTTOM, TOP);
    let last = line.points.len().saturating_sub(1).max(1) as f64;
    let x = |place: f64| left + 12.0 + place / last * (right - left - 24.0);
    // A segment extends beyond its first and last run, up to the edge of the plot.
    let reach = |segment: &Segment| {
        [segment.runs.start as f64 - 0.4, segment.runs.end as f64 - 0.6].map(|place| x(place).clamp(left, right))
    };
    let band = |segment: &Segment| {
        let ci = segment.ci?;
        let [from, to] = reach(segment);
        let (top, bottom) = (values.at(ci.high), values.at(ci.low));
        Some((px(from), px(top), px(to - from), px((bottom - top).max(1.0))))
    };
    let mean = |segment: &Segment| {
        let [from, to] = reach(segment);
        format!("M{} {}H{}", px(from), px(values.at(segment.mean)), px(to))
    };
    let along = line.points.iter().enumerate().map(|(place, point)| (x(place as f64), values.at(point.value)));
    // Both ends have a name, and the two do not overlap.
    let letters = LETTERS.min(((right - left - 24.0) / 2.0 / LETTER) as usize);
    html! {
        text.name x=(px(left)) y="14" { (line.condition) }
        text.axis x=(px(left)) y="30" {
            (values.label(&line.name))
            @if line.points.iter().any(|point| point.outlier) { "; ×: in no mean" }
        }
        (values.vertical(left, right))
        @for (from, top, width, height) in line.segments.iter().filter_map(band) {
            rect.stall x=(from) y=(top) width=(width) height=(height) {}
        }
        path.pale d=(through(along)) fill="none" {}
        @for segment in &line.segments { path.curve.m0 d=(mean(segment)) {} }
        @for found in &line.changes {
            @let [from, at, to] = [found.place.earliest, found.place.first_after, found.place.latest].map(|run| x(run as f64 - 0.5));
            path.leader d=(format!("M{} {}V{}", px(at), px(TOP), px(BOTTOM))) {}
            @if !found.place.is_certain() { path.leader d=(format!("M{} {}H{}", px(from), px(TOP), px(to))) {} }
            text.tick x=(px(at)) y=(px(TOP - 4.0)) text-anchor="middle" { (change(found.ratio.value - 1.0)) }
        }
        @for (place, point) in line.points.iter().enumerate() {
            @let (at, high) = (x(place as f64), values.at(point.value));
            path class=(if point.outlier { "bad".into() } else { marks::class(0) }) d=(match point.outlier {
                true => marks::cross(at, high, 3.4),
                false => marks::path(0, at, high, 3.4),
            }) {
                title { (point.run) }
            }
        }
        @for place in named(line, right - left) {
            text.tick x=(px(x(place as f64))) y=(px(BOTTOM + 16.0)) text-anchor=(anchor(place, line)) {
                (shortened(&line.points[place].run, letters))
            }
        }
    }
}

/// Runs whose names are below the plot: both ends, and the first after each change if there is room.
fn named(line: &MetricHistory, width: f64) -> Vec<usize> {
    let last = line.points.len().saturating_sub(1);
    let apart = (NAME / width * last as f64).ceil() as usize;
    let mut places = vec![0];
    places.extend((last > 0).then_some(last));
    for at in line.changes.iter().map(|change| change.place.first_after) {
        if places.iter().all(|place| place.abs_diff(at) >= apart) {
            places.push(at);
        }
    }
    places.retain(|place| *place < line.points.len());
    places
}

fn anchor(place: usize, line: &MetricHistory) -> &'static str {
    match place {
        0 => "start",
        last if last + 1 == line.points.len() => "end",
        _ => "middle",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_findings::history::Point;
    use tare_results::metric::Better;
    use tare_results::unit::Unit;
    use tare_stats::Interval;

    #[test]
    fn segments_end_where_the_plot_ends() {
        let point = |run: usize| Point { run: format!("run-{run}"), time: None, value: 10.0, outlier: false };
        let ci = Some(Interval { low: 9.0, high: 11.0 });
        let line = MetricHistory {
            condition: "base".into(),
            name: "tps".into(),
            unit: Unit::PerS,
            better: Better::Higher,
            points: (0..7).map(point).collect(),
            segments: vec![Segment { mean: 10.0, ci, against_first: None, runs: 0..7 }],
            changes: Vec::new(),
            drift: None,
            not_tested: None,
        };
        for frame in [Frame::SLIM, Frame::WIDE] {
            let drawn = draw(std::slice::from_ref(&line), &frame).into_string();
            let (from, to) = (px(frame.left), px(frame.right));
            let mean = format!("d=\"M{from} ");
            assert!(drawn.contains(&mean) && drawn.contains(&format!("H{to}\"")), "{drawn}");
            assert!(drawn.contains(&format!("x=\"{from}\"")), "its interval too: {drawn}");
            let legend = "; ×: in no mean";
            assert!(!drawn.contains("bad") && !drawn.contains(legend), "{drawn}");
            let mut far = line.clone();
            far.points[3].outlier = true;
            let drawn = draw(&[far], &frame).into_string();
            assert!(drawn.matches("path class=\"bad\"").count() == 1 && drawn.contains(legend), "{drawn}");
        }
    }
}
