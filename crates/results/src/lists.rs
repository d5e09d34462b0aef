//! Maximum lengths of lists: longer than any that is written, and short enough for every reader; and the range of
//! times. `list_limits` assigns them to fields.

use std::fmt;

/// Named items: factors, options of a server, its counters, its processes, queries. The engines have up to a thousand
/// options and counters; each factor or query takes a line in a study of 16 MiB, and no study has so many.
pub(super) const MOST_NAMES: usize = 5_000;
/// Metrics of a sample: 500 transactions of a file of statements, or 500 steps with their roles, with nine each.
pub(super) const MOST_OF_A_SAMPLE: usize = 10_000;
/// Samples of a trial: each takes at least 1.5 KB of a line of 64 MiB, or 100 bytes with a single metric and nothing
/// else.
pub const MOST_SAMPLES: usize = 100_000;
/// Throughput readings of a sample, one per second for at most a day (86,400 s); executions before the measured ones,
/// at most 100,000 and those that a pilot adds.
pub(super) const MOST_READINGS: usize = 200_000;
/// Threads of a sample: 65,536 clients, one connection each, and further threads of the server or the client program.
pub(super) const MOST_THREADS: usize = 200_000;
/// One more than the largest CPU number.
pub(super) const MOST_CPUS: usize = 65_536;
/// Steps of a search: 20, each possibly repeated because the client was the limit.
pub(super) const MOST_STEPS: usize = 1_000;
/// Client programs: the one that was started, and the one that measured.
pub(super) const MOST_PROGRAMS: usize = 100;

/// The longest time that is read, seconds: 300 years.
const LONGEST_S: f64 = 1e10;
/// The shortest length of a sample, seconds, next to 0 for one that was not recorded: figures are divided by it.
const SHORTEST_S: f64 = 1e-9;

/// A list that is longer than any that is written, or a time that nothing can take.
#[derive(Debug, Clone, PartialEq)]
pub struct OutOfRange {
    /// Path of the field: `samples[3].threads`.
    pub field: String,
    pub found: Found,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Found {
    Entries { found: usize, most: usize },
    Seconds { found: f64, least: f64 },
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.found {
            Found::Entries { found, most } => {
                write!(f, "{} has {found} entries: at most {most} are read", self.field)
            }
            Found::Seconds { found, least } => {
                write!(f, "{} is {found:e} s, expected 0 or from {least:e} s to {LONGEST_S:e} s", self.field)
            }
        }
    }
}

impl OutOfRange {
    pub(super) fn within(mut self, outer: impl fmt::Display) -> Self {
        self.field = format!("{outer}.{}", self.field);
        self
    }
}

pub(super) type Checked = Result<(), OutOfRange>;

pub trait Limited {
    /// # Errors
    /// The first list that is too long, or time that is out of range.
    fn check(&self) -> Checked;
}

/// Checks each list, given as name, length and limit.
pub(super) fn each<const N: usize>(lists: [(&str, usize, usize); N]) -> Checked {
    match lists.into_iter().find(|(_, found, most)| found > most) {
        Some((field, found, most)) => {
            Err(OutOfRange { field: field.to_owned(), found: Found::Entries { found, most } })
        }
        None => Ok(()),
    }
}

/// Checks each time, given as name and seconds.
pub(super) fn times<const N: usize>(times: [(&str, f64); N]) -> Checked {
    times.into_iter().try_for_each(|(field, seconds)| time(field, seconds, 0.0))
}

/// Checks the length of a sample.
pub(super) fn length(field: &str, seconds: f64) -> Checked {
    time(field, seconds, SHORTEST_S)
}

fn time(field: &str, found: f64, least: f64) -> Checked {
    match found == 0.0 || (least..=LONGEST_S).contains(&found) {
        true => Ok(()),
        false => Err(OutOfRange { field: field.to_owned(), found: Found::Seconds { found, least } }),
    }
}

pub(super) fn all<'t, T: Limited + 't>(field: &str, list: impl IntoIterator<Item = &'t T>) -> Checked {
    list.into_iter().enumerate().try_for_each(|(at, one)| {
        let place = || format!("{field}[{at}]");
        one.check().map_err(|out_of_range| out_of_range.within(place()))
    })
}

/// Checks the lengths of the lists in a list or map.
pub(super) fn widths<'t, T: 't>(field: &str, rows: impl IntoIterator<Item = &'t Vec<T>>, most: usize) -> Checked {
    each([(field, rows.into_iter().map(Vec::len).max().unwrap_or(0), most)])
}

impl<T: Limited> Limited for Option<T> {
    fn check(&self) -> Checked {
        self.as_ref().map_or(Ok(()), T::check)
    }
}
