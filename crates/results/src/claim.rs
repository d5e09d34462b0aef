//! Published claims and the expected results, as written down before any measurement.

use crate::schema::Levels;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A study, reduced to what some claims need, and these claims.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// A short name, also the folder of its results.
    pub name: String,
    /// The letter of the article with these claims; none for claims from other sources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub article: Option<String>,
    pub study: String,
    /// Changes to the study, in the syntax of `--set`.
    #[serde(default)]
    pub set: Vec<String>,
    /// Number of blocks if no time limit is given: each is one trial of every condition.
    pub blocks: usize,
    /// Further engines that can test its claims, each with further changes to the study in the syntax of `--set`. The
    /// chosen one is part of `set`, so predictions do not have this field.
    #[serde(default, skip_serializing)]
    pub engines: BTreeMap<String, Vec<String>>,
    /// Whether the first condition is paired with each of the others and the samples of a pair alternate: a block then
    /// contains one such pair per other condition.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interleave: bool,
    /// Whether the CPUs of clients and the number of threads, up to that of the claims, are set by the size of the
    /// machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scaled: bool,
    #[serde(default)]
    pub needs: Needs,
    /// Server builds by name, `PRODUCT-VERSION`, each with further keys of `[builds.NAME]`.
    #[serde(default)]
    pub builds: BTreeMap<String, BTreeMap<String, String>>,
    pub claims: Vec<Claim>,
}

/// Requirements of an experiment on the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Needs {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<usize>,
    /// The oldest version of the installed server, such as `10.6`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Minimum number of logical CPUs (each hardware thread counts).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pus: Option<usize>,
    /// The instruction set in Rust's naming: `x86_64`, `aarch64`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
    /// What the author did not publish, as text: no machine can test it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unpublished: Option<String>,
}

/// A published statement, what is measured for it, and when it holds here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The argument of `tare reproduce NAME`; unique among claims and experiments.
    pub name: String,
    pub text: String,
    /// Where it was published: author or title, date, and the place in it.
    pub source: String,
    /// The author's figure, or its direction.
    pub published: Published,
    pub measure: Measure,
    /// The metric that it is about; if absent, every headline metric of the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// The levels of the base condition, or of the only one.
    pub a: Levels,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b: Option<Levels>,
    /// The range of the figure in which the claim holds here: sign and size, because machines and builds differ from
    /// the author's.
    pub holds: Band,
}

impl Claim {
    /// The levels of its conditions: of the base, and of the other if it compares two.
    pub fn sides(&self) -> impl Iterator<Item = &Levels> {
        std::iter::once(&self.a).chain(&self.b)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Published {
    Ratio(f64),
    /// A value, in the unit of the measured metric.
    Value(f64),
    /// Not a figure, only on which side of one it lies, as text.
    Direction(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// B / A of a metric's means, block by block.
    Ratio,
    /// B / A of the CoVs between trials, averaged over metrics.
    SpreadRatio,
    /// B / A of the largest CoV between trials of any metric, on each side that of its own metric.
    LargestSpreadRatio,
    /// B / A of the metric with the largest ratio.
    LargestRatio,
    /// B / A of every metric: the one farthest from 1, with an interval that contains those of all.
    EveryRatio,
    Value,
    /// The CoV of the samples within a trial, averaged over metrics.
    WithinCov,
    /// The CoV between trials, averaged over metrics.
    BetweenCov,
}

impl Measure {
    /// Whether it is B / A.
    pub fn is_ratio(self) -> bool {
        !matches!(self, Self::Value | Self::WithinCov | Self::BetweenCov)
    }
}

/// A range of figures, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// Below this the claim does not hold.
    pub from: f64,
    pub to: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Predictions {
    pub schema: u32,
    pub written: String,
    pub tare: String,
    pub servers: PathBuf,
    /// Time limit for all experiments, seconds; none: each experiment's own `blocks` apply.
    pub within_s: Option<f64>,
    pub experiments: Vec<Predicted>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    pub experiment: Experiment,
    /// Blocks of trials; 0 means that it is not run.
    pub blocks: usize,
    /// Seconds that these blocks take; with no blocks, seconds for the smallest number that can decide something.
    pub expected_s: f64,
    /// Seconds of the fewest blocks that can decide something; 0 if unknown, as in older files.
    #[serde(default)]
    pub least_s: f64,
    /// Why claims cannot be tested here, by their names.
    pub cannot: BTreeMap<String, Cannot>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum Cannot {
    Nodes { needs: usize, has: usize },
    Pus { needs: usize, has: usize },
    Architecture { needs: String, has: String },
    Version { needs: String, has: String },
    Builds { missing: Vec<String>, get: String },
    Unpublished { what: String },
    Condition { reason: String },
}

/// Increased when older programs can no longer read [`Predictions`]. This one reads all up to it.
pub const PREDICTIONS_SCHEMA: u32 = 3;
/// Name of the file with [`Predictions`] in a folder of reproductions.
pub const PREDICTIONS: &str = "predictions.json";
