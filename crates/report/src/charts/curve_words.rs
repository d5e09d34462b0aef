//! What charts of curves share: the values that need a place, and the chart in words.

use super::axis::Axis;
use tare_findings::curves::Curves;

/// Everything that needs a place on the y axis.
pub(super) fn values(chart: &Curves) -> impl Iterator<Item = f64> {
    chart.lines.iter().flat_map(|line| {
        let predicted = line.law.iter().filter_map(|law| Some(law.prediction?.value));
        line.points
            .iter()
            .flat_map(|p| {
                p.trials.iter().copied().chain([p.mean]).chain(p.ci.into_iter().flat_map(|ci| [ci.low, ci.high]))
            })
            .chain(predicted)
    })
}

/// The chart in words.
pub(super) fn description(chart: &Curves, y: &Axis) -> String {
    let words = chart.lines.iter().take(20).filter_map(|line| {
        let (first, last) = (line.points.first()?, line.points.last()?);
        let name = if line.label.is_empty() { &chart.metric } else { &line.label };
        let (from, to) = (y.scale.figure(first.mean), y.scale.figure(last.mean));
        Some(format!("{name}: from {from} at {} to {to} at {}", first.n, last.n))
    });
    words.collect::<Vec<_>>().join("; ")
}
