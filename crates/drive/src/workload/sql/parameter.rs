//! Parameters, and how their values are drawn.

use super::file::{self, Number, Sizes};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use tare_load::{Distribution, Draw, Random};

/// Limit of values in a list: the limit of PostgreSQL, MariaDB and MySQL per statement.
pub(super) const MOST_VALUES: usize = 65_535;

#[derive(Debug)]
pub(super) struct Parameter {
    pub name: String,
    pub drawing: Drawing,
    /// Number of values in its list; None: it is not a list.
    pub count: Option<usize>,
    /// Difference between consecutive values of its list; None: each value is drawn separately.
    step: Option<i64>,
    /// Whether it is drawn for each statement, not once for the whole transaction.
    pub each_statement: bool,
    /// What makes its range longer; None if it is no range.
    pub grows: Option<Grows>,
}

/// With which sizes the number of values in a range grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grows {
    pub tables: bool,
    pub rows: bool,
}

impl Grows {
    fn of([first, last]: &[Number; 2], sizes: Sizes) -> Self {
        let width = |sizes: Sizes| Some(last.value(sizes).ok()?.abs_diff(first.value(sizes).ok()?));
        let is_longer = |with: Sizes| width(with).zip(width(sizes)).is_some_and(|(with, now)| with > now);
        Self {
            tables: is_longer(Sizes { tables: sizes.tables.saturating_mul(2), ..sizes }),
            rows: is_longer(Sizes { rows: sizes.rows.saturating_mul(2), ..sizes }),
        }
    }
}

#[derive(Debug)]
pub(super) enum Drawing {
    /// Both ends, and the distribution of the offset from the first.
    Range(i64, i64, Draw),
    List(Vec<Drawn>),
    Letters(usize),
    /// `#` becomes a digit and `@` a letter.
    Template(String),
    /// The value of another parameter, by its number, plus a constant.
    After(usize, i64),
    /// The next value of a counter shared by all clients, by its number, and the number of values that it takes.
    Next(usize, u32),
    /// Any number above the first counter and up to the second.
    Within(usize, usize),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Drawn {
    Int(i64),
    Text(String),
}

impl Parameter {
    /// Draws `count` values, for a list or for rows, and replaces the previous ones. `values` holds the values of all
    /// parameters; those on which this one depends are drawn already.
    pub(crate) fn draw(
        &self,
        into: &mut Vec<Drawn>,
        count: usize,
        values: &[Vec<Drawn>],
        counters: &Counters,
        random: &mut Random,
    ) {
        into.clear();
        for which in 0..count {
            let next = match (self.step, into.last()) {
                (Some(step), Some(Drawn::Int(before))) => Drawn::Int(before.wrapping_add(step)),
                _ => self.drawing.draw(which, values, counters, random),
            };
            into.push(next);
        }
    }

    /// Bytes of its longest value as text; 0 for numbers.
    pub(crate) fn longest(&self) -> usize {
        match &self.drawing {
            Drawing::List(values) => {
                values.iter().map(|value| if let Drawn::Text(text) = value { text.len() } else { 0 }).max().unwrap_or(0)
            }
            Drawing::Letters(count) => *count,
            Drawing::Template(template) => template.len(),
            _ => 0,
        }
    }

    /// First value and number of values of a range, which may be written into a statement's text.
    pub(crate) fn few(&self) -> Option<(i64, u64)> {
        match &self.drawing {
            Drawing::Range(first, last, _) if self.count.is_none() => {
                Some((*first, last.abs_diff(*first).saturating_add(1)))
            }
            _ => None,
        }
    }
}

impl Drawing {
    fn draw(&self, which: usize, values: &[Vec<Drawn>], counters: &Counters, random: &mut Random) -> Drawn {
        match self {
            Self::Range(first, _, draw) => Drawn::Int(first.wrapping_add_unsigned(draw.draw(random))),
            Self::List(values) => values[random.below(values.len() as u64) as usize].clone(),
            Self::Letters(count) => Drawn::Text((0..*count).map(|_| letter(random)).collect()),
            Self::Template(template) => {
                let drawn = template.chars().map(|c| match c {
                    '#' => char::from(b'0' + random.below(10) as u8),
                    '@' => letter(random),
                    other => other,
                });
                Drawn::Text(drawn.collect())
            }
            Self::After(of, plus) => match values[*of].get(which).or(values[*of].first()) {
                Some(Drawn::Int(number)) => Drawn::Int(number.wrapping_add(*plus)),
                _ => Drawn::Int(*plus),
            },
            Self::Next(counter, by) => Drawn::Int(counters.next(*counter, *by)),
            Self::Within(from, to) => {
                let (from, to) = (counters.now(*from), counters.now(*to));
                let drawn = random.below(to.saturating_sub(from).max(1).unsigned_abs());
                Drawn::Int(from.wrapping_add(1).wrapping_add_unsigned(drawn))
            }
        }
    }
}

fn letter(random: &mut Random) -> char {
    char::from(b'a' + random.below(26) as u8)
}

/// The parameters of a file; those that depend on others come last.
pub(super) fn read(
    read: BTreeMap<String, file::FileParameter>,
    sizes: Sizes,
    counters: &[String],
) -> Result<Vec<Parameter>, String> {
    let mut parameters: Vec<Parameter> = Vec::new();
    let (later, first): (Vec<_>, Vec<_>) = read.into_iter().partition(|(_, how)| how.after.is_some());
    for (name, how) in first.into_iter().chain(later) {
        let parameter = one(&name, how, sizes, counters, &parameters)?;
        parameters.push(parameter);
    }
    Ok(parameters)
}

fn one(
    name: &str,
    how: file::FileParameter,
    sizes: Sizes,
    counters: &[String],
    before: &[Parameter],
) -> Result<Parameter, String> {
    let expected = || {
        format!(
            "parameter {name}: one of range = [FIRST, LAST] (optionally with distribution = \"...\"), \
             list = [VALUE, ...], letters = COUNT, template = \"##-@@\", after = \"PARAMETER\" with plus = NUMBER, \
             next = \"COUNTER\" (optionally with by = NUMBER) or within = [\"COUNTER\", \"COUNTER\"]"
        )
    };
    let wrong = |what: String| format!("parameter {name}: {what}");
    let ways = usize::from(how.range.is_some())
        + usize::from(how.list.is_some())
        + usize::from(how.letters.is_some())
        + usize::from(how.template.is_some())
        + usize::from(how.after.is_some())
        + usize::from(how.next.is_some())
        + usize::from(how.within.is_some());
    if ways != 1
        || (how.distribution.is_some() && how.range.is_none())
        || (how.plus.is_some() && how.after.is_none())
        || (how.by.is_some() && how.next.is_none())
        || how.by == Some(0)
    {
        return Err(expected());
    }
    let counter = |of: &str| {
        let found = counters.iter().position(|known| known == of);
        found.ok_or_else(|| wrong(format!("{of} is not one of [counters] ({})", counters.join(", "))))
    };
    let mut each_statement = how.draw == file::DrawnFor::Statement;
    let drawing = if let Some([first, last]) = &how.range {
        let (first, last) = (first.value(sizes).map_err(wrong)?, last.value(sizes).map_err(wrong)?);
        range(first, last, how.distribution).map_err(|e| e.map_or_else(expected, wrong))?
    } else if let Some(list) = how.list {
        Drawing::List(values(name, list).and_then(|list| if list.is_empty() { Err(expected()) } else { Ok(list) })?)
    } else if let Some(count) = how.letters.filter(|count| *count <= 65_536) {
        Drawing::Letters(count)
    } else if let Some(template) = how.template.filter(|template| template.len() <= 65_536) {
        Drawing::Template(template)
    } else if let Some(of) = how.after {
        let found = before
            .iter()
            .position(|known| known.name == of && matches!(known.drawing, Drawing::Range(..) | Drawing::Next(..)));
        let found =
            found.ok_or_else(|| wrong(format!("after = \"{of}\" is not a parameter with a range or a counter")))?;
        each_statement = before[found].each_statement;
        let plus = how.plus.unwrap_or(file::zero()).value(sizes).map_err(wrong)?;
        Drawing::After(found, plus)
    } else if let Some(of) = how.next {
        Drawing::Next(counter(&of)?, how.by.unwrap_or(1))
    } else if let Some([from, to]) = how.within {
        Drawing::Within(counter(&from)?, counter(&to)?)
    } else {
        return Err(expected());
    };
    if how.count.is_some_and(|count| count == 0 || count > MOST_VALUES) {
        return Err(wrong(format!("count is a number from 1 to {MOST_VALUES}")));
    }
    if how.step.is_some() && (how.count.is_none() || !matches!(drawing, Drawing::Range(..))) {
        return Err(wrong("step needs a range and a count".to_owned()));
    }
    let grows = how.range.as_ref().map(|ends| Grows::of(ends, sizes));
    Ok(Parameter { name: name.to_owned(), drawing, count: how.count, step: how.step, each_statement, grows })
}

/// Err(None) if the bounds are in the wrong order, otherwise the expected value.
fn range(first: i64, last: i64, distribution: Option<String>) -> Result<Drawing, Option<String>> {
    if first > last {
        return Err(None);
    }
    let distribution: Distribution = match distribution {
        Some(word) => word.parse().map_err(|e: tare_load::UnknownDistribution| Some(e.to_string()))?,
        None => Distribution::Uniform,
    };
    Ok(Drawing::Range(first, last, distribution.over(0, last.abs_diff(first))))
}

fn values(name: &str, list: Vec<toml::Value>) -> Result<Vec<Drawn>, String> {
    let value = |value: toml::Value| match value {
        toml::Value::Integer(number) => Ok(Drawn::Int(number)),
        toml::Value::String(text) => Ok(Drawn::Text(text)),
        toml::Value::Float(number) => Ok(Drawn::Text(number.to_string())),
        other => Err(format!("parameter {name}: numbers and texts in its list, not {other}")),
    };
    list.into_iter().map(value).collect()
}

/// One counter per `[counters]` line, by its number.
#[derive(Debug)]
pub(super) struct Counters(Vec<AtomicI64>);

impl Counters {
    /// Counters with these initial values: the first value taken is one more.
    pub(crate) fn starting(at: &[i64]) -> Self {
        Self(at.iter().copied().map(AtomicI64::new).collect())
    }

    /// Takes `by` values, and returns the first of them.
    fn next(&self, counter: usize, by: u32) -> i64 {
        self.0[counter].fetch_add(by.into(), Ordering::Relaxed).wrapping_add(1)
    }

    fn now(&self, counter: usize) -> i64 {
        self.0[counter].load(Ordering::Relaxed)
    }
}
