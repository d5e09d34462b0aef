//! What `tare find --json` prints.

use crate::words::find::{sentence, stopped};
use crate::words::paste::{Paste, paste};
use serde::Serialize;
use tare_findings::certificate::Ratio;
use tare_findings::find::Find;
use tare_results::schema::Plan;

#[derive(Debug, Serialize)]
pub struct FindJson<'a> {
    text: String,
    named: Option<&'a str>,
    ahead: Option<&'a str>,
    minimum_effect: f64,
    confidence: f64,
    #[serde(flatten)]
    find: &'a Find,
    behind_at_most: Option<f64>,
    lowest_p99: Option<TailJson<'a>>,
    paste: Vec<Paste>,
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
            named,
            ahead,
            minimum_effect: find.rule.minimum_effect,
            confidence: 1.0 - find.rule.alpha,
            find,
            behind_at_most: find.known_behind(),
            lowest_p99: tail,
            paste: condition.map(paste).unwrap_or_default(),
            stopped: stopped(find),
            sessions: find.rule.sessions,
        }
    }
}
