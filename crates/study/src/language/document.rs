//! TOML with positions: enough on top of the `toml` crate to report where a mistake is and what was expected; and keys
//! that are refused with a hint: passwords, and login paths.

use super::key::Field;
use std::collections::BTreeMap;
use std::ops::Range;
use tare_text::Value;
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{origin}:{line}:{column}: {what}")]
pub struct StudyError {
    /// File name, built-in study name, or the command line option.
    pub origin: String,
    /// From 1; 0 if there is no line.
    pub line: usize,
    /// From 1, in characters; 0 if there is no line.
    pub column: usize,
    pub what: String,
    pub expected: String,
    pub nearest: Option<String>,
}

/// A text being read, for converting byte offsets to lines and columns.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// File name, built-in study name, or the command line option.
    pub origin: &'a str,
    pub text: &'a str,
}

impl Source<'_> {
    pub fn error(&self, span: Range<usize>, what: impl Into<String>, expected: impl Into<String>) -> StudyError {
        let before = self.text.get(..span.start.min(self.text.len())).unwrap_or("");
        // A source without text, such as a command line option, has no lines.
        let has_lines = usize::from(!self.text.is_empty());
        let line = (before.matches('\n').count() + 1) * has_lines;
        let column = (before.rsplit('\n').next().unwrap_or("").chars().count() + 1) * has_lines;
        StudyError {
            origin: self.origin.to_owned(),
            line,
            column,
            what: what.into(),
            expected: expected.into(),
            nearest: None,
        }
    }

    /// The error for an unknown key, with the nearest valid one.
    pub fn unknown(&self, span: Range<usize>, what: &str, key: &str, known: &[&str]) -> StudyError {
        let mut error = self.error(span, format!("unknown {what} `{key}`"), names(key, known));
        error.nearest = tare_text::nearest(key, known.iter().copied()).map(str::to_owned);
        error
    }

    pub fn table(&self) -> Result<Spanned<DeTable<'_>>, StudyError> {
        DeTable::parse(self.text).map_err(|e| {
            let span = e.span().unwrap_or(0..0);
            // One word, such as a duplicate key.
            let is_word =
                |text: &&str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
            let word = self.text.get(span.clone()).filter(is_word).map(|word| format!(": `{word}`"));
            let what = format!("not TOML: {}{}", e.message(), word.unwrap_or_default());
            self.error(span, what, "a TOML document")
        })
    }

    pub fn as_table<'t, 'i>(&self, name: &str, value: &'t Spanned<DeValue<'i>>) -> Result<&'t DeTable<'i>, StudyError> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(table),
            other => Err(self.error(
                value.span(),
                format!("`{name}` is {}", kind(other)),
                format!("a table, written [{name}]"),
            )),
        }
    }

    /// A scalar with its type; numbers keep their spelling.
    pub fn scalar(&self, name: &str, value: &Spanned<DeValue<'_>>) -> Result<Value, StudyError> {
        match value.get_ref() {
            DeValue::String(text) => Ok(Value::Text(text.to_string())),
            DeValue::Integer(number) => Ok(Value::of_word(&number.as_str().replace('_', ""))),
            DeValue::Float(number) => Ok(Value::of_word(&number.as_str().replace('_', ""))),
            DeValue::Boolean(on) => Ok(Value::Switch(*on)),
            other => Err(self.error(value.span(), format!("`{name}` is {}", kind(other)), "a single value")),
        }
    }

    /// A single value; a list becomes one text of its words, quoted as for a shell.
    pub(crate) fn words(&self, name: &str, value: &Spanned<DeValue<'_>>) -> Result<Value, StudyError> {
        let DeValue::Array(_) = value.get_ref() else { return self.scalar(name, value) };
        let words: Vec<String> = self.list(name, value)?.into_iter().map(|(word, _)| word.to_string()).collect();
        shlex::try_join(words.iter().map(String::as_str)).map(Value::Text).map_err(|e| {
            self.error(value.span(), format!("`{name}` is not a list of words: {e}"), "texts without zeros")
        })
    }

    pub(crate) fn list(
        &self,
        name: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Vec<(Value, Range<usize>)>, StudyError> {
        let DeValue::Array(items) = value.get_ref() else {
            return Ok(vec![(self.scalar(name, value)?, value.span())]);
        };
        if items.is_empty() {
            return Err(self.error(value.span(), format!("`{name}` has no level"), "at least one value"));
        }
        items.iter().map(|item| Ok((self.scalar(name, item)?, item.span()))).collect()
    }
}

/// The description of the valid names, for an invalid one.
pub(crate) fn one_of(what: &str, wrong: &str, known: &[&str]) -> String {
    // `--set` names a key with its table; as a factor it has its own name only.
    let own = wrong.rsplit('.').next().and_then(|own| known.iter().copied().find(|name| *name == own));
    let nearest = own.or_else(|| tare_text::nearest(wrong, known.iter().copied()));
    let nearest = nearest.map_or_else(String::new, |name| format!(" (did you mean {name}?)"));
    format!("{what}, {}{nearest}", names(wrong, known))
}

const FEW: usize = 8;
/// Number of names that are listed if there are more than [`FEW`].
const NEAR: usize = 4;

/// The valid names; of many, only the nearest and how to list all.
fn names(wrong: &str, known: &[&str]) -> String {
    match known {
        [] => return "of which there is none".to_owned(),
        few if few.len() <= FEW => return format!("one of {}", few.join(", ")),
        _ => {}
    }
    let near = tare_text::nearest_of(wrong, known.iter().copied(), NEAR);
    let all = format!("list all {} with: tare studies --keys", known.len());
    if near.is_empty() { all } else { format!("such as {}; {all}", near.join(", ")) }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    At(Range<usize>),
    Option(String),
}

/// The positions of everything that is checked after the whole study was read.
#[derive(Clone, Default)]
pub(crate) struct Places {
    /// Keys of the base, in the order in which they were set.
    pub keys: Vec<(Field, Place)>,
    /// Levels, each with the name of its factor, in the same order.
    pub levels: Vec<(String, Value, Place)>,
    pub tables: BTreeMap<String, Range<usize>>,
}

impl Places {
    pub(crate) fn key(&self, name: &str) -> Place {
        let last = self.keys.iter().rfind(|(field, _)| field.key == name);
        last.map_or(Place::At(0..0), |(_, place)| place.clone())
    }

    pub(crate) fn level(&self, factor: &str, level: &Value) -> Place {
        let found = self.levels.iter().find(|(name, known, _)| name == factor && known == level);
        found.map_or(Place::At(0..0), |(.., place)| place.clone())
    }

    pub(crate) fn table(&self, name: &str) -> Place {
        Place::At(self.tables.get(name).cloned().unwrap_or_default())
    }
}

impl Source<'_> {
    pub(crate) fn wrong(&self, place: &Place, what: impl Into<String>, expected: impl Into<String>) -> StudyError {
        match place {
            Place::At(span) => self.error(span.clone(), what, expected),
            Place::Option(origin) => Source { origin, text: "" }.error(0..0, what, expected),
        }
    }

    pub(crate) fn unknown_at(&self, place: &Place, what: &str, name: &str, known: &[&str]) -> StudyError {
        match place {
            Place::At(span) => self.unknown(span.clone(), what, name, known),
            Place::Option(origin) => Source { origin, text: "" }.unknown(0..0, what, name, known),
        }
    }
}

/// What is wrong with a refused key, and what to do instead; none for any other key.
pub(crate) fn refused_key(section: &str, key: &str) -> Option<(String, &'static str)> {
    let plain = key.to_lowercase().replace(['-', '_'], "");
    if section == "engine" && plain == "loginpath" {
        return Some((
            "login paths (~/.mylogin.cnf of mysql_config_editor) are not read".to_owned(),
            "option_file = \"/path/of/my.cnf\" with user and password under [client], readable by you alone",
        ));
    }
    let secret =
        ["password", "passwd", "pwd", "pass", "secret"].contains(&plain.as_str()) || plain.ends_with("password");
    secret.then(|| {
        (
            format!("a study must not contain a password ([{section}] {key}): it is shared and kept with results"),
            "no such key; the password comes from ~/.my.cnf ([client] password=...) or option_file, from ~/.pgpass, from \
             the environment (TARE_PASSWORD) or from a prompt (tare run --ask-password)",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_for_a_password_says_what_to_do_instead() {
        for name in ["password", "Password", "db_password", "passwd", "pwd"] {
            let (what, expected) = refused_key("engine", name).unwrap();
            assert!(what.contains("must not contain a password") && expected.contains("TARE_PASSWORD"), "{name}");
        }
        assert!(refused_key("engine", "login_path").unwrap().0.contains("mylogin"));
        assert_eq!(refused_key("engine", "passage"), None);
    }
}
