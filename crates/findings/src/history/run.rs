//! What a history keeps of one set of results.

use crate::collect;
use crate::differences::{self, What};
use tare_results::Results;

/// One run: what is kept of its results.
#[derive(Debug, Clone)]
pub struct Run {
    /// How it is called: the directory or the file.
    pub name: String,
    /// When its first trial began, RFC 3339 in UTC; none where it does not say.
    pub time: Option<String>,
    /// A mean for every metric of every condition.
    pub(super) values: Vec<Value>,
    /// What is known of how it was measured.
    pub(super) facts: Vec<(What, String)>,
}

/// The mean over the trials of one metric of one condition.
#[derive(Debug, Clone)]
pub(super) struct Value {
    pub condition: String,
    pub metric: String,
    mean: f64,
}

impl Run {
    /// What a history needs of results.
    pub fn of(name: String, results: &Results) -> Self {
        let times = results.trials.iter().map(|trial| trial.started_at.as_str()).filter(|time| !time.is_empty());
        let mut values = Vec::new();
        for condition in collect::conditions(results) {
            for metric in condition.metrics() {
                let means: Vec<f64> = condition.means(&metric);
                if let Some(mean) = collect::mean(&means).filter(|_| !means.is_empty()) {
                    values.push(Value { condition: condition.name.to_owned(), metric, mean });
                }
            }
        }
        Self { name, time: times.min().map(str::to_owned), values, facts: differences::facts(results) }
    }

    pub(super) fn value(&self, condition: &str, metric: &str) -> Option<f64> {
        self.values.iter().find(|value| value.condition == condition && value.metric == metric).map(|value| value.mean)
    }
}

/// Runs by the time of their first trial; as they are where one of them has none. Whether they were sorted.
pub fn in_order(runs: &mut [Run]) -> bool {
    let known = runs.iter().all(|run| run.time.is_some());
    if known {
        runs.sort_by(|a, b| a.time.cmp(&b.time));
    }
    known
}
