//! What `tare find --json` prints.

use crate::words::find::{sentence, stopped};
use crate::words::paste::{Paste, paste};
use serde::Serialize;
use tare_findings::find::{Fate, Find};
use tare_results::schema::{Levels, Plan};
use tare_stats::Estimate;

/// A race as far as it has come.
#[derive(Debug, Serialize)]
pub struct FindJson<'a> {
    text: String,
    metric: &'a Option<String>,
    decided: bool,
    named: Option<&'a str>,
    ahead: Option<&'a str>,
    minimum_effect: f64,
    confidence: f64,
    candidates: Vec<CandidateJson<'a>>,
    knobs: Vec<KnobJson<'a>>,
    lowest_p99: Option<TailJson<'a>>,
    paste: Vec<Paste>,
    left_out: Vec<LeftOutJson<'a>>,
    blocks: usize,
    trials: usize,
    trials_without_value: usize,
    cov: Option<f64>,
    elapsed_s: f64,
    trials_to_go: Option<usize>,
    to_go_s: Option<f64>,
    stopped: Option<&'static str>,
    sessions: usize,
}

#[derive(Debug, Serialize)]
struct CandidateJson<'a> {
    name: &'a str,
    levels: &'a Levels,
    outcome: Fate,
    after_blocks: Option<usize>,
    trials: usize,
    value: Option<f64>,
    #[serde(flatten)]
    ratio: RatioJson,
    latency_ms_p99: Option<f64>,
}

#[derive(Debug, Serialize)]
struct KnobJson<'a> {
    factor: &'a str,
    best: &'a str,
    level: &'a str,
    #[serde(flatten)]
    ratio: RatioJson,
    pairs: usize,
}

#[derive(Debug, Serialize)]
struct TailJson<'a> {
    name: &'a str,
    #[serde(flatten)]
    ratio: RatioJson,
}

#[derive(Debug, Serialize)]
struct RatioJson {
    ratio: Option<f64>,
    ci_low: Option<f64>,
    ci_high: Option<f64>,
}

#[derive(Debug, Serialize)]
struct LeftOutJson<'a> {
    name: &'a str,
    reason: &'a str,
}

impl RatioJson {
    fn of(estimate: Option<Estimate>) -> Self {
        let ci = estimate.and_then(|of| of.ci);
        Self { ratio: estimate.map(|of| of.value), ci_low: ci.map(|ci| ci.low), ci_high: ci.map(|ci| ci.high) }
    }
}

impl<'a> FindJson<'a> {
    /// What a race of this plan came to.
    pub fn of(find: &'a Find, plan: &Plan) -> Self {
        let ahead = find.ahead().map(|ahead| ahead.name.as_str());
        let named = ahead.filter(|_| find.decided);
        let condition = plan.conditions.iter().find(|condition| Some(condition.name.as_str()) == named);
        let tail = find.tail.as_ref().and_then(|tail| {
            let name = find.candidates.get(tail.candidate)?.name.as_str();
            Some(TailJson { name, ratio: RatioJson::of(Some(tail.p99_ratio)) })
        });
        Self {
            text: sentence(find),
            metric: &find.metric,
            decided: find.decided,
            named,
            ahead,
            minimum_effect: find.rule.minimum_effect,
            confidence: 1.0 - find.rule.alpha,
            candidates: find.candidates.iter().map(CandidateJson::of).collect(),
            knobs: find.knobs.iter().map(KnobJson::of).collect(),
            lowest_p99: tail,
            paste: condition.map(paste).unwrap_or_default(),
            left_out: find.left_out.iter().map(|(name, reason)| LeftOutJson { name, reason }).collect(),
            blocks: find.blocks,
            trials: find.trials,
            trials_without_value: find.without_value,
            cov: find.cov,
            elapsed_s: find.elapsed_s,
            trials_to_go: find.trials_to_go,
            to_go_s: find.to_go_s,
            stopped: stopped(find),
            sessions: find.rule.sessions,
        }
    }
}

impl<'a> CandidateJson<'a> {
    fn of(of: &'a tare_findings::find::Candidate) -> Self {
        Self {
            name: &of.name,
            levels: &of.levels,
            outcome: of.fate,
            after_blocks: of.after,
            trials: of.trials,
            value: of.value,
            ratio: RatioJson::of(of.ratio),
            latency_ms_p99: of.p99_ms,
        }
    }
}

impl<'a> KnobJson<'a> {
    fn of(of: &'a tare_findings::find::Knob) -> Self {
        let ratio = RatioJson::of(Some(of.ratio));
        Self { factor: &of.factor, best: &of.best, level: &of.level, ratio, pairs: of.pairs }
    }
}
