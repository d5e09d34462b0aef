//! Shared by charts of curves: the values that determine the axis, and the description.

use super::axis::{Axis, shown};
use tare_findings::curves::Curves;

pub(super) fn values(chart: &Curves) -> Vec<f64> {
    let points = || chart.lines.iter().flat_map(|line| &line.points);
    let predicted = || chart.lines.iter().filter_map(|line| line.law.as_ref()?.prediction);
    let ends = points().filter_map(|p| p.ci).chain(predicted().filter_map(|p| p.ci)).flat_map(|ci| [ci.low, ci.high]);
    let values = points().flat_map(|p| p.trials.iter().copied().chain([p.mean])).chain(predicted().map(|p| p.value));
    shown(values, ends)
}

pub(super) fn description(chart: &Curves, y: &Axis) -> String {
    let words = chart.lines.iter().take(20).filter_map(|line| {
        let (first, last) = (line.points.first()?, line.points.last()?);
        let name = if line.label.is_empty() { &chart.metric } else { &line.label };
        let (from, to) = (y.scale.figure(first.mean), y.scale.figure(last.mean));
        Some(format!("{name}: from {from} at {} to {to} at {}", first.n, last.n))
    });
    words.collect::<Vec<_>>().join("; ")
}
