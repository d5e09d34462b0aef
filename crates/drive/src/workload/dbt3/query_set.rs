//! A subset of the 22 queries, written as a list of numbers and ranges.

use std::fmt;
use std::str::FromStr;
use strum::{Display, EnumString, VariantNames};
use tare_load::{Purpose, Random};
use tare_text::UnknownWord;

pub const QUERIES: u8 = 22;

/// Some of the queries 1 to 22, at least one, in ascending order: "1-6,14".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuerySet(u32);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("queries 1 to {QUERIES} as numbers and ranges, for example 1-6,14, or all")]
pub struct QuerySetError;

impl QuerySet {
    const ALL: Self = Self(((1 << QUERIES) - 1) << 1);

    pub(super) const fn one(query: u8) -> Self {
        Self(1 << query)
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = u8> {
        (1..=QUERIES).filter(move |query| self.0 & 1 << query != 0)
    }

    /// Number of queries; never 0.
    pub(crate) fn count(self) -> usize {
        self.0.count_ones() as usize
    }
}

impl Default for QuerySet {
    fn default() -> Self {
        Self::ALL
    }
}

impl fmt::Display for QuerySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ALL {
            return f.write_str("all");
        }
        let queries: Vec<u8> = self.iter().collect();
        for (i, run) in queries.chunk_by(|a, b| a + 1 == *b).enumerate() {
            let comma = if i == 0 { "" } else { "," };
            match run {
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [only] => write!(f, "{comma}{only}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

impl FromStr for QuerySet {
    type Err = QuerySetError;

    fn from_str(text: &str) -> Result<Self, QuerySetError> {
        if text == "all" {
            return Ok(Self::ALL);
        }
        let number =
            |text: &str| text.trim().parse().ok().filter(|query| (1..=QUERIES).contains(query)).ok_or(QuerySetError);
        let mut set = 0;
        for item in text.split(',') {
            let (first, last) = item.split_once('-').unwrap_or((item, item));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(QuerySetError);
            }
            set |= (first..=last).fold(0, |bits, query| bits | 1 << query);
        }
        Ok(Self(set))
    }
}

/// The order in which a trial runs its queries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase", parse_err_ty = UnknownWord, parse_err_fn = UnknownWord::of::<Self>)]
pub enum Order {
    /// By number, as DBT-3 runs them.
    #[default]
    Numeric,
    /// Drawn from the trial's seed: the effect of one query on the next varies between trials.
    Random,
    /// Each on a fresh server of its own, without effects of other queries.
    Alone,
}

impl Order {
    pub(crate) fn arrange(self, queries: QuerySet, seed: u64) -> Vec<u8> {
        let mut numbers: Vec<u8> = queries.iter().collect();
        if self == Self::Random {
            let mut random = Random::new(seed, Purpose::Transactions, 0);
            for last in (1..numbers.len()).rev() {
                // Below `last + 1`, which fits.
                numbers.swap(last, random.below(last as u64 + 1) as usize);
            }
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_and_ranges_select_queries() {
        for (text, queries, written) in [
            ("1-6,14", vec![1, 2, 3, 4, 5, 6, 14], "1-6,14"),
            ("14, 3,2", vec![2, 3, 14], "2-3,14"),
            ("22", vec![22], "22"),
            ("1-22", (1..=22).collect(), "all"),
        ] {
            let set: QuerySet = text.parse().unwrap();
            assert_eq!(set.iter().collect::<Vec<_>>(), queries);
            assert_eq!((set.count(), set.to_string().as_str()), (queries.len(), written));
        }
        for text in ["", "0", "23", "6-1", "1-", "q1", "1,,2", "-1"] {
            assert_eq!(text.parse::<QuerySet>(), Err(QuerySetError), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_query_set_reads_back_from_its_text(bits in 1u32..1 << 22, noise in "[0-9,\\- a]{0,12}") {
            let set = QuerySet(bits << 1);
            prop_assert_eq!(set.to_string().parse::<QuerySet>(), Ok(set));
            let _ = noise.parse::<QuerySet>();
        }
    }

    #[test]
    fn a_random_order_has_every_query_once_and_depends_on_the_seed() {
        let of = |order: Order, seed| order.arrange(QuerySet::ALL, seed);
        let numeric: Vec<u8> = (1..=22).collect();
        assert_eq!((of(Order::Numeric, 7), of(Order::Alone, 7)), (numeric.clone(), numeric.clone()));
        let drawn = of(Order::Random, 7);
        assert_eq!(drawn, of(Order::Random, 7));
        assert!(drawn != numeric && drawn != of(Order::Random, 8));
        let mut sorted = drawn;
        sorted.sort_unstable();
        assert_eq!(sorted, numeric);
    }
}
