//! JSON form of intervals: the two fields `ci_low` and `ci_high` alongside their estimate, null if there is no
//! interval. Scripts of users depend on these names.

use serde::{Serialize, Serializer};
use tare_stats::{Estimate, Interval};

/// For `#[serde(flatten, serialize_with)]`: the fields `ci_low` and `ci_high`.
pub(crate) fn ci<S: Serializer>(ci: &Option<Interval>, to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Ends {
        ci_low: Option<f64>,
        ci_high: Option<f64>,
    }
    Ends { ci_low: ci.map(|ci| ci.low), ci_high: ci.map(|ci| ci.high) }.serialize(to)
}

/// For `#[serde(flatten, serialize_with)]`: an estimate of a ratio, or none, as `ratio`, `ci_low` and `ci_high`.
pub(super) fn ratio<S: Serializer>(found: &(impl Into<Option<Estimate>> + Copy), to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Ratio {
        ratio: Option<f64>,
        #[serde(flatten, serialize_with = "ci")]
        ci: Option<Interval>,
    }
    let found: Option<Estimate> = (*found).into();
    Ratio { ratio: found.map(|found| found.value), ci: found.and_then(|found| found.ci) }.serialize(to)
}

/// For `#[serde(flatten, serialize_with)]`: the fields `spread_ci_low` and `spread_ci_high`.
pub(super) fn spread_ci<S: Serializer>(ci: &Option<Interval>, to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Ends {
        spread_ci_low: Option<f64>,
        spread_ci_high: Option<f64>,
    }
    Ends { spread_ci_low: ci.map(|ci| ci.low), spread_ci_high: ci.map(|ci| ci.high) }.serialize(to)
}

/// For `#[serde(serialize_with)]`: an array of both ends.
pub(super) fn pair<S: Serializer>(ci: &Option<Interval>, to: S) -> Result<S::Ok, S::Error> {
    ci.map(|ci| [ci.low, ci.high]).serialize(to)
}
