//! Curves over a numeric factor: every trial a dot, intervals as whiskers, names at the ends of the lines, the fitted
//! law dotted. Lines differ by colour, by mark and by dashes.

use super::axis::{Axis, px};
use super::curve_words::{description, values};
use super::rungs::Rungs;
use super::{end_names, marks, small_multiples};
use maud::{Markup, html};
use tare_findings::curves::{Curve, Curves, LEGIBLE_LINES, Point};
use tare_findings::summary::Scaling;
use tare_stats::Interval;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 700.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 322.0;
const HEIGHT: f64 = BOTTOM + 42.0;
/// Straight pieces of which the curve of a law is drawn.
const PIECES: usize = 40;

/// Draws one chart: a single one while its lines are legible, else a small multiple for each line.
pub fn draw(chart: &Curves) -> Markup {
    if chart.lines.len() > LEGIBLE_LINES {
        return small_multiples::draw(chart);
    }
    let x = Rungs::new(levels(chart), LEFT + 14.0, RIGHT - 10.0);
    let y = Axis::spanning(values(chart), chart.unit, BOTTOM, TOP);
    let names = names(chart, &y);
    html! {
        svg.chart viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" {
            title { (chart.metric) " over " (chart.over) }
            desc { (description(chart, &y)) }
            (x.grid(TOP, BOTTOM))
            (y.vertical(LEFT, RIGHT))
            text.axis x=(px(LEFT)) y="11" text-anchor="start" { (y.label(&chart.metric)) }
            text.axis x=(px((LEFT + RIGHT) / 2.0)) y=(px(BOTTOM + 34.0)) text-anchor="middle" { (chart.over) }
            @for (index, line) in chart.lines.iter().enumerate() {
                @if let Some(law) = &line.law { (fitted(law, line, index, &x, &y)) }
                (curve(line, index, &x, &y))
            }
            @for (line, name_y) in &names { (name(chart, *line, *name_y, &x, &y)) }
        }
    }
}

/// Everything that needs a place on the x axis; predictions too.
fn levels(chart: &Curves) -> impl Iterator<Item = f64> {
    chart.lines.iter().flat_map(|line| {
        line.points.iter().map(|point| point.n).chain(line.law.iter().filter_map(|law| Some(law.prediction?.n)))
    })
}

fn curve(line: &Curve, index: usize, x: &Rungs, y: &Axis) -> Markup {
    let class = marks::class(index);
    let places: Vec<String> = line.points.iter().map(|p| format!("{} {}", px(x.at(p.n)), px(y.at(p.mean)))).collect();
    let dots = line.points.iter().flat_map(|p| p.trials.iter().map(|v| (x.at(p.n), y.at(*v))));
    html! {
        path class=(format!("curve dash{} {class}", index % 4)) d={ "M" (places.join("L")) } {}
        path class=(format!("samples {class}")) d=(marks::dots(dots)) {}
        @for point in &line.points {
            @if let Some(ci) = point.ci { path class=(format!("whisker {class}")) d=(whisker(x.at(point.n), ci, y)) {} }
            path class=(if point.bimodal { format!("hollow {class}") } else { class.clone() })
                d=(marks::path(index, x.at(point.n), y.at(point.mean), 4.6)) { title { (tooltip(line, point, y)) } }
        }
    }
}

fn tooltip(line: &Curve, point: &Point, y: &Axis) -> String {
    let ci = point.ci.map_or("a single trial".to_owned(), |Interval { low, high }| {
        format!("95% interval {} to {}", y.scale.figure(low), y.scale.figure(high))
    });
    let modes = if point.bimodal { "; two modes, the mean describes no trial" } else { "" };
    format!("{} at {}: {} ({ci}){modes}", line.label, point.n, y.scale.figure(point.mean))
}

fn whisker(x: f64, Interval { low, high }: Interval, y: &Axis) -> String {
    let (bottom, top) = (y.at(low), y.at(high));
    format!(
        "M{} {}V{}M{} {b}h6M{} {t}h6",
        px(x),
        px(bottom),
        px(top),
        px(x - 3.0),
        px(x - 3.0),
        b = px(bottom),
        t = px(top)
    )
}

/// The law over the measured range dotted, beyond it to the prediction, which is hollow.
fn fitted(law: &Scaling, line: &Curve, index: usize, x: &Rungs, y: &Axis) -> Markup {
    let (Some(first), Some(last)) = (line.points.first(), line.points.last()) else { return html! {} };
    let end = law.prediction.map_or(last.n, |prediction| prediction.n);
    let places: Vec<String> = x
        .between(first.n, end, PIECES)
        .into_iter()
        .map(|n| format!("{} {}", px(x.at(n)), px(y.at(law.at(n)))))
        .collect();
    let class = marks::class(index);
    html! {
        path class=(format!("law {class}")) d={ "M" (places.join("L")) } { title { "fitted law of " (line.label) } }
        @if let Some(p) = law.prediction {
            @if let Some(Interval { low, high }) = p.ci {
                path class=(format!("law {class}")) d=(whisker(x.at(p.n), Interval { low, high }, y)) {}
            }
            path class=(format!("hollow {class}")) d=(marks::path(index, x.at(p.n), y.at(p.value), 4.6)) {
                title { "prediction for " (p.n) ": " (y.scale.figure(p.value)) ", not measured" }
            }
        }
    }
}

fn names(chart: &Curves, y: &Axis) -> Vec<(usize, f64)> {
    let ends = chart.lines.iter().enumerate();
    end_names::placed(ends.filter_map(|(index, line)| Some((index, y.at(line.points.last()?.mean)))), BOTTOM)
}

fn name(chart: &Curves, index: usize, name_y: f64, x: &Rungs, y: &Axis) -> Markup {
    let line = &chart.lines[index];
    let Some(last) = line.points.last() else { return html! {} };
    let label = if line.label.is_empty() { &chart.metric } else { &line.label };
    end_names::draw(label, index, (x.at(last.n), y.at(last.mean)), name_y, RIGHT)
}

#[cfg(test)]
pub(super) mod tests {
    use super::end_names::NAME;
    use super::*;
    use tare_results::metric::Better;

    /// `lines` curves that all end within a few pixels of each other.
    pub fn chart(lines: usize) -> Curves {
        let curve = |i: usize| Curve {
            label: format!("strategy-{i}"),
            points: [1.0, 2.0, 4.0, 8.0]
                .map(|n| {
                    let mean = 1000.0 * n + i as f64;
                    Point {
                        n,
                        mean,
                        ci: Some(Interval { low: mean * 0.95, high: mean * 1.05 }),
                        trials: vec![mean],
                        bimodal: false,
                    }
                })
                .into(),
            law: None,
        };
        Curves {
            metric: "tps".into(),
            unit: "1/s",
            better: Better::Higher,
            over: "threads".into(),
            at: Default::default(),
            lines: (0..lines).map(curve).collect(),
        }
    }

    #[test]
    fn names_never_touch_and_stay_inside() {
        for lines in 1..=LEGIBLE_LINES {
            for height in [TOP, 170.0, BOTTOM] {
                let mut chart = chart(lines);
                // All lines end at the same height.
                let value = Axis::spanning(values(&chart), "1/s", BOTTOM, TOP);
                let end = if height == TOP {
                    8000.0
                } else if height == BOTTOM {
                    0.0
                } else {
                    4000.0
                };
                chart.lines.iter_mut().for_each(|line| line.points.last_mut().unwrap().mean = end);
                let names = names(&chart, &value);
                assert_eq!(names.len(), lines);
                assert!(names.windows(2).all(|pair| pair[1].1 - pair[0].1 >= NAME - 0.01), "{names:?}");
                assert!(names.iter().all(|(_, y)| (TOP - 10.0..=BOTTOM + 4.1).contains(y)), "{names:?}");
            }
        }
    }

    #[test]
    fn few_lines_share_a_chart_and_many_become_small_multiples() {
        let few = draw(&chart(LEGIBLE_LINES)).into_string();
        assert_eq!(few.matches("class=\"curve").count(), LEGIBLE_LINES);
        let many = draw(&chart(14)).into_string();
        assert_eq!(many.matches("class=\"panel").count(), 14);
        for i in 0..14 {
            assert!(many.contains(&format!("strategy-{i}<")), "{i}");
        }
    }
}
