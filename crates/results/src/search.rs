//! The record of a search for the highest rate that meets a service-level objective (SLO), and whether the client was
//! the limit of a measurement.

use super::earlier::{self, Written};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use tare_text::{decimal, percent};

/// From this share of their available CPU time on, clients are the limit.
const BUSY: f64 = 0.9;
/// From this share of exhausted quota periods on, the quota is the limit.
const THROTTLED: f64 = 0.05;
/// Minimum share of a sample for which the client stalled to count as the limit.
const STILL: f64 = 0.05;
/// Minimum stall, seconds: shorter ones happen to every process on a shared machine, however short the sample.
const STILL_S: f64 = 0.25;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientLimit {
    /// The CPU quota of its control group was used up in this share of the quota's periods.
    QuotaUsedUpFraction(f64),
    /// Its threads used this share of the CPU time available to them.
    CpuUsedFraction(f64),
    StoodStillS(f64),
    /// It began transactions late although their connections were free. The value is the objective's figure without
    /// this delay.
    BeganLateElse(f64),
}

impl ClientLimit {
    /// From the covariates of a sample of `elapsed_s` seconds; none if the client was not the limit.
    pub fn of(covariates: &BTreeMap<String, f64>, elapsed_s: f64) -> Option<Self> {
        let of = |name: &str, least: f64| covariates.get(name).copied().filter(|value| *value >= least);
        of("client_throttled_fraction", THROTTLED)
            .map(Self::QuotaUsedUpFraction)
            .or_else(|| of("client_busy_fraction", BUSY).map(Self::CpuUsedFraction))
            .or_else(|| of("client_stalled_s", STILL_S.max(STILL * elapsed_s)).map(Self::StoodStillS))
    }
}

impl fmt::Display for ClientLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::QuotaUsedUpFraction(share) => {
                write!(f, "the CPU quota of its control group was used up in {} of the quota's periods", percent(share))
            }
            Self::CpuUsedFraction(share) => {
                write!(f, "its threads used {} of the CPU time available to them", percent(share))
            }
            Self::StoodStillS(seconds) => write!(f, "it stalled for {} s", decimal(seconds, 2)),
            Self::BeganLateElse(ms) => {
                let ms = decimal(ms, 3);
                write!(f, "it started transactions late; without this the latency would have been {ms} ms")
            }
        }
    }
}

/// An upper limit of a latency metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Slo {
    pub metric: String,
    pub limit_ms: f64,
}

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} <= {}", self.metric, self.limit_ms)
    }
}

fn slo<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Slo, D::Error> {
    match Written::deserialize(deserializer)? {
        Written::Now(slo) => Ok(slo),
        Written::Earlier(text) => earlier::slo(&text)
            .map(|(metric, limit_ms)| Slo { metric, limit_ms })
            .ok_or_else(|| D::Error::custom("expected METRIC <= MILLISECONDS")),
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchRecord {
    /// Number in the trial, from 0; those of dropped samples come first.
    pub search: usize,
    #[serde(alias = "objective", deserialize_with = "slo")]
    pub slo: Slo,
    /// Transactions per second without a rate limit, before the first step.
    pub closed_loop_tps: f64,
    /// The highest rate that met it, transactions per second; none if no rate did.
    pub found_tps: Option<f64>,
    /// The range of the highest rate, transactions per second, if lower rates did not meet the SLO and higher
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
    #[serde(alias = "asked_tps")]
    pub requested_tps: f64,
    pub done_tps: f64,
    /// The figure of the SLO, including transactions that were due but not done at the end; none if nothing was
    /// due.
    pub value: Option<f64>,
    /// That value, if the client had begun every transaction as soon as it was due and its connection was free.
    pub value_of_prompt_client: Option<f64>,
    /// Number of transactions beyond the SLO's percentile; none for a mean, a maximum and in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond: Option<f64>,
    pub met: bool,
    /// What the limit was, if it was not met.
    pub limit: Option<Limit>,
    /// Whether the same rate was measured again because the client was the limit.
    pub repeated: bool,
}

impl SearchRecord {
    /// The highest rate that met the SLO in one of its steps, if it is at least a tenth above the found rate:
    /// neither it nor lower rates met the SLO when measured again, so something other than the rate has an
    /// effect.
    pub fn met_before_tps(&self) -> Option<f64> {
        const ABOVE: f64 = 1.1;
        let highest = self.steps.iter().filter(|step| step.met).map(|step| step.requested_tps).reduce(f64::max)?;
        Some(highest).filter(|highest| self.found_tps.is_some_and(|found| *highest > ABOVE * found))
    }

    /// Whether the figure of a step is within the limit and the SLO is not met: a queue grew.
    pub fn fell_behind(&self, step: &StepRecord) -> bool {
        !step.met && step.value.is_some_and(|value| value <= self.slo.limit_ms)
    }

    pub fn found_step(&self) -> Option<&StepRecord> {
        let found = self.found_tps?;
        self.steps.iter().rfind(|step| step.met && step.requested_tps == found)
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
        let step = |requested_tps: f64, met: bool| StepRecord {
            requested_tps,
            done_tps: requested_tps,
            value: None,
            value_of_prompt_client: None,
            beyond: None,
            met,
            limit: None,
            repeated: false,
        };
        let search = |found_tps: f64| SearchRecord {
            search: 0,
            slo: Slo { metric: "latency_ms_p99".to_owned(), limit_ms: 5.0 },
            closed_loop_tps: 5000.0,
            found_tps: Some(found_tps),
            bracket_tps: None,
            limit: None,
            steps: vec![step(2400.0, true), step(2400.0, false), step(17.0, true), step(2300.0, true)],
        };
        assert_eq!(search(17.0).met_before_tps(), Some(2400.0));
        assert_eq!(search(2300.0).met_before_tps(), None, "so near is no contradiction");
    }

    #[test]
    fn a_search_is_read_as_it_is_written_now_and_as_it_was_before() {
        let steps = r#"[{"asked_tps": 10, "done_tps": 9, "met": true, "repeated": false}]"#;
        let read = |slo: &str, steps: &str| {
            let text = format!(r#"{{"search": 0, {slo}, "closed_loop_tps": 20, "found_tps": 10, "steps": {steps}}}"#);
            serde_json::from_str::<SearchRecord>(&text)
        };
        let before = read(r#""objective": "latency_ms_p99 <= 2.5""#, steps).unwrap();
        let now = read(r#""slo": {"metric": "latency_ms_p99", "limit_ms": 2.5}"#, &steps.replace("asked", "requested"));
        assert_eq!(before, now.unwrap());
        assert_eq!((before.slo.to_string().as_str(), before.steps[0].requested_tps), ("latency_ms_p99 <= 2.5", 10.0));
        assert!(
            serde_json::to_string(&before).unwrap().contains(r#""slo":{"metric":"latency_ms_p99","limit_ms":2.5}"#)
        );
        for wrong in [r#""objective": "latency_ms_p99""#, r#""objective": "p99 <= 5ms""#, r#""slo": 5"#] {
            assert!(read(wrong, steps).is_err(), "{wrong}");
        }
    }
}
