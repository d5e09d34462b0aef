//! A verdict on a claim, as values without any text.

use crate::ends;
use serde::Serialize;
use tare_results::claim::{Cannot, Claim};
use tare_results::server::LowOptimisation;
use tare_stats::Interval;

#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    /// The claim as it was written down before the run.
    pub claim: Claim,
    /// None if nothing has been run for it.
    pub verdict: Option<Reproduced>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reproduced {
    /// The interval lies within the range in which the claim holds.
    Holds(Figure),
    /// The interval lies outside that range.
    DoesNotHold(Figure),
    NotDecided(Open),
    /// It cannot be tested on this machine, or on any.
    CannotBeTested(Cannot),
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// The ratio B / A, or the value.
    pub value: f64,
    /// Its 95% interval, 99.75% from two trials; none with too few trials.
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
    /// A compared with its own repetition, measured in the same blocks; none if the claim is not about means.
    pub again: Option<Again>,
    pub trials: usize,
    /// How many of the trials were disturbed but count.
    pub disturbed: usize,
    /// Product and version of the measured servers, that of A first: `MariaDB 10.11.14`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// The reduced optimisation level with which one of the servers was compiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compiled: Option<LowOptimisation>,
}

/// The difference of the machine from itself: a condition of the experiment measured twice, in the same blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Again {
    /// The second measurement / the first.
    pub value: f64,
    /// 95% interval of this ratio; none with too few blocks.
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Open {
    /// The measured figure; none if there is none so far.
    pub figure: Option<Figure>,
    pub why: Why,
    /// Estimated total seconds, from the variation of the trials so far; none if the time needed is unknown.
    pub needs_s: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Nothing has been run for it in the available time.
    NotRun,
    /// Trials failed, or too few have ended for an interval.
    TooFew,
    /// Trials were disturbed, and too few clean ones are left.
    Disturbed,
    /// The interval crosses an end of the range in which the claim holds.
    Crosses,
    /// The same condition, measured twice, differs by so much that this alone could change the verdict.
    Again,
}
