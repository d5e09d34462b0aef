//! A verdict on a claim, as a value. Nothing of it is words.

use crate::ends;
use serde::Serialize;
use tare_results::claim::{Cannot, Claim};
use tare_results::server::LowOptimisation;
use tare_stats::Interval;

#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    /// The claim as it was written down before the run.
    pub claim: Claim,
    /// None where nothing has been run for it.
    pub verdict: Option<Reproduced>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reproduced {
    /// The interval lies within the figures with which it holds.
    Holds(Figure),
    /// The interval lies outside of them.
    DoesNotHold(Figure),
    NotDecided(Open),
    /// This machine, or any, cannot tell.
    CannotBeTested(Cannot),
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figure {
    /// The ratio B / A, or the value.
    pub value: f64,
    /// Its 95% interval; none with too few trials.
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
    /// The same of A against A, measured in the same blocks; none where the claim is about no means.
    pub again: Option<Again>,
    pub trials: usize,
    /// Trials among all of them that were disturbed and count.
    pub disturbed: usize,
    /// The level below the usual at which a server among them was compiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compiled: Option<LowOptimisation>,
}

/// How much the machine differs from itself: a condition of the experiment measured twice, in the same blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Again {
    /// The second measurement / the first.
    pub value: f64,
    /// 95% interval of this ratio; none with too few blocks.
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Open {
    /// What was measured; none where there is no figure yet.
    pub figure: Option<Figure>,
    pub why: Why,
    /// Seconds that all of it would take, by how the trials so far vary; none where no time is known to be enough.
    pub needs_s: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Nothing has been run for it in the time that was given.
    NotRun,
    /// Trials failed, or too few have ended for an interval.
    TooFew,
    /// Trials were disturbed, and too few clean ones are left.
    Disturbed,
    /// The interval crosses an end of what holds.
    Crosses,
    /// The same condition, measured twice, differs by half as much as the claim or more: the machine does that.
    Again,
}
