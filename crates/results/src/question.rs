//! The question of a study, a word in its file that the first line of every report answers, and the rule for settling
//! a comparison of two conditions.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use tare_stats::sequential::Rule;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// `effect`: which factor moves the metrics, and by how much.
    Effect,
    /// `spread`: which factor makes trials of the same condition differ.
    Spread,
    /// `scaling`: what more threads or nodes give, and where they stop helping.
    Scaling,
    /// `best`: which condition is the best, or `best FACTOR`: which level of a factor is.
    Best(Option<String>),
}

/// Valid values in a study file, for its error messages.
pub const EXPECTED: &str = "effect, spread, scaling, best, or best and the name of a factor";

impl Question {
    /// Parses the words of a study file; none if they are no valid question.
    pub fn from_words(words: &str) -> Option<Self> {
        let mut words = words.split_whitespace();
        let question = match (words.next()?, words.next()) {
            ("effect", None) => Self::Effect,
            ("spread", None) => Self::Spread,
            ("scaling", None) => Self::Scaling,
            ("best", factor) => Self::Best(factor.map(str::to_owned)),
            _ => return None,
        };
        words.next().is_none().then_some(question)
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Effect => f.write_str("effect"),
            Self::Spread => f.write_str("spread"),
            Self::Scaling => f.write_str("scaling"),
            Self::Best(None) => f.write_str("best"),
            Self::Best(Some(factor)) => write!(f, "best {factor}"),
        }
    }
}

/// A factor without any effect that distinguishes the sides of a comparison, so that both sides may be equal.
pub const SIDE: &str = "side";

/// When a comparison of two conditions is settled: fixed before the first trial, so that a resumed run keeps the same
/// rule and error rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settle {
    pub a: String,
    pub b: String,
    /// The compared metric; none: the first headline metric of the first pair.
    pub metric: Option<String>,
    /// The smallest change of interest, as a fraction.
    pub minimum_effect: f64,
    /// False-alarm probability over all looks.
    pub alpha: f64,
    pub rule: Rule,
    /// Whether the rule is chosen again from the measured duration of pairs, before the first look.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_time: bool,
    /// Total seconds of trials; none: until it is settled.
    pub budget_s: Option<f64>,
    pub seed: u64,
    /// Number of sessions, fixed before the first one. With five or more the verdict is over sessions.
    pub sessions: usize,
    /// The sessions that have begun, in their order.
    #[serde(default)]
    pub begun: Vec<Session>,
    /// Metrics and covariates that the change cannot affect: if one of them moves, nothing is claimed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<String>,
    /// Whether both sides are the same, and pairs are run until the time is over, whatever their result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub certify: bool,
    /// Set if both sides run at the same time, each on a half of the machine; none: one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duet: Option<Duet>,
}

/// The conditions with the halves of the machine exchanged: A and B in [`Settle`] are on the first half.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Duet {
    /// Name of the condition that is A on the second half.
    pub a: String,
    /// Name of the condition that is B on the second half.
    pub b: String,
}

/// One uninterrupted run on one boot, including runs resumed on the same boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Its first block; it ends before the next session's first block.
    pub first_block: usize,
    /// The boot id of the kernel; none if not reported.
    pub boot_id: Option<String>,
}

impl Settle {
    /// A rule for conditions A and B in one session, with a false-alarm probability of 5%: any difference, of the first
    /// headline metric, without a time limit.
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

    /// The conditions of a pair, in the order of their places: first and second to run, or first and second half.
    pub fn pair(&self, b_first: bool) -> [&str; 2] {
        match (&self.duet, b_first) {
            (None, false) => [&self.a, &self.b],
            (None, true) => [&self.b, &self.a],
            (Some(duet), false) => [&self.a, &duet.b],
            (Some(duet), true) => [&self.b, &duet.a],
        }
    }

    /// Whether a condition is A, on either half.
    pub fn is_a(&self, condition: &str) -> bool {
        self.a == condition || self.duet.as_ref().is_some_and(|duet| duet.a == condition)
    }

    /// Whether a condition is B, on either half.
    pub fn is_b(&self, condition: &str) -> bool {
        self.b == condition || self.duet.as_ref().is_some_and(|duet| duet.b == condition)
    }

    /// The session of a block, from 0.
    pub(crate) fn session_of(&self, block: usize) -> usize {
        self.begun.partition_point(|session| session.first_block <= block).saturating_sub(1)
    }

    pub fn boots(&self) -> usize {
        self.begun.iter().map(|session| session.boot_id.as_deref()).collect::<BTreeSet<_>>().len()
    }

    pub fn is_over_sessions(&self) -> bool {
        self.rule == Rule::Sessions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_study_file_come_back() {
        for words in ["effect", "spread", "scaling", "best", "best strategy"] {
            assert_eq!(Question::from_words(words).map(|q| q.to_string()).as_deref(), Some(words));
        }
        for wrong in ["", "why", "spread aslr", "best a b"] {
            assert_eq!(Question::from_words(wrong), None, "{wrong}");
        }
    }
}
