//! The output of `tare why --json`.

use crate::words::{proof, suspects, why as words};
use serde::Serialize;
use std::borrow::Cow;
use tare_findings::ends;
use tare_findings::lines::LinesSummary;
use tare_findings::summary::CaptureSummary;
use tare_findings::time::ConditionTime;
use tare_findings::why::{
    Cause, EventChange, Expected, NamedChange, PartChange, Proof, ProofVerdict, Suspect, TimeChange, Times, Trial, Why,
};
use tare_stats::Interval;

/// The document; the fields of `sides`, `difference` and `causes` are stable.
#[derive(Debug, Serialize)]
pub struct WhyJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    sides: Vec<&'a ConditionTime>,
    difference: Option<DifferenceJson<'a>>,
    causes: Vec<CauseJson<'a>>,
    /// Captures of conditions that are not compared, as in `tare show --json`.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    captures: &'a [CaptureSummary],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    proofs: Vec<ProofJson<'a>>,
    notes: Vec<String>,
}

/// An experiment of `--prove`; without `verdict` until it is finished.
#[derive(Debug, Serialize)]
struct ProofJson<'a> {
    kind: &'a Suspect,
    name: Cow<'a, str>,
    condition: &'a str,
    changes: String,
    expected: Expected,
    effect: f64,
    within_s: f64,
    verdict: Option<ProofVerdict>,
    ratio: Option<f64>,
    #[serde(flatten, serialize_with = "ends::ci")]
    ci: Option<Interval>,
    pairs: Option<usize>,
    elapsed_s: Option<f64>,
}

#[derive(Debug, Serialize)]
struct DifferenceJson<'a> {
    #[serde(flatten)]
    whole: TimeChange,
    paired: bool,
    one_run: bool,
    parts: &'a [PartChange],
    not_explained: &'a PartChange,
    undisturbed: Option<UndisturbedJson>,
    sleeps: &'a [NamedChange],
    sleeps_tested: usize,
    functions: &'a [NamedChange],
    functions_tested: usize,
    statements: &'a [NamedChange],
    statements_tested: usize,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    events: &'a [EventChange],
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<&'a [Option<LinesSummary>; 2]>,
}

/// The difference without the effect of other programs.
#[derive(Debug, Serialize)]
struct UndisturbedJson {
    us: f64,
    #[serde(flatten, serialize_with = "ends::ci")]
    ci: Option<Interval>,
    shown: bool,
}

#[derive(Debug, Serialize)]
struct CauseJson<'a> {
    kind: &'a Suspect,
    name: Cow<'a, str>,
    us: f64,
    #[serde(flatten, serialize_with = "ends::ci")]
    ci: Option<Interval>,
    share: Option<f64>,
    counts: Option<[f64; 2]>,
    verdict: &'static str,
    prove: String,
    expected: Expected,
    prove_s: Option<u32>,
}

impl<'a> WhyJson<'a> {
    pub fn of(found: &'a Why) -> Self {
        Self {
            text: Some(words::why(found)),
            sides: found.sides.iter().collect(),
            difference: Some(DifferenceJson {
                whole: found.difference,
                paired: found.paired,
                one_run: found.one_run,
                parts: &found.parts,
                not_explained: &found.not_explained,
                undisturbed: found.undisturbed.map(|own| UndisturbedJson { us: own.us, ci: own.ci, shown: own.shown }),
                sleeps: &found.sleeps.shown,
                sleeps_tested: found.sleeps.tested,
                functions: &found.functions.shown,
                functions_tested: found.functions.tested,
                statements: &found.statements.shown,
                statements_tested: found.statements.tested,
                events: &found.events,
                lines: found.lines.iter().any(Option::is_some).then_some(&found.lines),
            }),
            causes: found.causes.iter().map(CauseJson::of).collect(),
            captures: &[],
            proofs: Vec::new(),
            notes: words::cautions(found).into_iter().chain(words::hardware(found)).collect(),
        }
    }

    /// The document of `tare why RESULTS`: the times of its conditions and the captures, without a difference.
    pub fn of_times(times: &'a Times) -> Self {
        let Times { conditions, captures, .. } = times;
        let notes = words::cautions_of(times);
        let (text, difference, causes) = (None, None, Vec::new());
        Self { text, sides: conditions.iter().collect(), difference, causes, captures, proofs: Vec::new(), notes }
    }

    /// Adds the experiments that will be made, each with this time limit in seconds.
    #[must_use]
    pub fn planned(mut self, trials: &'a [Trial], within_s: f64) -> Self {
        self.proofs = trials.iter().map(|trial| ProofJson::of(trial, None, within_s)).collect();
        self
    }

    /// Adds the experiments that were made, each with this time limit in seconds.
    #[must_use]
    pub fn proved(mut self, proofs: &'a [Proof], within_s: f64) -> Self {
        self.proofs = proofs.iter().map(|proof| ProofJson::of(&proof.trial, Some(proof), within_s)).collect();
        self
    }
}

impl<'a> ProofJson<'a> {
    fn of(trial: &'a Trial, made: Option<&Proof>, within_s: f64) -> Self {
        Self {
            kind: &trial.suspect,
            name: trial.suspect.name(),
            condition: &trial.condition,
            changes: proof::changes(&trial.changes),
            expected: trial.expected,
            effect: trial.effect,
            within_s,
            verdict: made.map(|proof| proof.verdict),
            ratio: made.and_then(|proof| proof.ratio),
            ci: made.and_then(|proof| proof.ci),
            pairs: made.map(|proof| proof.pairs),
            elapsed_s: made.map(|proof| proof.elapsed_s),
        }
    }
}

impl<'a> CauseJson<'a> {
    fn of(cause: &'a Cause) -> Self {
        Self {
            kind: &cause.suspect,
            name: cause.suspect.name(),
            us: cause.us,
            ci: cause.ci,
            share: cause.share,
            counts: cause.counts,
            verdict: if cause.shown { "shown" } else { "not shown" },
            prove: suspects::command(cause),
            expected: cause.prove.expected,
            prove_s: cause.prove.estimated_s,
        }
    }
}
