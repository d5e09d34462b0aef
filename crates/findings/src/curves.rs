//! A metric over a numeric factor (threads, nodes ...): which conditions form a line, and which lines share a chart.

use super::collect::ConditionTrials;
use super::condition::MetricSummary;
use super::factors::{number, words_of};
use super::scaling::Scaling;
use super::state::is_disturbed;
use super::summary::Summary;
use std::collections::{BTreeMap, BTreeSet};
use tare_results::factor::LOADS;
use tare_results::metric::{self, Better};
use tare_results::schema::Levels;
use tare_results::unit::Unit;
use tare_stats::Interval;

/// Maximum number of legible lines in one chart; more become small multiples.
pub const LEGIBLE_LINES: usize = 6;
/// Factors that are counts: two levels are enough for a curve.
const COUNTING: [&str; 3] = ["threads", "nodes", "caches"];
/// Minimum number of levels for a curve of any other number.
const FEWEST: usize = 3;
/// Factors that become lines of one chart before all others.
const SIDE_BY_SIDE: [&str; 5] = ["build", "binary", "nodes", "caches", "threads"];
/// Transactions of two workloads are different units of work and never share a chart.
const APART: [&str; 2] = LOADS;

/// One chart: a metric over one factor, with a line for each combination of the levels that vary within the chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Curves {
    pub metric: String,
    pub unit: Unit,
    pub better: Better,
    pub over: String,
    /// The levels that all its lines share, of the factors that vary in the study.
    pub at: Levels,
    pub lines: Vec<Curve>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// The levels in which it differs from the other lines of its chart; empty if it is the only one.
    pub label: String,
    pub points: Vec<Point>,
    pub law: Option<Scaling>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Level of the factor on the x axis.
    pub n: f64,
    /// Mean over the trials of this rung.
    pub mean: f64,
    /// 95% interval over trials; none with a single trial, or if the mean does not describe the trials.
    pub ci: Option<Interval>,
    pub trials: Vec<f64>,
    /// The subset of `trials` that were disturbed but count.
    pub disturbed: Vec<f64>,
    /// Whether the mean describes the trials; trials that fall into modes are shown individually.
    pub described: bool,
}

impl Point {
    /// From the lowest to the highest trial.
    pub fn range(&self) -> Interval {
        let empty = Interval { low: f64::INFINITY, high: f64::NEG_INFINITY };
        let with = |range: Interval, value: &f64| Interval { low: range.low.min(*value), high: range.high.max(*value) };
        self.trials.iter().fold(empty, with)
    }

    /// The trials that were not disturbed.
    pub fn clean(&self) -> impl Iterator<Item = f64> {
        self.trials.iter().copied().filter(|value| !self.disturbed.contains(value))
    }
}

/// All charts of a metric: one for each numeric factor and each combination of the levels that do not fit in one
/// chart.
pub fn curves(summary: &Summary, conditions: &[ConditionTrials<'_>], metric: &str) -> Vec<Curves> {
    let measured: Vec<(&ConditionTrials<'_>, &MetricSummary)> = conditions
        .iter()
        .zip(summary.metrics_of(conditions.iter().map(|c| c.name), metric))
        .filter_map(|(c, m)| Some((c, m?)))
        .collect();
    let factors = varying(&measured);
    let numeric: Vec<&String> = factors.iter().filter(|factor| is_numeric(factor, &measured)).collect();
    numeric.into_iter().flat_map(|over| charts(over, &factors, &measured, summary, metric)).collect()
}

type Measured<'m> = [(&'m ConditionTrials<'m>, &'m MetricSummary)];

fn varying(measured: &Measured<'_>) -> Vec<String> {
    super::factors::varying_factors(measured.iter().map(|(condition, _)| condition.levels))
}

fn levels_of<'m>(factor: &str, measured: &'m Measured<'_>) -> BTreeSet<&'m str> {
    measured.iter().filter_map(|(condition, _)| condition.levels.get(factor)).map(String::as_str).collect()
}

fn is_numeric(factor: &str, measured: &Measured<'_>) -> bool {
    let levels = levels_of(factor, measured);
    let fewest = if COUNTING.contains(&factor) { 2 } else { FEWEST };
    levels.len() >= fewest && levels.iter().all(|level| number(level).is_some())
}

fn charts(over: &str, factors: &[String], measured: &Measured<'_>, summary: &Summary, metric: &str) -> Vec<Curves> {
    let within = within(over, factors, measured);
    let described = metric::describe(metric);
    let mut charts: Vec<Curves> = Vec::new();
    let mut places: BTreeMap<Levels, usize> = BTreeMap::new();
    for (condition, values) in measured {
        let Some(n) = condition.levels.get(over).and_then(|level| number(level)) else { continue };
        let at: Levels = pick(condition.levels, factors, |f| f != over && !within.contains(&f.to_owned()));
        let line: Levels = pick(condition.levels, factors, |f| within.contains(&f.to_owned()));
        let chart = *places.entry(at).or_insert_with_key(|at| {
            let (metric, over, at) = (metric.to_owned(), over.to_owned(), at.clone());
            charts.push(Curves { metric, unit: described.unit, better: described.better, over, at, lines: vec![] });
            charts.len() - 1
        });
        let lines = &mut charts[chart].lines;
        let label = words(&line, &within);
        let index = match lines.iter().position(|line| line.label == label) {
            Some(index) => index,
            None => {
                lines.push(Curve { label, points: Vec::new(), law: law(summary, metric, over, condition.levels) });
                lines.len() - 1
            }
        };
        lines[index].points.push(point(n, condition, values, metric));
    }
    for line in charts.iter_mut().flat_map(|chart| &mut chart.lines) {
        line.points.sort_by(|a, b| a.n.total_cmp(&b.n));
    }
    // A factor that only some conditions set may leave charts with a single point per line.
    charts.retain(|chart| chart.lines.iter().any(|line| line.points.len() > 1));
    charts
}

/// The factors whose levels become lines of one chart: as many as stay legible, but at least one.
fn within(over: &str, factors: &[String], measured: &Measured<'_>) -> Vec<String> {
    let mut others: Vec<(&String, usize)> = factors
        .iter()
        .filter(|factor| *factor != over && !APART.contains(&factor.as_str()))
        .map(|factor| (factor, levels_of(factor, measured).len()))
        .collect();
    let place = |factor: &str| SIDE_BY_SIDE.iter().position(|known| *known == factor).unwrap_or(SIDE_BY_SIDE.len());
    others.sort_by_key(|(factor, levels)| (place(factor), usize::MAX - levels));
    let mut within = Vec::new();
    let mut lines = 1;
    for (factor, levels) in others {
        if within.is_empty() || lines * levels <= LEGIBLE_LINES {
            within.push(factor.clone());
            lines *= levels;
        }
    }
    within
}

fn pick(levels: &Levels, factors: &[String], wanted: impl Fn(&str) -> bool) -> Levels {
    let chosen = factors.iter().filter(|factor| wanted(factor));
    chosen.filter_map(|factor| Some((factor.clone(), levels.get(factor)?.clone()))).collect()
}

/// `nodes=2 build=a`; the level alone if a single factor varies and its level is clear by itself.
fn words(line: &Levels, within: &[String]) -> String {
    match within {
        [factor] if line.get(factor).is_some_and(|level| number(level).is_none() && level.len() > 3) => {
            line[factor].clone()
        }
        _ => words_of(line),
    }
}

fn point(n: f64, condition: &ConditionTrials<'_>, values: &MetricSummary, metric: &str) -> Point {
    let with = condition.with(metric);
    Point {
        n,
        mean: values.mean,
        // A wide interval of few trials may extend below zero, which is impossible for a throughput or a time.
        ci: values.interval().map(|ci| Interval { low: ci.low.max(0.0), high: ci.high }),
        trials: with.iter().map(|(_, mean)| *mean).collect(),
        disturbed: with.iter().filter(|(trial, _)| is_disturbed(trial)).map(|(_, mean)| *mean).collect(),
        described: values.has_mean(),
    }
}

fn law(summary: &Summary, metric: &str, over: &str, levels: &Levels) -> Option<Scaling> {
    let mut others = levels.clone();
    others.remove(over);
    summary.scaling.iter().find(|law| law.metric == metric && law.over == over && law.levels == others).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::open;

    /// Charts of `tps` of a CSV whose rows are `condition -> value`.
    fn charts(conditions: &[(String, f64)]) -> Vec<Curves> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("curves.csv");
        let rows: String = conditions.iter().map(|(name, value)| format!("{name},0,0,tps,{value}\n")).collect();
        std::fs::write(&path, format!("condition,trial,sample,metric,value\n{rows}")).unwrap();
        let results = open(&path).unwrap();
        let summary = crate::summarize(&results);
        curves(&summary, &super::super::collect::conditions(&results), "tps")
    }

    fn grid(factors: &[(&str, &[&str])]) -> Vec<(String, f64)> {
        let mut names = vec![String::new()];
        for (factor, levels) in factors {
            names = names
                .iter()
                .flat_map(|name| levels.iter().map(move |level| format!("{name} {factor}={level}").trim().to_owned()))
                .collect();
        }
        names.into_iter().enumerate().map(|(i, name)| (name, 100.0 + i as f64)).collect()
    }

    #[test]
    fn builds_share_a_chart_and_workloads_never_do() {
        let found = charts(&grid(&[
            ("workload", &["point_select", "read_only"]),
            ("binary", &["before", "after"]),
            ("nodes", &["4", "1", "2"]),
        ]));
        assert_eq!(found.len(), 2, "{found:#?}");
        for chart in &found {
            assert_eq!((chart.over.as_str(), chart.at.len(), chart.lines.len()), ("nodes", 1, 2));
            let n: Vec<f64> = chart.lines[0].points.iter().map(|p| p.n).collect();
            assert_eq!(n, [1.0, 2.0, 4.0]);
            assert!(chart.lines.iter().all(|line| line.law.is_some()));
        }
        assert_eq!(found[0].lines[0].label, "before");
    }

    #[test]
    fn many_strategies_are_lines_of_one_chart_each_generator_has_its_own() {
        let strategies: Vec<String> = (0..14).map(|i| format!("strategy-{i}")).collect();
        let strategies: Vec<&str> = strategies.iter().map(String::as_str).collect();
        let found = charts(&grid(&[
            ("strategy", &strategies),
            ("generator", &["faithful", "corrected"]),
            ("threads", &["1", "2"]),
        ]));
        assert_eq!(found.iter().map(|chart| chart.lines.len()).collect::<Vec<_>>(), [14, 14]);
        assert_eq!(words_of(&found[0].at), "generator=faithful");
    }

    #[test]
    fn every_condition_is_a_point_of_exactly_one_line() {
        let all = grid(&[("threads", &["1", "2", "4"]), ("nodes", &["1", "2"]), ("distribution", &["a", "b"])]);
        for over in ["threads", "nodes"] {
            let points: usize = charts(&all)
                .iter()
                .filter(|chart| chart.over == over)
                .flat_map(|chart| &chart.lines)
                .map(|line| line.points.len())
                .sum();
            assert_eq!(points, all.len());
        }
    }

    #[test]
    fn words_and_switches_form_no_chart_axis() {
        assert!(charts(&grid(&[("placement", &["float", "same-pu", "other"])])).is_empty());
        assert!(charts(&grid(&[("option.x", &["0", "1"])])).is_empty());
        assert_eq!(charts(&grid(&[("range_size", &["10", "100", "1000"])])).len(), 1);
    }
}
