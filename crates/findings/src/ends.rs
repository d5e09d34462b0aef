//! Intervals in JSON: the two fields `ci_low` and `ci_high` alongside their estimate, null where there is none, as
//! others script against them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tare_stats::Interval;

fn joined(low: Option<f64>, high: Option<f64>) -> Option<Interval> {
    low.zip(high).map(|(low, high)| Interval { low, high })
}

/// For `#[serde(flatten, with)]`: the fields `ci_low` and `ci_high`.
pub(super) mod ci {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Ends {
        #[serde(default)]
        ci_low: Option<f64>,
        #[serde(default)]
        ci_high: Option<f64>,
    }

    pub(in super::super) fn serialize<S: Serializer>(ci: &Option<Interval>, to: S) -> Result<S::Ok, S::Error> {
        Ends { ci_low: ci.map(|ci| ci.low), ci_high: ci.map(|ci| ci.high) }.serialize(to)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Interval>, D::Error> {
        Ends::deserialize(from).map(|ends| joined(ends.ci_low, ends.ci_high))
    }
}

/// For `#[serde(flatten, with)]`: the fields `spread_ci_low` and `spread_ci_high`.
pub(super) mod spread_ci {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Ends {
        #[serde(default)]
        spread_ci_low: Option<f64>,
        #[serde(default)]
        spread_ci_high: Option<f64>,
    }

    pub(in super::super) fn serialize<S: Serializer>(ci: &Option<Interval>, to: S) -> Result<S::Ok, S::Error> {
        Ends { spread_ci_low: ci.map(|ci| ci.low), spread_ci_high: ci.map(|ci| ci.high) }.serialize(to)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Interval>, D::Error> {
        Ends::deserialize(from).map(|ends| joined(ends.spread_ci_low, ends.spread_ci_high))
    }
}

/// For `#[serde(with)]`: an array of both ends.
pub(super) mod pair {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(ci: &Option<Interval>, to: S) -> Result<S::Ok, S::Error> {
        ci.map(|ci| [ci.low, ci.high]).serialize(to)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Interval>, D::Error> {
        Ok(Option::<[f64; 2]>::deserialize(from)?.map(|[low, high]| Interval { low, high }))
    }
}
