//! Whether the client was the limit of a measurement, by what was recorded alongside it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use tare_text::percent;

/// Clients that use this share of the CPU time that they may have are the limit themselves.
const BUSY: f64 = 0.9;
/// So many of a quota's periods used up are no accident.
const THROTTLED: f64 = 0.05;
/// A sample in which the client stood still for such a share tells of the client.
const STILL: f64 = 0.05;
/// Shorter standstills, seconds, happen to every process of a machine that others use, however short the sample.
const STILL_S: f64 = 0.25;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientLimit {
    /// The CPU quota of its control group was used up in this share of the quota's periods.
    QuotaUsedUpFraction(f64),
    /// Its threads used this share of the CPU time that they can have.
    CpuUsedFraction(f64),
    StoodStillS(f64),
    /// It began transactions late although their connections were free: the figure of the objective, had it not.
    BeganLateElse(f64),
}

impl ClientLimit {
    /// From the covariates of a sample that took so long; none where the client was not the limit.
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
                write!(f, "its threads used {} of the CPU time that they can have", percent(share))
            }
            Self::StoodStillS(seconds) => write!(f, "it stood still for {seconds:.2} s"),
            Self::BeganLateElse(ms) => {
                write!(f, "it began transactions late, without which the latency would have been {ms:.3} ms")
            }
        }
    }
}
