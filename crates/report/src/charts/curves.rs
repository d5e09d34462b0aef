//! Curves over a numeric factor: every trial is a dot, intervals are whiskers, names are at the ends of the lines, the
//! fitted law is dotted. Lines differ by colour, by mark and by dashes.

use super::axis::{Axis, Rungs, px, through};
use super::marks::{self, End, Frame};
use super::small_multiples::{self, described, description, values};
use maud::{Markup, html};
use tare_findings::curves::{Curve, Curves, LEGIBLE_LINES, Point};
use tare_findings::scaling::{Prediction, Scaling};
use tare_stats::Interval;

const TOP: f64 = 22.0;
const BOTTOM: f64 = 322.0;
/// Number of straight segments of which the curve of a law consists.
const PIECES: usize = 40;

/// Draws one chart if its lines are legible, otherwise a small multiple for each line.
pub(crate) fn draw(chart: &Curves, frame: &Frame) -> Markup {
    if chart.lines.len() > LEGIBLE_LINES {
        return small_multiples::draw(chart, frame);
    }
    let x = Rungs::new(levels(chart), frame.left + 14.0, frame.right - 10.0);
    let predictions: Vec<Prediction> = chart.lines.iter().filter_map(|line| line.law.as_ref()?.prediction).collect();
    let y = Axis::spanning(values(chart, &predictions).into_iter(), chart.unit, BOTTOM, TOP);
    let ends = ends(chart, &x, &y);
    html! {
        svg class=(frame.class()) viewBox=(format!("0 0 {} {}", frame.width, px(marks::height_with_names(ends.len(), frame, BOTTOM)))) role="img" {
            title { (chart.metric) " over " (chart.over) }
            desc { (description(chart)) }
            (x.grid(TOP, BOTTOM))
            (y.vertical(frame.left, frame.right))
            text.axis x="2" y="11" text-anchor="start" { (y.label(&chart.metric)) }
            text.axis x=(px((frame.left + frame.right) / 2.0)) y=(px(BOTTOM + 34.0)) text-anchor="middle" { (chart.over) }
            @for (index, line) in chart.lines.iter().enumerate() {
                @if let Some(law) = &line.law { (fitted(law, line, index, &x, &y)) }
                (curve(line, index, &x, &y))
            }
            (marks::draw_names(&ends, frame, BOTTOM))
        }
    }
}

/// The levels that determine the x axis, including predictions.
fn levels(chart: &Curves) -> impl Iterator<Item = f64> {
    chart.lines.iter().flat_map(|line| {
        line.points.iter().map(|point| point.n).chain(line.law.iter().filter_map(|law| Some(law.prediction?.n)))
    })
}

fn curve(line: &Curve, index: usize, x: &Rungs, y: &Axis) -> Markup {
    let class = marks::class(index);
    let dots = |described: bool| {
        let points = line.points.iter().filter(move |p| p.described == described);
        points.flat_map(|p| p.clean().map(|v| (x.at(p.n), y.at(v))))
    };
    html! {
        path class=(format!("curve dash{} {class}", index % 4)) d=(described(line, x, y)) {}
        path class=(format!("samples {class}")) d=(marks::dots(dots(true))) {}
        path class=(format!("dots small {class}")) d=(marks::dots(dots(false))) {}
        @for point in &line.points {
            @if let Some(ci) = point.ci { path class=(format!("whisker {class}")) d=(whisker(x.at(point.n), ci, y)) {} }
            @for value in &point.disturbed {
                path class=(format!("disturbed {class}")) d=(marks::path(0, x.at(point.n), y.at(*value), 2.6)) {}
            }
            @if point.described {
                path class=(class) d=(marks::path(index, x.at(point.n), y.at(point.mean), 4.6)) { title { (tooltip(line, point, y)) } }
            }
        }
    }
}

fn tooltip(line: &Curve, point: &Point, y: &Axis) -> String {
    let ci = point.ci.map_or("a single trial".to_owned(), |Interval { low, high }| {
        format!("95% interval {} to {}", y.scale.figure(low), y.scale.figure(high))
    });
    format!("{} at {}: {} ({ci})", line.label, point.n, y.scale.figure(point.mean))
}

/// An interval; an end beyond the axis has no bar.
fn whisker(x: f64, Interval { low, high }: Interval, y: &Axis) -> String {
    let bars = [low, high].into_iter().filter(|end| y.holds(*end));
    let bars: String = bars.map(|end| format!("M{} {}h6", px(x - 3.0), px(y.at(end)))).collect();
    format!("M{} {}V{}{bars}", px(x), px(y.at(low)), px(y.at(high)))
}

/// The law as a dotted line over the measured range and beyond it to the prediction, which is a bar.
fn fitted(law: &Scaling, line: &Curve, index: usize, x: &Rungs, y: &Axis) -> Markup {
    let (Some(first), Some(last)) = (line.points.first(), line.points.last()) else { return html! {} };
    let end = law.prediction.map_or(last.n, |prediction| prediction.n);
    let places = x.between(first.n, end, PIECES).into_iter().map(|n| (x.at(n), y.at(law.at(n))));
    let class = marks::class(index);
    html! {
        path class=(format!("law {class}")) d=(through(places)) { title { "fitted law of " (line.label) } }
        @if let Some(p) = law.prediction {
            @if let Some(Interval { low, high }) = p.ci {
                path class=(format!("law {class}")) d=(whisker(x.at(p.n), Interval { low, high }, y)) {}
            }
            path class=(format!("whisker {class}")) d=(format!("M{} {}h10", px(x.at(p.n) - 5.0), px(y.at(p.value)))) {
                title { "prediction for " (p.n) ": " (y.scale.figure(p.value)) ", not measured" }
            }
        }
    }
}

fn ends<'c>(chart: &'c Curves, x: &Rungs, y: &Axis) -> Vec<End<'c>> {
    let lines = chart.lines.iter().enumerate();
    let end = |(mark, line): (usize, &'c Curve)| {
        let last = line.points.last()?;
        let label = if line.label.is_empty() { &chart.metric } else { &line.label };
        let value = if last.described { last.mean } else { last.range().high };
        Some(End { label, mark, at: (x.at(last.n), y.at(value)) })
    };
    lines.filter_map(end).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use tare_results::metric::Better;
    use tare_results::unit::Unit;

    /// `lines` curves that all end within a few pixels of each other.
    fn chart(lines: usize) -> Curves {
        let curve = |i: usize| Curve {
            label: format!("strategy-{i}"),
            points: [1.0, 2.0, 4.0, 8.0]
                .map(|n| {
                    let mean = 1000.0 * n + i as f64;
                    Point {
                        n,
                        mean,
                        ci: Some(Interval { low: mean * 0.95, high: mean * 1.05 }),
                        trials: vec![mean, mean * 1.02],
                        disturbed: vec![mean * 1.02],
                        described: true,
                    }
                })
                .into(),
            law: None,
        };
        Curves {
            metric: "tps".into(),
            unit: Unit::PerS,
            better: Better::Higher,
            over: "threads".into(),
            at: Default::default(),
            lines: (0..lines).map(curve).collect(),
        }
    }

    fn law(prediction: Prediction) -> Scaling {
        Scaling {
            metric: "tps".into(),
            over: "threads".into(),
            levels: Default::default(),
            lambda: 1000.0,
            sigma: 0.1,
            kappa: 0.0,
            peak: None,
            lambda_ci: None,
            sigma_ci: None,
            kappa_ci: None,
            retrograde: false,
            steps: Vec::new(),
            prediction: Some(prediction),
        }
    }

    #[test]
    fn few_lines_share_a_chart_and_many_become_small_multiples() {
        let few = draw(&chart(LEGIBLE_LINES), &Frame::WIDE).into_string();
        assert_eq!(few.matches("class=\"curve").count(), LEGIBLE_LINES);
        assert_eq!(few.matches("class=\"disturbed").count(), 4 * LEGIBLE_LINES, "a trial that was disturbed is hollow");
        let many = draw(&chart(14), &Frame::WIDE).into_string();
        assert_eq!(many.matches("class=\"panel").count(), 14);
        assert_eq!(many.matches("class=\"disturbed").count(), 4 * 14);
        for i in 0..14 {
            assert!(many.contains(&format!("strategy-{i}<")), "{i}");
        }
    }

    #[test]
    fn a_mean_that_describes_no_trial_is_on_no_line_and_in_no_figure() {
        for lines in [1, 14] {
            let mut chart = chart(lines);
            let whole = draw(&chart, &Frame::WIDE).into_string();
            let last = &mut chart.lines[0].points[3];
            (last.trials, last.disturbed, last.mean) = (vec![1500.0, 6000.0], Vec::new(), 3750.0);
            (last.ci, last.described) = (None, false);
            let drawn = draw(&chart, &Frame::WIDE).into_string();
            let steps = |page: &str| -> usize {
                let paths = page.split("class=\"curve").skip(1).map(|rest| rest.split('>').next().unwrap_or_default());
                paths.map(|path| path.matches('L').count()).sum()
            };
            assert_eq!((steps(&whole), steps(&drawn)), (3 * lines, 3 * lines - 1), "{drawn}");
            assert!(!drawn.contains("3.75 k/s") && drawn.contains("1.50 to 6.00 k/s at 8"), "{drawn}");
            assert_eq!(drawn.contains(">1.500 to 6.000 k/s<"), lines > 6, "{drawn}");
        }
    }

    #[test]
    fn small_multiples_have_distinct_figures_and_no_room_for_a_prediction_that_they_do_not_show() {
        let mut chart = chart(14);
        for (place, line) in chart.lines.iter_mut().enumerate() {
            line.law = Some(law(Prediction { n: 16.0, value: 64_000.0, ci: None }));
            line.points[3].mean = 7000.0 + 10.0 * place as f64;
        }
        let drawn = draw(&chart, &Frame::WIDE).into_string();
        for place in 0..14 {
            assert!(drawn.contains(&format!(">{:.2} k/s<", 7.0 + 0.01 * f64::from(place))), "{place}: {drawn}");
        }
        assert!(!drawn.contains(">20<"), "{drawn}");
    }
}
