//! The gate over the lines of a history.

use super::model::{Gate, MetricHistory, Since, Slower};
use tare_results::metric::Better;

/// `last_without`: the last run has no value in any line.
pub(super) fn gate(lines: &[MetricHistory], last_without: bool, margin: f64) -> Gate {
    let slower: Vec<Slower> = (0..lines.len()).filter_map(|line| slower(line, &lines[line], margin)).collect();
    match slower.is_empty() {
        false => Gate::Slower(slower),
        true if last_without => Gate::NoResult,
        true if lines.iter().all(|line| line.not_tested.is_some()) => Gate::Untested,
        true => Gate::Passed,
    }
}

/// The largest slowdown of a line, if it is beyond `margin`: of its last segment against the fastest one before, which
/// a series of small steps does not move, or of its drift.
fn slower(place: usize, line: &MetricHistory, margin: f64) -> Option<Slower> {
    let (last, earlier) = line.segments.split_last()?;
    let steps = earlier.iter().map(|segment| (last.mean / segment.mean, Since::Segment(segment.runs.start)));
    let drift = line.drift.map(|drift| (drift.ratio.value, Since::Drift));
    let all = steps.chain(drift).map(|(ratio, since)| Slower { line: place, ratio, since });
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
