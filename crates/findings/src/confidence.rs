//! Confidence levels of intervals and verdicts with the error budget of one study, and the JSON form of intervals: the
//! two fields `ci_low` and `ci_high` alongside their estimate, null if there is no interval. Scripts of users depend on
//! these names.

use serde::{Serialize, Serializer};
use tare_stats::{Estimate, Interval};

pub const CONFIDENCE: f64 = 0.95;

/// Probability that the answer to the study's question claims an effect where there is none. All findings of one
/// study share a budget: this much for the answer, [`FURTHER`] for each further kind of finding. Together with a gate
/// at 95%, they and the marked effects claim something in at most 6% of studies without differences, whatever the
/// distribution of their trials and the drift of the machine (`benches/truth`). Modes, far trials, the drift of the
/// machine, odd machines and cold queries have rates of their own.
pub(crate) const ANSWER: f64 = 0.02;

/// Share of the error rates that is used if the number of trials followed from their spread: such a study ends when the
/// spread happens to be small, and would call two conditions different in up to 2.8% in place of 2% (docs/figures.md).
pub(crate) const OF_PILOT: f64 = 0.7;

/// False-alarm probability of each further kind of finding: sources of spread, causes of residuals, steps that give
/// less.
pub const FURTHER: f64 = 0.005;

/// False-alarm probability of modes in the metrics that the study is about, over all conditions and these metrics
/// together. With [`FURTHER`] for all other metrics, and again for all conditions together, the sum is little more
/// than that of an answer.
pub const MODES: f64 = 0.015;

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
