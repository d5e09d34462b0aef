//! A published claim and what is expected of it here, as they are written down before anything is measured.

use crate::schema::Levels;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A study, narrowed to what some claims need, and these claims.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Short, also the folder of its results.
    pub name: String,
    /// The letter of the article whose claims these are; none for claims of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub article: Option<String>,
    pub study: String,
    /// What is changed in it, each as `--set` has it.
    #[serde(default)]
    pub set: Vec<String>,
    /// Blocks that are run where no time is named: each is one trial of every condition.
    pub blocks: usize,
    /// Whether its first condition and each of the others run as pairs, whose samples take turns: then a block is such
    /// a pair with every one of the others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interleave: bool,
    #[serde(default)]
    pub needs: Needs,
    /// Server builds by name, `PRODUCT-VERSION`, each with further keys of `[builds.NAME]`.
    #[serde(default)]
    pub builds: BTreeMap<String, BTreeMap<String, String>>,
    pub claims: Vec<Claim>,
}

/// What a machine must have for an experiment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Needs {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<usize>,
    /// Fewest logical CPUs, hardware threads counted one by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pus: Option<usize>,
    /// The instruction set, as Rust calls it: `x86_64`, `aarch64`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
    /// What its author did not publish, in words: no machine can test it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unpublished: Option<String>,
}

/// What someone published, what is measured for it, and when it holds here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// What `tare reproduce NAME` takes; no other claim and no experiment has it.
    pub name: String,
    pub text: String,
    /// Where it was published: author or title, date, and the place in it.
    pub source: String,
    /// What the author measured, or which way it went.
    pub published: Published,
    pub measure: Measure,
    /// The figure that it is about: a metric's name; absent: every headline metric of the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// The levels of the condition that it starts from, or of its only one.
    pub a: Levels,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b: Option<Levels>,
    /// Figures with which it holds here: sign and size, since machines and builds differ from the author's.
    pub holds: Band,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Published {
    /// B / A.
    Ratio(f64),
    /// A value, in the unit of what is measured.
    Value(f64),
    /// No figure, only on which side of one it lies, in words.
    Direction(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// B / A of a metric's means, block by block.
    Ratio,
    /// B / A of the CoVs between trials, averaged over metrics.
    SpreadRatio,
    /// B / A of the metric in which it is largest.
    LargestRatio,
    Value,
    /// The CoV of the samples within a trial, averaged over metrics.
    WithinCov,
    /// The CoV between trials, averaged over metrics.
    BetweenCov,
}

/// From which figure to which, both included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// Below this the claim does not hold.
    pub from: f64,
    /// Above this it does not hold either.
    pub to: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Predictions {
    pub schema: u32,
    pub written: String,
    pub tare: String,
    pub servers: PathBuf,
    /// The seconds that were given to all of it; none: each experiment's own counts.
    pub within_s: Option<f64>,
    pub experiments: Vec<Predicted>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    pub experiment: Experiment,
    /// Blocks of trials; 0: it is not run.
    pub blocks: usize,
    /// Seconds that these blocks take; where there are none, what the fewest that decide something would take.
    pub expected_s: f64,
    /// Why claims cannot be tested here, by their names.
    pub cannot: BTreeMap<String, Cannot>,
}

/// Why a claim cannot be tested on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum Cannot {
    Nodes {
        needs: usize,
        has: usize,
    },
    Pus {
        needs: usize,
        has: usize,
    },
    Architecture {
        needs: String,
        has: String,
    },
    Builds {
        missing: Vec<String>,
        get: String,
    },
    Unpublished {
        what: String,
    },
    /// A condition cannot be done on this machine.
    Condition {
        reason: String,
    },
}

/// Raised when older programs could not read [`Predictions`] any more.
pub const PREDICTIONS_SCHEMA: u32 = 1;
/// The file of a folder of reproductions that holds [`Predictions`].
pub const PREDICTIONS: &str = "predictions.json";
