//! Values over time: of the trials by time of day, which makes drift and interference visible, and of the seconds of
//! samples.

use super::axis::{Axis, px, through};
use super::marks::{self, End, Frame, LETTER};
use maud::{Markup, html};
use tare_results::unit::Unit;

const STRIP_TOP: f64 = 22.0;
const STRIP_BOTTOM: f64 = 210.0;
/// Vertical position of the lane for trials without a usable value.
const LANE: f64 = STRIP_BOTTOM + 16.0;
const TIMES: f64 = STRIP_BOTTOM + 40.0;
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
    pub unit: Unit,
    pub points: &'a [Point],
    /// Whether [`Point::at`] is a time of day in UTC.
    pub clock: bool,
    /// Name and mark of each condition, which are placed at its last trial.
    pub names: &'a [(&'a str, usize)],
}

/// Draws the strip. Trials without a value are in a separate lane below; many trials in little space are drawn as dots.
pub(crate) fn draw_strip(strip: &Strip<'_>, frame: &Frame) -> Markup {
    let (points, clock) = (strip.points, strip.clock);
    let values = Axis::new(points.iter().filter_map(|point| point.value), strip.unit, STRIP_BOTTOM, STRIP_TOP);
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
    let bottom = STRIP_BOTTOM + 21.0;
    let small = frame.slim && points.len() > MARKS;
    html! {
        svg class=(frame.class()) viewBox=(format!("0 0 {} {}", frame.width, px(marks::height_with_names(ends.len(), frame, bottom)))) role="img" {
            title { (strip.label) " in the order in which trials ran" }
            desc { (points.len()) " trials from left to right." }
            (values.vertical(frame.left, frame.right))
            text.axis x="2" y="11" text-anchor="start" { (values.label(strip.label)) }
            @for tick in times(first, last, clock, ((frame.right - frame.left) / TIME) as usize) {
                @let label = time_label(tick, clock);
                text.tick x=(px(within(x(tick), &label, frame))) y=(px(TIMES)) text-anchor="middle" { (label) }
                line.grid x1=(px(x(tick))) x2=(px(x(tick))) y1=(px(STRIP_TOP)) y2=(px(STRIP_BOTTOM)) {}
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
            (marks::draw_names(&ends, frame, bottom))
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

const WIDE: Frame = Frame::WIDE;
const SECONDS_TOP: f64 = 18.0;
const SECONDS_BOTTOM: f64 = 178.0;
const SECONDS_HEIGHT: f64 = SECONDS_BOTTOM + 40.0;
/// A second with less than this share of its sample's median throughput is marked.
const SLOW_SECOND: f64 = 0.5;
/// A narrower standstill would be invisible.
const LEAST_WIDTH: f64 = 2.0;
/// Maximum readings of a sample that are drawn, about one per pixel.
const DRAWN: usize = 1_000;

pub(crate) struct SampleSeries {
    pub name: String,
    /// Transactions per second, one reading per second.
    pub tps: Vec<f64>,
    /// The longest standstill: start and length in seconds, and whether client or server caused it.
    pub stall: Option<(f64, f64, String)>,
}

impl SampleSeries {
    fn usual(&self) -> f64 {
        let mut sorted = self.tps.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
    }

    /// The readings that are drawn, each with its index: all of them, or the lowest and the highest of each group if
    /// more would be indistinguishable.
    fn drawn(&self) -> Vec<(usize, f64)> {
        let all: Vec<(usize, f64)> = self.tps.iter().copied().enumerate().collect();
        if all.len() <= DRAWN {
            return all;
        }
        let ends = |few: &[(usize, f64)]| {
            let by_tps = |a: &&(usize, f64), b: &&(usize, f64)| a.1.total_cmp(&b.1);
            let mut ends: Vec<_> =
                [few.iter().min_by(by_tps), few.iter().max_by(by_tps)].into_iter().flatten().collect();
            ends.sort_by_key(|(place, _)| *place);
            ends.into_iter().copied().collect::<Vec<_>>()
        };
        all.chunks(all.len().div_ceil(DRAWN / 2)).flat_map(ends).collect()
    }
}

/// Draws all samples of a condition with the mark of this number, over the seconds of their sample.
pub(crate) fn draw_seconds(condition: &str, lines: &[SampleSeries], mark: usize) -> Markup {
    let longest = lines.iter().map(|line| line.tps.len()).max().unwrap_or(0).max(1) as f64;
    let x = |second: f64| WIDE.left + (second / longest).clamp(0.0, 1.0) * (WIDE.right - WIDE.left);
    // From 0, because a gap is only visible relative to 0.
    let readings = lines.iter().flat_map(|line| line.tps.iter().copied());
    let y = Axis::new(readings.chain([0.0]), Unit::PerS, SECONDS_BOTTOM, SECONDS_TOP);
    let step = (longest / 10.0).ceil().max(1.0);
    let ticks = (0..=10u32).map(|tick| f64::from(tick) * step).take_while(|tick| *tick <= longest);
    html! {
        svg.chart viewBox=(format!("0 0 {} {SECONDS_HEIGHT}", WIDE.width)) role="img" {
            title { "Throughput second by second, " (condition) }
            desc { (lines.len()) " samples over each other; crosses are seconds below half of their sample's usual throughput, "
                "shaded areas are times in which no transaction completed." }
            (y.vertical(WIDE.left, WIDE.right))
            text.axis x=(px(WIDE.left)) y="11" text-anchor="start" { (y.label("tps")) }
            @for tick in ticks {
                text.tick x=(px(x(tick))) y=(px(SECONDS_BOTTOM + 16.0)) text-anchor="middle" { (tick) }
            }
            text.axis x=(px((WIDE.left + WIDE.right) / 2.0)) y=(px(SECONDS_BOTTOM + 33.0)) text-anchor="middle" { "seconds of the sample" }
            @for line in lines { (shade(line, &x)) (series(line, mark, &x, &y)) }
        }
    }
}

fn shade(line: &SampleSeries, x: &impl Fn(f64) -> f64) -> Markup {
    let Some((from_s, length_s, whose)) = &line.stall else { return html! {} };
    let (from, to) = (x(*from_s), x(from_s + length_s));
    html! {
        rect.stall x=(px(from)) y=(px(SECONDS_TOP)) width=(px((to - from).max(LEAST_WIDTH))) height=(px(SECONDS_BOTTOM - SECONDS_TOP)) {
            title { (line.name) ": " (whose) }
        }
    }
}

fn series(line: &SampleSeries, mark: usize, x: &impl Fn(f64) -> f64, y: &Axis) -> Markup {
    // A reading is of the second before it.
    let at = |place: usize| x(place as f64 + 0.5);
    let (drawn, least) = (line.drawn(), SLOW_SECOND * line.usual());
    let readings = drawn.iter().map(|(place, tps)| (at(*place), y.at(*tps)));
    let slow = drawn.iter().filter(|(_, tps)| *tps < least);
    html! {
        path class=(format!("curve second {}", marks::class(mark))) d=(through(readings)) { title { (line.name) } }
        @for (place, tps) in slow {
            path.bad d=(format!("M{} {}l7 7m0 -7l-7 7", px(at(*place) - 3.5), px(y.at(*tps) - 3.5))) {
                title { (line.name) ", second " (place + 1) ": " (y.scale.figure(*tps)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_the_last_trial_is_within_the_chart() {
        let at = |at: f64| Point { at, value: Some(1.0), mark: 0, disturbed: false, title: String::new() };
        let points = [at(0.0), at(45.0)];
        let strip = Strip { label: "throughput", unit: Unit::PerS, points: &points, clock: true, names: &[] };
        let page = draw_strip(&strip, &Frame::SLIM).into_string();
        let end = "text-anchor=\"middle\">00:00:45";
        let before = &page[..page.find(end).expect("a tick at the end of the plot")];
        let x = before.rsplit("x=\"").next().and_then(|rest| rest.split('"').next()).unwrap();
        assert!(x.parse::<f64>().unwrap() + 4.0 * LETTER <= Frame::SLIM.width, "{x}");
    }

    #[test]
    fn a_gap_is_marked_and_a_standstill_shaded_where_it_was() {
        let tps = vec![100.0, 101.0, 0.0, 99.0, 100.0, 100.0, 49.0, 100.0, 100.0, 100.0];
        let stall = Some((2.0, 1.0, "the client itself stalled".to_owned()));
        let lines = [
            SampleSeries { name: "trial 3".into(), tps, stall },
            SampleSeries { name: "trial 4".into(), tps: vec![51.0, 100.0, 100.0, 100.0, 100.0], stall: None },
        ];
        let drawn = draw_seconds("base", &lines, 0).into_string();
        assert_eq!(drawn.matches("class=\"bad\"").count(), 2, "{drawn}");
        assert!(drawn.contains("trial 3, second 3: 0") && drawn.contains("trial 3, second 7: 49"), "{drawn}");
        // A tenth of the width, starting at two tenths.
        assert_eq!(drawn.matches("class=\"stall\" x=\"245\"").count(), 1, "{drawn}");
        assert!(drawn.contains("width=\"87.5\"") && drawn.contains("trial 3: the client itself stalled"), "{drawn}");
        assert!(!draw_seconds("base", &[], 0).into_string().contains("NaN"));
    }

    /// A day: drawing each second is 24 lines of 86,400 points, and computing a median of all for each of them took
    /// hours.
    #[test]
    fn a_sample_of_a_day_is_drawn_at_once_with_its_gaps() {
        let mut tps = vec![100.0; 86_400];
        tps[50_000] = 0.0;
        let began = std::time::Instant::now();
        let drawn = draw_seconds("base", &[SampleSeries { name: "trial 3".into(), tps, stall: None }], 0).into_string();
        assert!(drawn.len() < 40_000 && began.elapsed().as_secs() < 5, "{} {:?}", drawn.len(), began.elapsed());
        assert!(drawn.contains("trial 3, second 50001: 0") && drawn.matches("class=\"bad\"").count() == 1, "{drawn}");
    }
}
