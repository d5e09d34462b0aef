//! Samples with nothing but metrics, as columns, so that millions of them fit into memory.

use std::collections::BTreeMap;

/// The samples of one trial as columns. Missing values are NaN; recorded values are finite.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plain {
    len: usize,
    /// Number of the first sample; the others are consecutive if `numbers` is empty.
    first: usize,
    numbers: Vec<usize>,
    /// Whether `numbers` are not ascending.
    unsorted: bool,
    columns: BTreeMap<String, Vec<f64>>,
    /// Empty if no length was recorded.
    elapsed_s: Vec<f64>,
    started: Stamps,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Known(usize),
    New,
}

/// Time stamps of equal length, with their common prefix stored once.
#[derive(Debug, Clone, Default, PartialEq)]
struct Stamps {
    common: String,
    /// Bytes of each stamp after the common prefix; 0 means that all stamps equal the prefix.
    width: usize,
    rest: String,
}

impl Stamps {
    /// None if the stamps differ in length or are not plain ASCII.
    fn of<'a>(stamps: impl Iterator<Item = &'a str> + Clone) -> Option<Self> {
        let first = stamps.clone().next().unwrap_or_default();
        let fits = |stamp: &str| stamp.len() == first.len() && stamp.is_ascii();
        if !stamps.clone().all(fits) {
            return None;
        }
        let shared = |stamp: &str| first.bytes().zip(stamp.bytes()).take_while(|(a, b)| a == b).count();
        let common = stamps.clone().map(shared).min().unwrap_or_default();
        let rest = stamps.map(|stamp| &stamp[common..]).collect();
        Some(Self { common: first[..common].to_owned(), width: first.len() - common, rest })
    }

    fn get(&self, place: usize) -> String {
        let rest = self.rest.get(place * self.width..(place + 1) * self.width).unwrap_or_default();
        format!("{}{rest}", self.common)
    }
}

impl Plain {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Total capacity of its columns, in values.
    pub(crate) fn values(&self) -> usize {
        self.len * self.columns.len()
    }

    /// Whether it has no samples, as in trials whose samples are whole records.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn number(&self, place: usize) -> usize {
        self.numbers.get(place).copied().unwrap_or(self.first + place)
    }

    /// Length of the sample at an index, seconds; 0 if not recorded.
    pub(crate) fn elapsed_s(&self, place: usize) -> f64 {
        self.elapsed_s.get(place).copied().unwrap_or(0.0)
    }

    /// Start of the sample at an index, as recorded; empty if not recorded.
    pub(crate) fn started_at(&self, place: usize) -> String {
        self.started.get(place)
    }

    /// Every metric with one value per sample, NaN if missing.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (&str, &[f64])> {
        self.columns.iter().map(|(name, values)| (name.as_str(), values.as_slice()))
    }

    /// The values of one metric, NaN if missing; empty if no sample has it.
    pub(crate) fn column(&self, metric: &str) -> &[f64] {
        self.columns.get(metric).map_or(&[], Vec::as_slice)
    }

    /// Index of the sample with this number; none if the numbers are not ascending, because only a search could find
    /// it.
    pub(crate) fn place(&self, number: usize) -> Option<Place> {
        let place = match number.checked_sub(self.first).filter(|place| *place < self.len) {
            _ if self.unsorted => return None,
            place if self.numbers.is_empty() => place,
            _ => self.numbers.binary_search(&number).ok(),
        };
        Some(place.map_or(Place::New, Place::Known))
    }

    /// Adds a sample without metrics and returns its index.
    pub(crate) fn push(&mut self, number: usize) -> usize {
        let place = self.len;
        if place == 0 {
            self.first = number;
        }
        if !self.numbers.is_empty() || number != self.first + place {
            if self.numbers.is_empty() {
                self.numbers = (self.first..self.first + place).collect();
            }
            self.unsorted |= self.numbers.last().is_some_and(|last| *last >= number);
            self.numbers.push(number);
        }
        self.len += 1;
        place
    }

    /// Sets a metric of a sample; false if the sample has it already.
    pub(crate) fn set(&mut self, place: usize, metric: &str, value: f64) -> bool {
        let column = match self.columns.get_mut(metric) {
            Some(column) => column,
            None => self.columns.entry(metric.to_owned()).or_default(),
        };
        if column.len() <= place {
            column.resize(place, f64::NAN);
            column.push(value);
            return true;
        }
        let free = column[place].is_nan();
        column[place] = value;
        free
    }

    /// Extends every column to the full length, and frees unused capacity.
    pub(crate) fn finish(&mut self) {
        for column in self.columns.values_mut() {
            column.resize(self.len, f64::NAN);
            column.shrink_to_fit();
        }
        self.numbers.shrink_to_fit();
    }

    /// Adds the recorded times of each sample; false if the stamps cannot be stored with a common prefix.
    pub(crate) fn set_times<'a>(
        &mut self,
        started_at: impl Iterator<Item = &'a str> + Clone,
        elapsed_s: Vec<f64>,
    ) -> bool {
        let Some(started) = Stamps::of(started_at) else { return false };
        self.started = started;
        self.elapsed_s = if elapsed_s.iter().all(|s| *s == 0.0) { Vec::new() } else { elapsed_s };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_a_place_for_every_sample() {
        let mut plain = Plain::default();
        for (number, metric, value) in [(0, "a", 1.0), (1, "b", 2.0), (7, "a", 3.0)] {
            assert_eq!(plain.place(number), Some(Place::New));
            let place = plain.push(number);
            assert_eq!(plain.place(number), Some(Place::Known(place)));
            assert!(plain.set(place, metric, value));
        }
        assert!(!plain.set(0, "a", 9.0), "a second value is reported");
        plain.finish();
        let shown: Vec<String> = plain.columns().map(|(name, values)| format!("{name} {values:?}")).collect();
        assert_eq!(shown, ["a [9.0, NaN, 3.0]", "b [NaN, 2.0, NaN]"]);
        assert_eq!((0..plain.len()).map(|place| plain.number(place)).collect::<Vec<_>>(), [0, 1, 7]);
        assert!(plain.column("c").is_empty());
        plain.push(3);
        assert_eq!(plain.place(3), None, "7, 3 do not rise");
    }

    #[test]
    fn stamps_come_back_as_they_were() {
        for stamps in [vec!["2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z"], vec!["", ""], vec!["x", "x"], vec![]] {
            let kept = Stamps::of(stamps.iter().copied()).unwrap();
            assert_eq!((0..stamps.len()).map(|place| kept.get(place)).collect::<Vec<_>>(), stamps);
        }
        assert_eq!(Stamps::of(["a", "ab"].into_iter()), None);
        assert_eq!(Stamps::of(["ä", "ö"].into_iter()), None);
    }
}
