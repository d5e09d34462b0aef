//! The rule by which a comparison of two conditions is settled, as a plan keeps it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use tare_stats::sequential::Rule;

/// A factor that sets nothing: which side of a comparison a condition is, so that one and the same can be both.
pub const SIDE: &str = "side";

/// When a comparison of two conditions is settled: fixed before the first trial, so that a run that goes on keeps the
/// same rule and the same error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settle {
    pub a: String,
    pub b: String,
    /// The metric that is compared; none: the first headline metric of the first pair.
    pub metric: Option<String>,
    /// The smallest change of interest, as a fraction.
    pub minimum_effect: f64,
    /// Chance of a false alarm over all looks.
    pub alpha: f64,
    pub rule: Rule,
    /// Whether the rule is chosen again by the time that pairs take, as long as nothing has been looked at.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_time: bool,
    /// Seconds that trials may take together; none: until it is settled.
    pub budget_s: Option<f64>,
    pub seed: u64,
    /// Sessions that it is made of, fixed before the first one. From five on the verdict is one over sessions.
    pub sessions: usize,
    /// Those that have begun, in their order.
    #[serde(default)]
    pub begun: Vec<Session>,
    /// Metrics and covariates that the change cannot touch: where one of them moves, nothing is claimed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<String>,
    /// Whether both sides are the same, and pairs are made until the time is over, whatever they say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub certify: bool,
    /// Where both sides run at the same time, each on a half of the machine; none: one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duet: Option<Duet>,
}

/// The same two sides with the halves of the machine exchanged: of [`Settle`], A and B name them on the first half.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Duet {
    /// Name of the condition that is A on the second half.
    pub a: String,
    /// Name of the condition that is B on the second half.
    pub b: String,
}

/// One uninterrupted run on one boot, or one that went on with it on the same boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The first block that belongs to it; the last one is before the next session's first.
    pub first_block: usize,
    /// The boot that it is on, as the kernel names it; none where it does not.
    pub boot_id: Option<String>,
}

impl Settle {
    /// A rule for conditions A and B in one session, at a chance of 5%: any difference, of the first headline metric,
    /// without a limit of time.
    pub fn between([a, b]: [String; 2], rule: Rule, seed: u64) -> Self {
        Self {
            a,
            b,
            metric: None,
            minimum_effect: 0.0,
            alpha: 0.05,
            rule,
            by_time: false,
            budget_s: None,
            seed,
            sessions: 1,
            begun: Vec::new(),
            controls: Vec::new(),
            certify: false,
            duet: None,
        }
    }

    /// The conditions of a pair, in the order of their places: the first to run, or the one on the first half.
    pub fn pair(&self, b_first: bool) -> [&str; 2] {
        match (&self.duet, b_first) {
            (None, false) => [&self.a, &self.b],
            (None, true) => [&self.b, &self.a],
            (Some(duet), false) => [&self.a, &duet.b],
            (Some(duet), true) => [&self.b, &duet.a],
        }
    }

    /// Whether a condition is A, on whichever half.
    pub fn is_a(&self, condition: &str) -> bool {
        self.a == condition || self.duet.as_ref().is_some_and(|duet| duet.a == condition)
    }

    /// Whether a condition is B, on whichever half.
    pub fn is_b(&self, condition: &str) -> bool {
        self.b == condition || self.duet.as_ref().is_some_and(|duet| duet.b == condition)
    }

    /// The session of a block, from 0.
    pub fn session_of(&self, block: usize) -> usize {
        self.begun.partition_point(|session| session.first_block <= block).saturating_sub(1)
    }

    pub fn boots(&self) -> usize {
        self.begun.iter().map(|session| session.boot_id.as_deref()).collect::<BTreeSet<_>>().len()
    }

    pub fn is_over_sessions(&self) -> bool {
        self.rule == Rule::Sessions
    }
}
