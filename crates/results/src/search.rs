//! The record of a search for the highest rate that meets an objective.

use crate::client_limit::ClientLimit;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchRecord {
    /// Number in the trial, from 0; those of dropped samples come first.
    pub search: usize,
    /// The objective as in the study: `latency_ms_p99 <= 5`.
    pub objective: String,
    /// Transactions per second without a rate limit, before the first step.
    pub closed_loop_tps: f64,
    /// The highest rate that met it, transactions per second; none if no rate did.
    pub found_tps: Option<f64>,
    /// The range of the highest rate, transactions per second, if lower rates did not meet the objective and higher
    /// ones did until the steps were used up; `found_tps` is then the highest rate below which all rates met it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bracket_tps: Option<[f64; 2]>,
    /// Why no higher rate was found; none if the search did not converge.
    pub limit: Option<Limit>,
    /// In the order of measurement.
    pub steps: Vec<StepRecord>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    pub asked_tps: f64,
    pub done_tps: f64,
    /// The figure of the objective, including transactions that were due but not done at the end; none if nothing was
    /// due.
    pub value: Option<f64>,
    /// That value, if the client had begun every transaction as soon as it was due and its connection was free.
    pub value_of_prompt_client: Option<f64>,
    /// Number of transactions beyond the objective's percentile; none for a mean, a maximum and in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond: Option<f64>,
    pub met: bool,
    /// What the limit was, if it was not met.
    pub limit: Option<Limit>,
    /// Whether the same rate was measured again because the client was the limit.
    pub repeated: bool,
}

impl SearchRecord {
    /// The highest rate that met the objective in one of its steps, if it is at least a tenth above the found rate:
    /// neither it nor lower rates met the objective when measured again, so something other than the rate has an
    /// effect.
    pub fn met_before_tps(&self) -> Option<f64> {
        const ABOVE: f64 = 1.1;
        let highest = self.steps.iter().filter(|step| step.met).map(|step| step.asked_tps).reduce(f64::max)?;
        Some(highest).filter(|highest| self.found_tps.is_some_and(|found| *highest > ABOVE * found))
    }

    /// The limit of the objective, milliseconds.
    pub fn limit_ms(&self) -> Option<f64> {
        self.objective.split_once("<=")?.1.trim().parse().ok()
    }

    /// Whether the figure of a step is within the limit and the objective is not met: a queue grew.
    pub fn fell_behind(&self, step: &StepRecord) -> bool {
        !step.met && step.value.zip(self.limit_ms()).is_some_and(|(value, limit)| value <= limit)
    }

    pub fn found_step(&self) -> Option<&StepRecord> {
        let found = self.found_tps?;
        self.steps.iter().rfind(|step| step.met && step.asked_tps == found)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    Server,
    /// The client's limit: the server may be able to do more.
    Client(ClientLimit),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_that_met_the_limit_before_is_named_where_it_is_far_above_what_was_found() {
        let step = |asked_tps: f64, met: bool| StepRecord {
            asked_tps,
            done_tps: asked_tps,
            value: None,
            value_of_prompt_client: None,
            beyond: None,
            met,
            limit: None,
            repeated: false,
        };
        let search = |found_tps: f64| SearchRecord {
            search: 0,
            objective: "latency_ms_p99 <= 5".to_owned(),
            closed_loop_tps: 5000.0,
            found_tps: Some(found_tps),
            bracket_tps: None,
            limit: None,
            steps: vec![step(2400.0, true), step(2400.0, false), step(17.0, true), step(2300.0, true)],
        };
        assert_eq!(search(17.0).met_before_tps(), Some(2400.0));
        assert_eq!(search(2300.0).met_before_tps(), None, "so near is no contradiction");
    }
}
