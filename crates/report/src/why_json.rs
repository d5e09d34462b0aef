//! What `tare why --json` prints.

use crate::words::why as words;
use serde::Serialize;
use std::borrow::Cow;
use tare_findings::time::ConditionTime;
use tare_findings::why::{Cause, Expected, FunctionChange, PartChange, Suspect, Why};

/// The document; `sides`, `difference` and `causes` are its contract.
#[derive(Debug, Serialize)]
pub struct WhyJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    sides: Vec<&'a ConditionTime>,
    difference: Option<DifferenceJson<'a>>,
    causes: Vec<CauseJson<'a>>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct DifferenceJson<'a> {
    us: f64,
    ci_low: Option<f64>,
    ci_high: Option<f64>,
    shown: bool,
    smallest_us: Option<f64>,
    paired: bool,
    one_run: bool,
    parts: &'a [PartChange],
    not_explained: &'a PartChange,
    functions: &'a [FunctionChange],
    functions_tested: usize,
}

#[derive(Debug, Serialize)]
struct CauseJson<'a> {
    kind: &'a Suspect,
    name: Cow<'a, str>,
    us: f64,
    ci_low: Option<f64>,
    ci_high: Option<f64>,
    share: Option<f64>,
    counts: Option<[f64; 2]>,
    verdict: &'static str,
    prove: String,
    expected: Expected,
    prove_s: Option<u32>,
}

impl<'a> WhyJson<'a> {
    /// The difference B - A of the same parts.
    pub fn of(found: &'a Why) -> Self {
        let whole = found.difference;
        Self {
            text: Some(words::why(found)),
            sides: found.sides.iter().collect(),
            difference: Some(DifferenceJson {
                us: whole.us,
                ci_low: whole.ci.map(|ci| ci.low),
                ci_high: whole.ci.map(|ci| ci.high),
                shown: whole.shown,
                smallest_us: whole.smallest_us,
                paired: found.paired,
                one_run: found.one_run,
                parts: &found.parts,
                not_explained: &found.not_explained,
                functions: &found.functions,
                functions_tested: found.functions_tested,
            }),
            causes: found.causes.iter().map(CauseJson::of).collect(),
            notes: words::cautions(found),
        }
    }

    /// Of each condition's time alone.
    pub fn of_times(times: &'a [ConditionTime]) -> Self {
        let labelled: Vec<_> = times.iter().map(|time| (time.name.as_str(), time)).collect();
        let notes = words::times_cautions(&labelled);
        let (text, difference, causes) = (None, None, Vec::new());
        Self { text, sides: times.iter().collect(), difference, causes, notes }
    }
}

impl<'a> CauseJson<'a> {
    fn of(cause: &'a Cause) -> Self {
        Self {
            kind: &cause.suspect,
            name: cause.suspect.name(),
            us: cause.us,
            ci_low: cause.ci.map(|ci| ci.low),
            ci_high: cause.ci.map(|ci| ci.high),
            share: cause.share,
            counts: cause.counts,
            verdict: if cause.shown { "shown" } else { "not shown" },
            prove: words::command(cause),
            expected: cause.prove.expected,
            prove_s: cause.prove.estimated_s,
        }
    }
}
