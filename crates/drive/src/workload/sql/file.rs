//! The file of statements as it is written.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// All that a file of statements may hold.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(default)]
    pub data: Data,
    #[serde(default)]
    pub parameters: BTreeMap<String, Parameter>,
    #[serde(rename = "transaction")]
    pub transactions: Vec<Transaction>,
    /// Whether errors that are no deadlocks end the trial (`fail`) or are counted by class (`count`).
    #[serde(default)]
    pub errors: Errors,
}

/// What becomes of a transaction whose statement fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Errors {
    #[default]
    Fail,
    Count,
}

/// `[data]`: in this order.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Data {
    /// Statements, separated by semicolons.
    #[serde(default)]
    pub schema: String,
    /// Files of such statements, run whole.
    #[serde(default)]
    pub files: Vec<PathBuf>,
    /// Table -> file of rows; its first line names the columns, an empty field is NULL.
    #[serde(default)]
    pub csv: BTreeMap<String, PathBuf>,
    /// Statements for when the rows are there.
    #[serde(default)]
    pub after: String,
}

/// One of `[parameters]`: exactly one of the three.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameter {
    pub range: Option<[i64; 2]>,
    pub distribution: Option<String>,
    pub list: Option<Vec<toml::Value>>,
    /// Letters of a random text.
    pub letters: Option<usize>,
}

/// Statements that are run together, and how often.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Transaction {
    pub name: String,
    #[serde(default = "one")]
    pub weight: u32,
    pub statements: Vec<String>,
    /// Whether they stand between BEGIN and COMMIT; absent: where there are several.
    pub begin: Option<bool>,
}

fn one() -> u32 {
    1
}
