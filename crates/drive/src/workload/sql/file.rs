//! The file of statements as it is written.

use super::sizes::{Number, Sizes};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(default, rename = "title")]
    pub _title: String,
    #[serde(default)]
    pub sizes: Sizes,
    #[serde(default)]
    pub data: Data,
    /// Counter -> the number behind which it starts.
    #[serde(default)]
    pub counters: BTreeMap<String, Number>,
    #[serde(default)]
    pub parameters: BTreeMap<String, FileParameter>,
    #[serde(rename = "transaction")]
    pub transactions: Vec<FileTransaction>,
    /// What a trial does one after the other, in place of all transactions at once.
    #[serde(default, rename = "step")]
    pub steps: Vec<FileStep>,
    /// Whether errors that are no deadlocks end the trial (`fail`) or are counted by class (`count`).
    #[serde(default)]
    pub errors: Errors,
}

/// Of each kind that a file names things of, at most: they are looked up by name, and by each other.
const MOST: usize = 5_000;
/// Of what has metrics of its own, at most: a sample's record has room for 10,000.
const MOST_MEASURED: usize = 500;

impl File {
    pub fn check_counts(&self) -> Result<(), String> {
        let statements = self.transactions.iter().map(|one| one.statements.len()).sum();
        let roles = || self.steps.iter().flat_map(|step| step.roles.values());
        let counts = [
            ("counters", self.counters.len(), MOST),
            ("parameters", self.parameters.len(), MOST),
            ("transactions", self.transactions.len(), MOST_MEASURED),
            ("statements", statements, MOST_MEASURED),
            ("steps", self.steps.len(), MOST_MEASURED),
            ("roles", roles().count(), MOST_MEASURED),
            ("transactions of roles", roles().map(|role| role.run.len()).sum(), MOST),
        ];
        match counts.iter().find(|(_, count, most)| count > most) {
            Some((what, count, most)) => Err(format!("at most {most} {what}, not {count}")),
            None => Ok(()),
        }
    }
}

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
    /// Whether the tables sbtest1, sbtest2 ... are made first, as sysbench makes them, in the file's sizes.
    #[serde(default)]
    pub sysbench: bool,
    #[serde(default)]
    pub schema: String,
    #[serde(default)]
    pub files: Vec<PathBuf>,
    /// Table -> file of rows; its first line names the columns, an empty field is NULL.
    #[serde(default)]
    pub csv: BTreeMap<String, PathBuf>,
    #[serde(default)]
    pub after: String,
}

/// One of `[parameters]`: exactly one way to draw it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileParameter {
    pub range: Option<[Number; 2]>,
    pub distribution: Option<String>,
    pub list: Option<Vec<toml::Value>>,
    /// Letters of a random text.
    pub letters: Option<usize>,
    /// A random text: `#` becomes a digit, `@` a letter.
    pub template: Option<String>,
    /// Another parameter, which has a range: this one is so much more.
    pub after: Option<String>,
    pub plus: Option<Number>,
    pub next: Option<String>,
    /// By how much it takes the counter on.
    pub by: Option<u32>,
    /// Two counters between which it lies.
    pub within: Option<[String; 2]>,
    /// Values of a list: `IN (:ids)`.
    pub count: Option<usize>,
    /// How much further each value of a list lies than the one before.
    pub step: Option<i64>,
    #[serde(default)]
    pub draw: DrawnFor,
}

/// What a parameter is drawn for, each time anew.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum DrawnFor {
    #[default]
    Transaction,
    Statement,
}

/// Statements that are run together, and how often.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileTransaction {
    pub name: String,
    /// The kind of statements, by which tables of results are sorted.
    #[serde(default, rename = "group")]
    pub _group: Option<Group>,
    #[serde(default = "one")]
    pub weight: u32,
    pub statements: Vec<FileStatement>,
    /// Whether they stand between BEGIN and COMMIT; absent: where there are several.
    pub begin: Option<bool>,
}

/// The groups in which results of statements are published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Group {
    Point,
    Range,
    AggregatedRange,
    Write,
    Mixed,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileStep {
    pub name: String,
    /// Transactions of each of its roles, none of which gets far ahead of another; absent: it lasts for a sample.
    pub count: Option<Number>,
    /// Who does what at the same time, each with threads of its own.
    #[serde(default)]
    pub roles: BTreeMap<String, FileRole>,
    /// Tables whose statistics the server works out before it begins.
    #[serde(default)]
    pub analyze: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileRole {
    /// Names of transactions, of which each comes as often as its weight says.
    pub run: Vec<String>,
    /// Transactions a second of each of its threads; absent: as fast as they go.
    pub rate: Option<f64>,
}

/// A statement, alone or with how often it is run.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum FileStatement {
    Sql(String),
    Repeated(Repeated),
}

/// A statement with how often it is run, and of how many rows it is.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Repeated {
    pub sql: String,
    /// Times that it is run, one after the other.
    #[serde(default = "one")]
    pub times: u32,
    /// Rows of an INSERT: its last parentheses stand so many times, each with values of its own.
    #[serde(default = "one")]
    pub rows: u32,
}

impl From<FileStatement> for Repeated {
    fn from(statement: FileStatement) -> Self {
        match statement {
            FileStatement::Sql(sql) => Self { sql, times: 1, rows: 1 },
            FileStatement::Repeated(repeated) => repeated,
        }
    }
}

fn one() -> u32 {
    1
}

/// What is added where nothing is.
pub(super) fn zero() -> Number {
    Number::Whole(0)
}
