//! The parsers for a program's output, as a study names them, and those that it defines itself: by a JSON pointer, or
//! by a pattern.

use super::report::{self, Interval, Report, number_after};
use regex_lite::Regex;
use std::fmt;
use tare_results::metric::{self, Better, Named};

#[derive(Debug, Clone, PartialEq)]
pub enum Parser {
    Sysbench,
    Pgbench,
    /// HammerDB's line of new orders per minute.
    Hammerdb,
    Json(Pointer),
    Regex(Pattern),
}

const EXPECTED: &str = "sysbench, pgbench, hammerdb, json POINTER as NAME, or regex PATTERN as NAME; after the NAME \
    its unit, and higher or lower as the better direction";

impl Parser {
    /// Parses a list of parsers, as consecutive words or with one quoted word per parser.
    pub fn list(text: &str) -> Result<Vec<Self>, String> {
        let split = |text: &str| shlex::split(text).ok_or_else(|| format!("{EXPECTED}; every quote closed"));
        let mut words = Vec::new();
        for word in split(text)? {
            // A quoted list entry that contains several words.
            match word.starts_with("json ") || word.starts_with("regex ") {
                true => words.extend(split(&word)?),
                false => words.push(word),
            }
        }
        let mut words = words.into_iter().peekable();
        let mut found = Vec::new();
        while let Some(kind) = words.next() {
            found.push(match kind.as_str() {
                "sysbench" => Self::Sysbench,
                "pgbench" => Self::Pgbench,
                "hammerdb" => Self::Hammerdb,
                "json" | "regex" => {
                    let what = words.next().ok_or(EXPECTED)?;
                    let ("as", name) = (words.next().as_deref().ok_or(EXPECTED)?, words.next().ok_or(EXPECTED)?) else {
                        return Err(EXPECTED.to_owned());
                    };
                    let is_kind =
                        |word: &String| matches!(word.as_str(), "sysbench" | "pgbench" | "hammerdb" | "json" | "regex");
                    let (mut unit, mut better) = (None, None);
                    while let Some(word) = words.next_if(|word| !is_kind(word)) {
                        match word.as_str() {
                            "higher" | "lower" => better = Some(word),
                            _ => unit = Some(word),
                        }
                    }
                    let named = named(&name, unit.as_deref(), better.as_deref())?;
                    match kind.as_str() {
                        "json" => Self::Json(Pointer::new(&what, named)?),
                        _ => Self::Regex(Pattern::new(&what, named)?),
                    }
                }
                _ => return Err(EXPECTED.to_owned()),
            });
        }
        if found.is_empty() { Err(EXPECTED.to_owned()) } else { Ok(found) }
    }

    /// Parses the output; None if the result is missing or not a number.
    pub fn read(&self, text: &str) -> Option<Report> {
        let one = |named, value: f64| Report { metrics: vec![(named, value)], ..Report::default() };
        match self {
            Self::Sysbench => report::sysbench_report(text),
            Self::Pgbench => report::pgbench_report(text),
            Self::Hammerdb => hammerdb(text),
            Self::Json(pointer) => pointer.read(text).map(|value| one(pointer.metric.clone(), value)),
            Self::Regex(pattern) => pattern.read(text).map(|value| one(pattern.metric.clone(), value)),
        }
        .filter(|report| report.metrics.iter().all(|(_, value)| value.is_finite()))
    }

    /// Parses a line that the client writes every second.
    pub fn interval(&self, line: &str) -> Option<Interval> {
        match self {
            Self::Sysbench => report::sysbench_interval(line),
            Self::Pgbench => report::pgbench_interval(line),
            _ => None,
        }
    }
}

/// Parses `System achieved 12345 NOPM from 28555 MySQL TPM`.
fn hammerdb(text: &str) -> Option<Report> {
    let line = text.lines().rev().find(|line| line.contains(" NOPM"))?;
    let nopm = number_after(line, "achieved ")?;
    Some(Report { metrics: vec![(metric::NOPM, nopm)], ..Report::default() })
}

impl fmt::Display for Parser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sysbench => f.write_str("sysbench"),
            Self::Pgbench => f.write_str("pgbench"),
            Self::Hammerdb => f.write_str("hammerdb"),
            Self::Json(pointer) => pointer.fmt(f),
            Self::Regex(pattern) => pattern.fmt(f),
        }
    }
}

/// A metric defined by the study. Unit and direction follow from its name, as for metrics in all result files.
pub(crate) fn named(name: &str, unit: Option<&str>, better: Option<&str>) -> Result<Named, String> {
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(format!("a metric name of letters, digits and _ in place of `{name}`"));
    }
    let found = metric::of_name(name);
    let direction = if found.metric.better == Better::Higher { "higher" } else { "lower" };
    let says = format!("a metric called {name} has the unit \"{}\" and is better when {direction}", found.metric.unit);
    if unit.is_some_and(|unit| unit != found.metric.unit.name()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(spec: &str, text: &str) -> Vec<(String, f64)> {
        let parsers = Parser::list(spec).unwrap();
        let written: Vec<String> = parsers.iter().map(ToString::to_string).collect();
        assert_eq!(Parser::list(&written.join(" ")).unwrap(), parsers, "{written:?}");
        let reports = parsers.iter().filter_map(|parser| parser.read(text));
        reports.flat_map(|r| r.metrics).map(|(named, value)| (named.name().to_owned(), value)).collect()
    }

    #[test]
    fn numbers_are_found_by_their_line_place_or_pattern() {
        let hammerdb = "Vuser 1:TEST RESULT : System achieved 8123 NOPM from 18771 MySQL TPM";
        assert_eq!(read("hammerdb", hammerdb), [("nopm".to_owned(), 8123.0)]);
        let json = "{\"results\": [{\"rate\": 12.5, \"time\": \"0.5\"}]}";
        let spec = "json /results/0/rate as rate_per_s 1/s higher json /results/0/time as time_s s";
        assert_eq!(read(spec, json), [("rate_per_s".to_owned(), 12.5), ("time_s".to_owned(), 0.5)]);
        assert_eq!(read("json /x as x", "log line\n{\"x\": 3}\n"), [("x".to_owned(), 3.0)]);
        let spec = "'regex \"score is ([0-9.]+)\" as score'";
        assert_eq!(read(spec, "score is 1\nthe score is 2.5 points"), [("score".to_owned(), 2.5)]);
        for nothing in ["score is NaN", "", "score is ..."] {
            assert_eq!(read(spec, nothing), [], "{nothing}");
        }
    }

    #[test]
    fn invalid_parser_specifications_are_refused() {
        for wrong in ["", "sysbnch", "json x as y", "json /x y", "regex ( as x", "regex a as x", "regex '(a)' as 'b c'"]
        {
            assert!(Parser::list(wrong).is_err(), "{wrong}");
        }
        let error = Parser::list("regex '([0-9]+)' as depth ms higher").unwrap_err();
        assert!(error.contains("depth_ms"), "{error}");
    }
}
