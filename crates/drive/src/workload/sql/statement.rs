//! A statement: its text and its parameters.

use super::file::Repeated;
use super::parameter::{MOST_VALUES, Parameter};
use std::collections::HashMap;
use tare_engine::Dialect;

/// Limit of the texts of one statement with a number in its text: every connection prepares each of them.
const MOST_TEXTS: u64 = 10_000;
/// Limit of the bytes of all statements of a file, with every row and value written out.
const LARGEST: usize = 64 << 20;
/// Minimum size of a value, bytes: its entry among the others.
const VALUE: usize = 64;

/// The parameters that statements may use, and the remaining size for statements.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub parameters: &'a [Parameter],
    numbers: HashMap<&'a str, usize>,
    /// Bytes of the longest value of each parameter.
    longest: Vec<usize>,
    room: usize,
}

impl<'a> Known<'a> {
    pub(crate) fn of(parameters: &'a [Parameter]) -> Self {
        let numbers = parameters.iter().enumerate().map(|(number, one)| (one.name.as_str(), number)).collect();
        Self { parameters, numbers, longest: parameters.iter().map(Parameter::longest).collect(), room: LARGEST }
    }

    fn take(&mut self, bytes: usize) -> Result<(), String> {
        let left = self.room.checked_sub(bytes);
        self.room = left.ok_or_else(|| format!("at most {} MiB for all statements, rows and values", LARGEST >> 20))?;
        Ok(())
    }

    fn find(&self, name: &str) -> Result<usize, String> {
        self.numbers.get(name).copied().ok_or_else(|| {
            let names = self.parameters.iter().map(|parameter| parameter.name.as_str());
            let near =
                tare_text::nearest(name, names.clone()).map_or(String::new(), |n| format!("; did you mean :{n}?"));
            format!(":{name} is not one of [parameters] ({}){near}", names.collect::<Vec<_>>().join(", "))
        })
    }
}

#[derive(Debug)]
pub(super) struct Statement {
    pub name: String,
    parts: Vec<Part>,
    /// Its values in order: the parameter, and the index of the value.
    pub values: Vec<(usize, usize)>,
    /// The parameter that is written into its text, with first value and number of values.
    pub in_text: Option<(usize, i64, u64)>,
    /// Parameters that are drawn for it alone, with their numbers of values.
    pub draws: Vec<(usize, usize)>,
    /// Number of executions, one after the other.
    pub times: u32,
    /// Whether it returns rows and locks none.
    pub reads: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Sql(String),
    Value,
    Number,
}

impl Statement {
    /// Its text, with the placeholders of the dialect, and `number` as the number in its text.
    pub(crate) fn sql(&self, dialect: &dyn Dialect, number: i64) -> String {
        let (mut sql, mut values) = (String::new(), 0);
        for part in &self.parts {
            match part {
                Part::Sql(text) => sql.push_str(text),
                Part::Number => sql.push_str(&number.to_string()),
                Part::Value => {
                    values += 1;
                    sql.push_str(&dialect.placeholder(values));
                }
            }
        }
        sql
    }

    /// Its distinct texts: the first number in its text, and how many texts there are.
    pub(crate) fn texts(&self) -> (i64, u64) {
        self.in_text.map_or((0, 1), |(_, first, count)| (first, count))
    }

    /// Parameters that it uses, with their numbers of values.
    pub(crate) fn needs(&self) -> impl Iterator<Item = (usize, usize)> {
        let values = self.values.iter().map(|(parameter, which)| (*parameter, which + 1));
        values.chain(self.in_text.map(|(parameter, ..)| (parameter, 1)))
    }
}

enum Found {
    /// `:name`
    Value(usize),
    /// `{name}`
    Number(usize),
}

/// Parses a statement. `:name` is a value that is sent, `{name}` a number in the text; `::` is PostgreSQL's cast, and
/// quoted text contains neither.
pub(super) fn read(of: &str, number: usize, what: &Repeated, known: &mut Known<'_>) -> Result<Statement, String> {
    let wrong = |what: String| format!("transaction {of}, statement {number}: {what}");
    let text = what.sql.trim().trim_end_matches(';');
    if text.is_empty() {
        return Err(wrong("SQL".to_owned()));
    }
    if what.times == 0 || what.rows == 0 {
        return Err(wrong("times and rows are 1 or more".to_owned()));
    }
    let (head, row) = if what.rows > 1 { split_row(text).map_err(wrong)? } else { (text, "") };
    let find = |name: &str| known.find(name);
    let (head, row) = (pieces(head, &find).map_err(wrong)?, pieces(row, &find).map_err(wrong)?);
    let mut made = Made { known, parts: Vec::new(), values: Vec::new(), in_text: None };
    made.add(&head, None).map_err(wrong)?;
    for which in 0..if what.rows > 1 { what.rows as usize } else { 0 } {
        if which > 0 {
            made.parts.push(Part::Sql(",".to_owned()));
        }
        made.add(&row, Some(which)).map_err(wrong)?;
    }
    let Made { parts, values, in_text, .. } = made;
    Ok(Statement {
        name: format!("{of}_{number}"),
        parts,
        values,
        in_text,
        draws: Vec::new(),
        times: what.times,
        reads: reads(text),
    })
}

enum Piece {
    Sql(String),
    Found(Found),
}

fn too_many() -> String {
    format!("at most {MOST_VALUES} values")
}

/// Calls `is_known` for every parameter in a text, and returns its first error.
pub(super) fn check_names(text: &str, is_known: &dyn Fn(&str) -> Result<usize, String>) -> Result<(), String> {
    pieces(text, is_known).map(drop)
}

fn pieces(text: &str, find: &dyn Fn(&str) -> Result<usize, String>) -> Result<Vec<Piece>, String> {
    let (mut pieces, mut sql) = (Vec::new(), String::new());
    let mut quote = None;
    let mut before = ' ';
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let name = |rest: &str| -> String {
            rest.chars().skip(1).take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
        };
        let begins = rest[c.len_utf8()..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let found = match c {
            ':' if quote.is_none() && before != ':' && begins => {
                let name = name(rest);
                Some((Found::Value(find(&name)?), 1 + name.len()))
            }
            '{' if quote.is_none() && begins => {
                let name = name(rest);
                if !rest[1 + name.len()..].starts_with('}') {
                    return Err(format!("{{{name} has no closing }}"));
                }
                Some((Found::Number(find(&name)?), 2 + name.len()))
            }
            _ => None,
        };
        before = c;
        let Some((found, length)) = found else {
            match quote {
                Some(open) if open == c => quote = None,
                None if matches!(c, '\'' | '"' | '`') => quote = Some(c),
                _ => {}
            }
            sql.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        pieces.extend([Piece::Sql(std::mem::take(&mut sql)), Piece::Found(found)]);
        if pieces.len() > 2 * MOST_VALUES {
            return Err(too_many());
        }
        rest = &rest[length..];
    }
    pieces.push(Piece::Sql(sql));
    Ok(pieces)
}

/// The text before the row of an INSERT, and the row: the parentheses after VALUES, up to the end.
fn split_row(text: &str) -> Result<(&str, &str), String> {
    let expected = || "rows needs an INSERT that ends in VALUES (...)".to_owned();
    // Only ASCII letters change, so positions stay the same.
    let end = text.to_ascii_uppercase().rfind("VALUES").ok_or_else(expected)? + "VALUES".len();
    let (head, row) = text.split_at(end);
    if row.trim_start().starts_with('(') && row.ends_with(')') { Ok((head, row)) } else { Err(expected()) }
}

struct Made<'a, 'k> {
    known: &'a mut Known<'k>,
    parts: Vec<Part>,
    values: Vec<(usize, usize)>,
    in_text: Option<(usize, i64, u64)>,
}

impl Made<'_, '_> {
    /// Adds pieces; `row` is the number of the row to which they belong.
    fn add(&mut self, pieces: &[Piece], row: Option<usize>) -> Result<(), String> {
        for piece in pieces {
            match piece {
                Piece::Sql(text) => {
                    self.known.take(VALUE + text.len())?;
                    self.parts.push(Part::Sql(text.clone()));
                }
                Piece::Found(Found::Value(parameter)) => self.value(*parameter, row)?,
                Piece::Found(Found::Number(parameter)) => self.number(*parameter)?,
            }
        }
        Ok(())
    }

    fn value(&mut self, parameter: usize, row: Option<usize>) -> Result<(), String> {
        let of = &self.known.parameters[parameter];
        let count = match (of.count, row) {
            (Some(_), Some(_)) => return Err(format!(":{} is a list, which a row cannot contain", of.name)),
            (count, row) => count.map_or(row.unwrap_or(0)..row.unwrap_or(0) + 1, |count| 0..count),
        };
        self.known.take(count.len() * VALUE.max(self.known.longest[parameter]))?;
        for (number, which) in count.enumerate() {
            if number > 0 {
                self.parts.push(Part::Sql(", ".to_owned()));
            }
            self.parts.push(Part::Value);
            self.values.push((parameter, which));
            if self.values.len() > MOST_VALUES {
                return Err(too_many());
            }
        }
        Ok(())
    }

    fn number(&mut self, parameter: usize) -> Result<(), String> {
        let name = &self.known.parameters[parameter].name;
        let few = self.known.parameters[parameter].few().filter(|(_, count)| *count <= MOST_TEXTS);
        let (first, count) =
            few.ok_or_else(|| format!("{{{name}}} must have a range of at most {MOST_TEXTS} numbers"))?;
        match self.in_text {
            Some((other, ..)) if other != parameter => {
                Err(format!("{{{name}}} and {{{}}}: only one parameter in a text", self.known.parameters[other].name))
            }
            _ => {
                self.in_text = Some((parameter, first, count));
                self.parts.push(Part::Number);
                Ok(())
            }
        }
    }
}

/// Statements that return rows. `WITH` may begin others too.
const READS: [&str; 4] = ["select", "with", "values", "table"];
/// Words of a statement that writes, if the first word is one of [`READS`]: it creates a table or a file of its rows,
/// or a part of it changes others.
const WRITES: [&str; 5] = ["into", "insert", "update", "delete", "merge"];
/// Ends of the clauses that lock the rows that are read.
const LOCKS: [&[&str]; 5] = [
    &["for", "update"],
    &["for", "no", "key", "update"],
    &["for", "share"],
    &["for", "key", "share"],
    &["lock", "in", "share", "mode"],
];

/// Whether a statement returns rows and locks none, by its words outside quotes and comments.
fn reads(text: &str) -> bool {
    let words = words(text);
    let Some(first) = words.first().filter(|first| READS.contains(&first.as_str())) else { return false };
    let locks = |clause: &&[&str]| words.windows(clause.len()).any(|at| at == *clause);
    // Without WITH, such a word is a column or a function, as MySQL's INSERT(), except for INTO.
    let writes = |word: &String| WRITES.contains(&word.as_str()) && (first == "with" || word == "into");
    !words.iter().any(writes) && !LOCKS.iter().any(locks)
}

/// The words of a statement in lower case, without quoted text, names in quotes and comments.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut rest) = (Vec::new(), text);
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '\'' | '"' | '`' => rest[1..].find(c).map(|end| end + 2),
            _ if rest.starts_with("--") => rest.find('\n'),
            _ if rest.starts_with("/*") => rest.find("*/").map(|end| end + 2),
            _ if c.is_alphabetic() || c == '_' => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                words.push(rest[..end].to_lowercase());
                Some(end)
            }
            _ => Some(c.len_utf8()),
        };
        rest = length.map_or("", |length| &rest[length..]);
    }
    words
}
