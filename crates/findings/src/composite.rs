//! All primary metrics of a study in one value per trial: the mean of their logarithms. The queries of one trial
//! share its random variation; combining them before a test counts each trial once.

use super::collect::{self, ConditionTrials};
use super::rounding;
use tare_results::metric::{self, Better};
use tare_results::schema::TrialRecord;
use tare_stats::blocks::Condition;

#[derive(Debug, Clone)]
pub(super) struct Composite {
    pub metrics: Vec<String>,
    pub better: Better,
    /// (block, mean ln) of the trials of each condition that have all of the metrics, in the order of the conditions.
    pub cells: Vec<Condition>,
    /// The standard deviation of the rounding error of such a value, by condition.
    pub errors: Vec<f64>,
    /// The place of each of these trials among those of its condition.
    places: Vec<Vec<usize>>,
}

impl Composite {
    /// The trials of a condition, given by its place, with their values.
    pub(crate) fn trials<'c, 't>(
        &'c self,
        place: usize,
        condition: &'c ConditionTrials<'t>,
    ) -> impl Iterator<Item = (&'t TrialRecord, (usize, f64))> + use<'c, 't> {
        let own = self.places.get(place).into_iter().flatten().zip(self.cells.get(place).into_iter().flatten());
        own.filter_map(|(trial, cell)| Some((*condition.ok.get(*trial)?, *cell)))
    }
}

/// Share of the trials of a condition that may lack a metric, as a failed trial lacks all. A metric that more of them
/// lack is left out.
const LACKED: f64 = 1.0 / 3.0;

/// The primary metrics that improve in the same direction as `headline`, or `headline` alone if it is not primary.
/// Metrics that are not positive are excluded. A trial that lacks one of the others is left out, unless that leaves too
/// few trials of a condition: then only the metrics that all trials have are used. None if no metric remains.
pub(super) fn of(conditions: &[ConditionTrials<'_>], headline: &str) -> Option<Composite> {
    let own = metric::describe(headline);
    let takes_part = |name: &&String| {
        let described = metric::describe(name);
        **name == headline || (own.is_primary() && described.is_primary() && described.better == own.better)
    };
    let all = collect::all_metrics(conditions);
    let logs: Vec<MetricLogs<'_>> =
        all.iter().filter(takes_part).filter_map(|name| MetricLogs::of(conditions, name)).collect();
    of_logs(conditions, &logs, own.better, LACKED).or_else(|| of_logs(conditions, &logs, own.better, 0.0))
}

/// One metric of all conditions as logarithms.
pub(super) struct Logarithms {
    pub metric: String,
    pub cells: Vec<Condition>,
    /// The standard deviation of the rounding error of a trial, by condition.
    pub errors: Vec<f64>,
}

impl Logarithms {
    pub(crate) fn of(conditions: &[ConditionTrials<'_>], metric: &str) -> Self {
        let cell = |condition: &ConditionTrials<'_>| {
            condition.numbered(metric).into_iter().map(|(block, value)| (block, value.ln())).collect()
        };
        let errors = rounding::of_logarithms(conditions, metric);
        Self { metric: metric.to_owned(), cells: conditions.iter().map(cell).collect(), errors }
    }
}

/// The logarithm of a metric in each trial of each condition; none in a trial that lacks it.
pub(super) struct MetricLogs<'n> {
    name: &'n String,
    conditions: Vec<Vec<Option<f64>>>,
}

impl<'n> MetricLogs<'n> {
    /// None if a value is not positive.
    pub(crate) fn of(conditions: &[ConditionTrials<'_>], name: &'n String) -> Option<Self> {
        let ln = |value: f64| if value > 0.0 { Some(value.ln()) } else { None };
        let of_condition = |condition: &ConditionTrials<'_>| -> Option<Vec<Option<f64>>> {
            let of_trial = |trial: &&TrialRecord| match condition.mean_of(trial, name) {
                Some(mean) => ln(mean).map(Some),
                None => Some(None),
            };
            condition.ok.iter().map(of_trial).collect()
        };
        Some(Self { name, conditions: conditions.iter().map(of_condition).collect::<Option<_>>()? })
    }
}

/// The mean of the metrics that at most a share of the trials of each condition lacks; none if more than that share of
/// the trials of a condition lacks one of them.
fn of_logs(
    conditions: &[ConditionTrials<'_>],
    logs: &[MetricLogs<'_>],
    better: Better,
    lacked: f64,
) -> Option<Composite> {
    let enough = |kept: usize, of: usize| kept > 0 && (of - kept) as f64 <= lacked * of as f64;
    let has_it = |own: &&MetricLogs<'_>| own.conditions.iter().all(|c| enough(c.iter().flatten().count(), c.len()));
    let logs: Vec<&MetricLogs<'_>> = logs.iter().filter(has_it).collect();
    let metrics: Vec<String> = logs.iter().map(|own| own.name.clone()).collect();
    let errors = rounding::of_mean_logarithm(conditions, &metrics);
    let mut found = Composite { metrics, better, cells: Vec::new(), errors, places: Vec::new() };
    for (at, condition) in conditions.iter().enumerate() {
        let mean = |place: usize| {
            let sum: Option<f64> = logs.iter().map(|own| own.conditions[at][place]).sum();
            sum.map(|sum| sum / logs.len() as f64)
        };
        let trials = condition.ok.iter().enumerate();
        let own = trials.filter_map(|(place, trial)| Some((place, (condition.block(trial), mean(place)?))));
        let (places, cell): (Vec<usize>, Vec<(usize, f64)>) = own.unzip();
        if !enough(cell.len(), condition.ok.len()) {
            return None;
        }
        found.places.push(places);
        found.cells.push(cell);
    }
    (!found.metrics.is_empty()).then_some(found)
}
