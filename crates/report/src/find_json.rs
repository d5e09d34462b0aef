//! What `tare find --json` prints.

use crate::words::find::{sentence, stopped};
use crate::words::paste::{Paste, paste};
use serde::Serialize;
use tare_findings::certificate::Ratio;
use tare_findings::collect::Unrealizable;
use tare_findings::find::{Candidate, Find, Knob};
use tare_results::schema::Plan;

#[derive(Debug, Serialize)]
pub struct FindJson<'a> {
    text: String,
    metric: &'a Option<String>,
    decided: bool,
    named: Option<&'a str>,
    ahead: Option<&'a str>,
    minimum_effect: f64,
    confidence: f64,
    candidates: &'a [Candidate],
    knobs: &'a [Knob],
    lowest_p99: Option<TailJson<'a>>,
    paste: Vec<Paste>,
    left_out: &'a [Unrealizable],
    blocks: usize,
    trials: usize,
    trials_without_value: usize,
    disturbed_trials: usize,
    cov: Option<f64>,
    elapsed_s: f64,
    trials_to_go: Option<usize>,
    to_go_s: Option<f64>,
    behind_at_most: Option<f64>,
    stopped: Option<String>,
    sessions: usize,
}

#[derive(Debug, Serialize)]
struct TailJson<'a> {
    name: &'a str,
    #[serde(flatten)]
    ratio: Ratio,
}

impl<'a> FindJson<'a> {
    pub fn of(find: &'a Find, plan: &Plan) -> Self {
        let ahead = find.ahead().map(|ahead| ahead.name.as_str());
        let named = ahead.filter(|_| find.decided);
        let condition = plan.conditions.iter().find(|condition| Some(condition.name.as_str()) == named);
        let tail = find.tail.as_ref().and_then(|tail| {
            let name = find.candidates.get(tail.candidate)?.name.as_str();
            Some(TailJson { name, ratio: Ratio::of(tail.p99_ratio) })
        });
        Self {
            text: sentence(find),
            metric: &find.metric,
            decided: find.decided,
            named,
            ahead,
            minimum_effect: find.rule.minimum_effect,
            confidence: 1.0 - find.rule.alpha,
            candidates: &find.candidates,
            knobs: &find.knobs,
            lowest_p99: tail,
            paste: condition.map(paste).unwrap_or_default(),
            left_out: &find.left_out,
            blocks: find.blocks,
            trials: find.trials,
            trials_without_value: find.without_value,
            disturbed_trials: find.disturbed,
            cov: find.cov,
            elapsed_s: find.elapsed_s,
            trials_to_go: find.trials_to_go,
            to_go_s: find.to_go_s,
            behind_at_most: find.known_behind(),
            stopped: stopped(find),
            sessions: find.rule.sessions,
        }
    }
}
