//! What `tare history --json` prints.

use serde::Serialize;
use tare_findings::certificate::Ratio;
use tare_findings::differences::Difference;
use tare_findings::ends;
use tare_findings::history::{History, MetricHistory, Point};
use tare_results::metric::Better;
use tare_stats::Interval;

/// The document; its fields are stable, because scripts depend on them.
#[derive(Debug, Serialize)]
pub struct HistoryJson<'a> {
    by_time: bool,
    metrics: Vec<LineJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct LineJson<'a> {
    name: &'a str,
    condition: &'a str,
    unit: &'a str,
    better: Better,
    runs: &'a [Point],
    segments: Vec<SegmentJson<'a>>,
    changes: Vec<ChangeJson<'a>>,
    drift: Option<DriftJson>,
    tested: bool,
}

#[derive(Debug, Serialize)]
struct SegmentJson<'a> {
    first: &'a str,
    last: &'a str,
    runs: usize,
    mean: f64,
    #[serde(flatten, serialize_with = "ends::ci")]
    ci: Option<Interval>,
    against_first: Option<Ratio>,
}

#[derive(Debug, Serialize)]
struct ChangeJson<'a> {
    /// The last run before the change.
    after: &'a str,
    before: &'a str,
    #[serde(flatten)]
    ratio: Ratio,
    p: f64,
    /// Null if one of the two runs records no environment.
    environment: Option<&'a [Difference]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commits: Option<[&'a str; 2]>,
}

#[derive(Debug, Serialize)]
struct DriftJson {
    #[serde(flatten)]
    ratio: Ratio,
    p: f64,
}

impl<'a> HistoryJson<'a> {
    pub fn of(found: &'a History) -> Self {
        let gate = found.slower.as_ref().map(|slower| if slower.is_empty() { "passed" } else { "failed" });
        Self { by_time: found.by_time, metrics: found.lines.iter().map(LineJson::of).collect(), gate }
    }
}

impl<'a> LineJson<'a> {
    fn of(line: &'a MetricHistory) -> Self {
        let name = |place: usize| line.points.get(place).map_or("", |point| point.run.as_str());
        let segments = line.segments.iter().map(|segment| SegmentJson {
            first: name(segment.runs.start),
            last: name(segment.runs.end.saturating_sub(1)),
            runs: segment.runs.len(),
            mean: segment.mean,
            ci: segment.ci,
            against_first: segment.against_first.map(Ratio::of),
        });
        let changes = line.changes.iter().map(|found| ChangeJson {
            after: name(found.first_after.saturating_sub(1)),
            before: name(found.first_after),
            ratio: Ratio::of(found.ratio),
            p: found.p_value,
            environment: found.environment.as_deref(),
            commits: found.commits.as_ref().map(|(last, first)| [last.as_str(), first.as_str()]),
        });
        Self {
            name: &line.name,
            condition: &line.condition,
            unit: &line.unit,
            better: line.better,
            runs: &line.points,
            segments: segments.collect(),
            changes: changes.collect(),
            drift: line.drift.map(|drift| DriftJson { ratio: Ratio::of(drift.ratio), p: drift.p_value }),
            tested: line.not_tested.is_none(),
        }
    }
}
