//! The gate over the lines of a history.

use super::model::{Gate, MetricHistory, Segment, Since, Slower};
use std::iter::once;
use tare_results::metric::Better;

/// `lacks`: the conditions without a value in the last run; none if it has no value in any line.
pub(super) fn gate(lines: &[MetricHistory], lacks: Option<Vec<String>>, margin: f64) -> Gate {
    let slower: Vec<Slower> = (0..lines.len()).filter_map(|line| slower(line, &lines[line], margin)).collect();
    match lacks {
        _ if !slower.is_empty() => Gate::Slower(slower),
        None => Gate::NoResult,
        Some(lacks) if !lacks.is_empty() => Gate::Lacks(lacks),
        Some(_) if lines.iter().all(|line| line.not_tested.is_some()) => Gate::Untested,
        Some(_) => Gate::Passed,
    }
}

/// The largest slowdown of a line, if it is beyond `margin`: from its fastest earlier level, which a series of small
/// steps does not move, to the level at its last run. With a drift, the level changes within each segment too.
fn slower(place: usize, line: &MetricHistory, margin: f64) -> Option<Slower> {
    let (last, earlier) = line.segments.split_last()?;
    let runs = line.points.len().saturating_sub(1).max(1) as f64;
    let slope = line.drift.map_or(0.0, |drift| drift.ratio.value.ln() / runs);
    // Half of the drift within a segment.
    let half = |segment: &Segment| slope * segment.runs.len().saturating_sub(1) as f64 / 2.0;
    let now = last.mean.ln() + half(last);
    let ends = earlier.iter().flat_map(|segment| {
        let (level, half, since) = (segment.mean.ln(), half(segment), Since::Segment(segment.runs.start));
        [(level - half, since), (level + half, since)]
    });
    let levels = ends.chain(once((last.mean.ln() - half(last), Since::Drift)));
    let all = levels.map(|(level, since)| Slower { line: place, ratio: (now - level).exp(), since });
    let cost = |found: &Slower| match line.better {
        Better::Higher => -found.ratio,
        Better::Lower => found.ratio,
    };
    let worst = all.filter(|found| found.ratio.is_finite()).max_by(|a, b| cost(a).total_cmp(&cost(b)))?;
    let is_beyond = match line.better {
        Better::Higher => worst.ratio < 1.0 - margin,
        Better::Lower => worst.ratio > 1.0 + margin,
    };
    is_beyond.then_some(worst)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Point;
    use tare_stats::Estimate;
    use tare_stats::change_points::Drift;

    /// Two segments of 20 runs with these means, and a drift over all runs.
    fn line(better: Better, means: [f64; 2], drift: f64) -> MetricHistory {
        let point = |run: usize| Point { run: format!("run-{run}"), time: None, value: 1.0, outlier: false };
        let segment = |place: usize| Segment {
            runs: 20 * place..20 * (place + 1),
            mean: means[place],
            ci: None,
            against_first: None,
        };
        MetricHistory {
            condition: "base".to_owned(),
            name: "m".to_owned(),
            unit: String::new(),
            better,
            points: (0..40).map(point).collect(),
            segments: [0, 1].map(segment).to_vec(),
            changes: Vec::new(),
            drift: Some(Drift { ratio: Estimate { value: drift, ci: None }, p_value: 0.0 }),
            not_tested: None,
        }
    }

    /// From 100 to 98.5, then from 103.5 to 101.9: the drift is -3%, but since the step only -1.5% was lost.
    #[test]
    fn a_drift_counts_from_the_fastest_level_on() {
        let falling = |better, means: [f64; 2], drift| slower(0, &line(better, means, drift), 0.01);
        let found = falling(Better::Higher, [99.25, 102.7], 0.97).unwrap();
        assert!(found.since == Since::Drift && (found.ratio - 0.9853).abs() < 5e-4, "{found:?}");
        assert_eq!(slower(0, &line(Better::Higher, [99.25, 102.7], 0.97), 0.02), None);
        // The same of times.
        let found = falling(Better::Lower, [1.0 / 99.25, 1.0 / 102.7], 1.0 / 0.97).unwrap();
        assert!(found.since == Since::Drift && (found.ratio - 1.0 / 0.9853).abs() < 5e-4, "{found:?}");
        // A step and a drift add up: the beginning of the first segment was the fastest.
        let found = falling(Better::Higher, [99.25, 97.3], 0.97).unwrap();
        assert!(found.since == Since::Segment(0) && (found.ratio - 0.966).abs() < 1e-3, "{found:?}");
        // A drift to faster values hides no step within itself.
        assert_eq!(falling(Better::Higher, [99.25, 102.7], 1.03), None);
    }
}
