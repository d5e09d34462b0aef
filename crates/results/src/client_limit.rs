//! Whether the client was the limit of a measurement, from the recorded covariates.

use serde::{Deserialize, Serialize};
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
