//! Results that a study defines itself: by a JSON pointer, or by a pattern.

use regex_lite::Regex;
use std::fmt;
use tare_results::metric::{self, Better, Named};

/// A metric defined by the study. Unit and direction follow from its name, as for metrics in all result files.
pub(crate) fn named(name: &str, unit: Option<&str>, better: Option<&str>) -> Result<Named, String> {
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(format!("a metric name of letters, digits and _ in place of `{name}`"));
    }
    let found = metric::of_name(name);
    let direction = if found.metric.better == Better::Higher { "higher" } else { "lower" };
    let says = format!("a metric called {name} has the unit \"{}\" and is better when {direction}", found.metric.unit);
    if unit.is_some_and(|unit| unit != found.metric.unit) {
        let end = match unit.unwrap_or_default() {
            "1/s" => "per_s",
            unit => unit,
        };
        return Err(format!("a name that ends in the unit, as {name}_{end}: {says}"));
    }
    if better.is_some_and(|better| better != direction) {
        return Err(format!(
            "a name that implies this direction (_ms, _s, _bytes: lower; _per_s or none: higher): \
            {says}"
        ));
    }
    Ok(found)
}

/// A number at a place of a JSON document (RFC 6901).
#[derive(Debug, Clone, PartialEq)]
pub struct Pointer {
    place: String,
    pub metric: Named,
}

impl Pointer {
    pub(crate) fn new(place: &str, metric: Named) -> Result<Self, String> {
        match place.starts_with('/') {
            true => Ok(Self { place: place.to_owned(), metric }),
            false => Err(format!("a JSON pointer such as /results/0/{place} in place of {place}")),
        }
    }

    /// Reads the number from the whole text, or from its last line that is a JSON document.
    pub(crate) fn read(&self, text: &str) -> Option<f64> {
        let document = serde_json::from_str::<serde_json::Value>(text).ok().or_else(|| {
            text.lines().rev().find_map(|line| serde_json::from_str(line).ok().filter(serde_json::Value::is_object))
        })?;
        match document.pointer(&self.place)? {
            serde_json::Value::Number(number) => number.as_f64(),
            serde_json::Value::String(text) => text.trim().parse().ok(),
            _ => None,
        }
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "json {} as {}", quoted(&self.place), self.metric.name())
    }
}

/// The first group of the last match of a regular expression.
#[derive(Debug, Clone)]
pub struct Pattern {
    pattern: Regex,
    pub metric: Named,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.pattern.as_str() == other.pattern.as_str() && self.metric == other.metric
    }
}

impl Pattern {
    pub(crate) fn new(pattern: &str, metric: Named) -> Result<Self, String> {
        let compiled = Regex::new(pattern).map_err(|e| format!("a regular expression in place of {pattern}: {e}"))?;
        match compiled.captures_len() {
            2 => Ok(Self { pattern: compiled, metric }),
            _ => Err(format!("one group around the number, as in {pattern}([0-9.]+)")),
        }
    }

    pub(crate) fn read(&self, text: &str) -> Option<f64> {
        self.pattern.captures_iter(text).last()?.get(1)?.as_str().trim().parse().ok()
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "regex {} as {}", quoted(self.pattern.as_str()), self.metric.name())
    }
}

fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), |word| word.into_owned())
}
