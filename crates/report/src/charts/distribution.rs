//! Latency by percentile: one line per condition, on an axis with equal distances between 90, 99 and 99.9%.

use super::axis::{Axis, px, through};
use super::marks::{self, End, Frame};
use maud::{Markup, html};
use tare_findings::latencies::{Distribution, Percentile};
use tare_results::unit::Unit;

const TOP: f64 = 22.0;
const BOTTOM: f64 = 282.0;
pub(crate) const LINES: usize = marks::MEANT;
/// Percentiles with a number below the axis and a mark on each line.
const TICKS: [f64; 6] = [50.0, 90.0, 99.0, 99.9, 99.99, 99.999];

/// Width of a number below the axis, in pixels.
const TICK: f64 = 54.0;

pub(crate) struct DistributionLine<'a> {
    pub name: &'a str,
    pub mark: usize,
    pub distribution: &'a Distribution,
}

/// Draws at most [`LINES`] conditions.
pub(crate) fn draw(of: &str, lines: &[DistributionLine<'_>], frame: &Frame) -> Markup {
    let most = lines.iter().map(|line| line.distribution.count).max().unwrap_or(1).max(10);
    let furthest = (most as f64).log10();
    let x = |nines: f64| frame.left + (nines / furthest).clamp(0.0, 1.0) * (frame.right - frame.left);
    let values = lines.iter().flat_map(|line| line.distribution.percentiles.iter().map(|point| point.ms));
    let y = Axis::spanning(values, Unit::Ms, BOTTOM, TOP);
    let ends = ends(lines, &x, &y);
    let mut shown = f64::NEG_INFINITY;
    let ticks =
        TICKS.map(|tick| (tick, x(nines(tick)), nines(tick) <= furthest)).into_iter().filter(|(.., fits)| *fits);
    html! {
        svg class=(frame.class()) viewBox=(format!("0 0 {} {}", frame.width, px(marks::height_with_names(ends.len(), frame, BOTTOM)))) role="img" {
            title { "Latency of " (of) " by percentile" }
            desc { (description(lines, &y)) }
            (y.vertical(frame.left, frame.right))
            text.axis x="2" y="11" text-anchor="start" { (y.label("latency")) }
            @for (tick, at, _) in ticks {
                @let place = px(at);
                line.grid x1=(place) x2=(place) y1=(px(TOP)) y2=(px(BOTTOM)) {}
                @if at - shown >= TICK {
                    text.tick x=(place) y=(px(BOTTOM + 14.0)) text-anchor="middle" { ({ shown = at; tick }) "%" }
                }
            }
            text.axis x=(px((frame.left + frame.right) / 2.0)) y=(px(BOTTOM + 34.0)) text-anchor="middle" { "of " (of) " took no longer" }
            @for (index, line) in lines.iter().enumerate() { (curve(line, index, &x, &y)) }
            (marks::draw_names(&ends, frame, BOTTOM))
        }
    }
}

/// Position of a percentile below 100: 1 for 90, 2 for 99.
fn nines(percentile: f64) -> f64 {
    -(1.0 - percentile / 100.0).log10()
}

/// Position of a percentile of `count` transactions; the longest is at the percentile that only one of them exceeds.
fn place(percentile: f64, count: u64) -> f64 {
    let longest = (count.max(1) as f64).log10();
    if percentile >= 100.0 { longest } else { nines(percentile).min(longest) }
}

fn curve(line: &DistributionLine<'_>, index: usize, x: &impl Fn(f64) -> f64, y: &Axis) -> Markup {
    let (class, count) = (marks::class(line.mark), line.distribution.count);
    let at = |point: &Percentile| (x(place(point.percentile, count)), y.at(point.ms));
    let marked =
        line.distribution.percentiles.iter().filter(|p| TICKS.contains(&p.percentile) || p.percentile >= 100.0);
    html! {
        path class=(format!("curve dash{} {class}", index % 4)) d=(through(line.distribution.percentiles.iter().map(at))) {}
        @for point in marked {
            @let (x, y_of) = at(point);
            path class=(class) d=(marks::path(line.mark, x, y_of, 4.0)) { title { (tooltip(line, point, y)) } }
        }
    }
}

fn tooltip(line: &DistributionLine<'_>, point: &Percentile, y: &Axis) -> String {
    match point.percentile {
        all if all >= 100.0 => format!("{}: the longest of all took {}", line.name, y.scale.figure(point.ms)),
        part => format!("{}: {part}% took no longer than {}", line.name, y.scale.figure(point.ms)),
    }
}

fn description(lines: &[DistributionLine<'_>], y: &Axis) -> String {
    let words = lines.iter().map(|line| {
        let known = [50.0, 99.0, 99.9].into_iter().filter_map(|p| Some((p, line.distribution.at(p)?)));
        let figures: Vec<String> = known.map(|(p, ms)| format!("p{p} {}", y.scale.figure(ms))).collect();
        format!("{}: {}", line.name, figures.join(", "))
    });
    words.collect::<Vec<_>>().join("; ")
}

fn ends<'l>(lines: &[DistributionLine<'l>], x: &impl Fn(f64) -> f64, y: &Axis) -> Vec<End<'l>> {
    let end = |line: &DistributionLine<'l>| {
        let last = line.distribution.percentiles.last()?;
        let at = (x(place(last.percentile, line.distribution.count)), y.at(last.ms));
        Some(End { label: line.name, mark: line.mark, at })
    };
    lines.iter().filter_map(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distribution(count: u64, factor: f64) -> Distribution {
        let points = [50.0, 90.0, 99.0, 99.9, 100.0];
        let ms = |percentile: f64| factor * (1.0 + place(percentile, count));
        let percentiles = points.map(|percentile| Percentile { percentile, ms: ms(percentile) }).into();
        Distribution { of: "transactions".into(), count, trials: 3, percentiles }
    }

    #[test]
    fn nines_are_equally_far_apart_and_the_longest_ends_the_line() {
        let found = [90.0, 99.0, 99.9, 100.0].map(|percentile| place(percentile, 1_000_000));
        assert!(found.iter().zip([1.0, 2.0, 3.0, 6.0]).all(|(found, expected)| (found - expected).abs() < 1e-9));
        let long = distribution(1_000_000, 1.0);
        let drawn = draw("transactions", &[DistributionLine { name: "a", mark: 0, distribution: &long }], &Frame::WIDE)
            .into_string();
        assert!(
            drawn.contains("a: 99.9% took no longer than") && drawn.contains("a: the longest of all took"),
            "{drawn}"
        );
        assert!(drawn.contains(&format!("M{} ", px(70.0 + 875.0 * 0.5f64.log10().abs() / 6.0))), "{drawn}");
        let few = distribution(2005, 1.0);
        let drawn = draw("transactions", &[DistributionLine { name: "a", mark: 0, distribution: &few }], &Frame::WIDE)
            .into_string();
        assert!(
            drawn.contains(">99.9%<") && !drawn.contains(">99.99%<"),
            "numbers on the axis as far as it goes: {drawn}"
        );
        assert!(!draw("transactions", &[], &Frame::WIDE).into_string().contains("NaN"));
    }
}
