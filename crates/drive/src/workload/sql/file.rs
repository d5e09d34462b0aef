//! The file of statements as it is written, the sizes in it that a study may change, and expressions with them.

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
    /// Counter -> its initial value; the first value drawn is one more.
    #[serde(default)]
    pub counters: BTreeMap<String, Number>,
    #[serde(default)]
    pub parameters: BTreeMap<String, FileParameter>,
    #[serde(rename = "transaction")]
    pub transactions: Vec<FileTransaction>,
    /// Steps that a trial runs one after the other, instead of all transactions at once.
    #[serde(default, rename = "step")]
    pub steps: Vec<FileStep>,
    /// Whether errors other than deadlocks end the trial (`fail`) or are counted by class (`count`).
    #[serde(default)]
    pub errors: Errors,
}

/// Limit of named objects of each kind in a file, which are looked up by name, and by each other.
const MOST: usize = 5_000;
/// Limit of objects with metrics of their own: a sample's record has room for 10,000.
const MOST_MEASURED: usize = 500;

impl File {
    pub(crate) fn check_counts(&self) -> Result<(), String> {
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

/// `[data]`, in this order.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Data {
    /// Whether the tables sbtest1, sbtest2 ... are created first, as sysbench creates them, in the file's sizes.
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

/// An entry of `[parameters]`, with exactly one way to draw it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileParameter {
    pub range: Option<[Number; 2]>,
    pub distribution: Option<String>,
    pub list: Option<Vec<toml::Value>>,
    /// Number of characters of a random text.
    pub letters: Option<usize>,
    /// A random text: `#` becomes a digit, `@` a letter.
    pub template: Option<String>,
    /// Another parameter, which has a range; this one is greater by `plus`.
    pub after: Option<String>,
    pub plus: Option<Number>,
    pub next: Option<String>,
    /// The number by which it advances the counter.
    pub by: Option<u32>,
    /// The two counters that are its bounds.
    pub within: Option<[String; 2]>,
    /// Number of values in a list: `IN (:ids)`.
    pub count: Option<usize>,
    /// Difference between consecutive values of a list.
    pub step: Option<i64>,
    #[serde(default)]
    pub draw: DrawnFor,
}

/// What a parameter is drawn for; it is drawn again each time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum DrawnFor {
    #[default]
    Transaction,
    Statement,
}

/// Statements that are run together, with their weight.
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
    /// Whether the statements run between BEGIN and COMMIT; absent: if there are several.
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
    /// Transactions of each role, none of which gets far ahead of another; absent: the step lasts for a sample.
    pub count: Option<Number>,
    /// The roles, which run at the same time, each with threads of its own.
    #[serde(default)]
    pub roles: BTreeMap<String, FileRole>,
    /// Tables whose statistics the server updates before the step begins.
    #[serde(default)]
    pub analyze: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileRole {
    /// Names of transactions, each run as often as its weight specifies.
    pub run: Vec<String>,
    /// Transactions per second of each of its threads; absent: as fast as they go.
    pub rate: Option<f64>,
}

/// A statement, alone or with its repetitions.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum FileStatement {
    Sql(String),
    Repeated(Repeated),
}

/// A statement with its number of repetitions and of rows.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Repeated {
    pub sql: String,
    /// Number of executions, one after the other.
    #[serde(default = "one")]
    pub times: u32,
    /// Rows of an INSERT: its last parentheses are repeated this many times, each with values of its own.
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

/// The default of a number that is added.
pub(super) fn zero() -> Number {
    Number::Whole(0)
}

/// Number of tables, and of rows in each, which the keys `tables` and `rows` change: `[sizes]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Sizes {
    pub tables: u64,
    pub rows: u64,
    /// Fewest rows with which the statements do what they are there for.
    pub least_rows: u64,
}

impl Sizes {
    /// With other numbers of tables and rows, if requested.
    pub(crate) fn changed(self, tables: Option<u64>, rows: Option<u64>) -> Result<Self, String> {
        let changed = Self { tables: tables.unwrap_or(self.tables), rows: rows.unwrap_or(self.rows), ..self };
        match changed.rows < changed.least_rows {
            true => Err(format!("at least {} rows (workload.rows), not {}", changed.least_rows, changed.rows)),
            false => Ok(changed),
        }
    }
}

impl Default for Sizes {
    /// One table of 10,000 rows, as in sysbench.
    fn default() -> Self {
        Self { tables: 1, rows: 10_000, least_rows: 0 }
    }
}

/// A whole number, or an expression with sizes: `rows / 2 + 1`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum Number {
    Whole(i64),
    Text(String),
}

impl Number {
    /// Its value. `*` and `/` (rounded down) bind tighter than `+` and `-`; each is evaluated from left to right.
    pub(crate) fn value(&self, sizes: Sizes) -> Result<i64, String> {
        let text = match self {
            Self::Whole(number) => return Ok(*number),
            Self::Text(text) => text,
        };
        let expected = || format!("{text:?}: whole numbers, rows, tables, and + - * / between them");
        let spaced =
            ["+", "-", "*", "/"].iter().fold(text.clone(), |text, sign| text.replace(sign, &format!(" {sign} ")));
        let mut words = spaced.split_whitespace();
        let (mut sum, mut sign, mut product) = (0_i64, 1_i64, None::<i64>);
        let mut operator = "+";
        loop {
            let word = words.next().ok_or_else(expected)?;
            let factor = match word {
                "rows" => i64::try_from(sizes.rows).map_err(|_| expected())?,
                "tables" => i64::try_from(sizes.tables).map_err(|_| expected())?,
                number => number.parse().map_err(|_| expected())?,
            };
            product = match (operator, product) {
                ("*", Some(before)) => before.checked_mul(factor),
                ("/", Some(before)) => before.checked_div_euclid(factor),
                _ => Some(factor),
            };
            let so_far = product.ok_or_else(expected)?;
            let next = words.next();
            if !matches!(next, Some("*" | "/")) {
                sum = sign.checked_mul(so_far).and_then(|term| sum.checked_add(term)).ok_or_else(expected)?;
            }
            match next {
                None => return Ok(sum),
                Some("-") => (operator, sign) = ("-", -1),
                Some("+") => (operator, sign) = ("+", 1),
                Some(other @ ("*" | "/")) => operator = other,
                Some(_) => return Err(expected()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_products_of_sizes_are_numbers() {
        let sizes = Sizes { tables: 4, rows: 1001, least_rows: 0 };
        let of = |text: &str| Number::Text(text.into()).value(sizes);
        assert_eq!(of("rows"), Ok(1001));
        assert_eq!(of("rows / 2 + 1"), Ok(501));
        assert_eq!(of("2*rows-tables*3/2 - 1"), Ok(2002 - 6 - 1));
        assert_eq!(of("10 - 3 - 2"), Ok(5));
        for wrong in [
            "",
            "rows rows",
            "rows +",
            "+ 1",
            "ros",
            "1 / 0",
            "9223372036854775807 + 1",
            "rows * rows * rows * rows * rows * rows * rows",
        ] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
