//! The texts of the 22 queries, and a subset of them, written as a list of numbers and ranges.

use super::Scale;
use std::fmt;
use std::str::FromStr;
use strum::{Display, EnumString, VariantNames};
use tare_engine::Dialect;
use tare_load::{Purpose, Random};
use tare_results::metric::Named;
use tare_text::UnknownWord;

/// All queries in one file, which can be compared with the specification.
const TEXTS: &str = include_str!("queries.sql");

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Number in TPC-H, 1 to 22.
    pub number: u8,
    pub sql: String,
    /// Columns, from 0, by which the rows are ordered; rows that are equal in these may come in any order.
    pub order: Vec<usize>,
}

impl Query {
    /// Query `number` (1 to 22) with validation parameters.
    pub fn new(number: u8, scale: Scale, dialect: &dyn Dialect) -> Self {
        let heading = format!("-- Q{number} order");
        // Present for 1 to 22, as a test proves; QuerySet holds no other numbers.
        let after = TEXTS.split_once(&heading).map_or("", |(_, after)| after);
        let after = after.split_once("\n-- Q").map_or(after, |(this, _)| this);
        let (order, text) = after.split_once('\n').unwrap_or((after, ""));
        let order = order.split_whitespace().filter_map(|column| column.parse::<usize>().ok()).map(|c| c - 1).collect();
        Self { number, sql: in_dialect(text.trim(), scale, dialect), order }
    }

    /// Name of the metric: seconds of one execution.
    pub(crate) fn metric(&self) -> Named {
        Named::query_s(self.number)
    }
}

fn in_dialect(text: &str, scale: Scale, dialect: &dyn Dialect) -> String {
    let mut sql = text.replace("{materialized}", dialect.materialized()).replace("{fraction}", &fraction(scale));
    while let Some((before, rest)) = sql.split_once("{year:") {
        let (column, after) = rest.split_once('}').unwrap_or((rest, ""));
        sql = format!("{before}{}{after}", dialect.year(column));
    }
    sql
}

/// 0.0001 / scale, as an exact decimal number in SQL (never with an exponent, which would make it a float).
fn fraction(scale: Scale) -> String {
    let text = format!("{:.12}", 0.0001 / scale.factor());
    text.trim_end_matches('0').to_owned()
}

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
    use tare_engine::{Engine, Mariadb, Sqlite};

    #[test]
    fn every_query_has_a_text_in_every_dialect_without_a_placeholder_left() {
        for dialect in [Mariadb.dialect(), Sqlite.dialect()] {
            for number in 1..=QUERIES {
                let query = Query::new(number, Scale::default(), dialect);
                assert!(query.sql.starts_with("SELECT") || query.sql.starts_with("WITH"), "Q{number}: {}", query.sql);
                assert!(!query.sql.contains(['{', '}', ';']) && !query.sql.contains("--"), "Q{number}: {}", query.sql);
                assert_eq!(query.order.is_empty(), !query.sql.contains("ORDER BY"), "Q{number}");
            }
        }
    }

    #[test]
    fn dialect_and_scale_are_filled_into_the_query_texts() {
        let sql = |number, scale, dialect| Query::new(number, Scale::new(scale).unwrap(), dialect).sql;
        assert!(sql(7, 1.0, Mariadb.dialect()).contains("YEAR(l_shipdate) AS l_year"));
        assert!(sql(9, 1.0, Sqlite.dialect()).contains("CAST(STRFTIME('%Y', o_orderdate) AS INTEGER) AS o_year"));
        assert!(sql(11, 1.0, Mariadb.dialect()).contains("* 0.0001\n"));
        assert!(sql(11, 0.01, Mariadb.dialect()).contains("* 0.01\n"));
        assert!(sql(11, 30.0, Mariadb.dialect()).contains("* 0.000003333333\n"));
        assert!(sql(15, 1.0, Sqlite.dialect()).contains("AS MATERIALIZED ("));
        assert_eq!(Query::new(2, Scale::default(), Mariadb.dialect()).order, [0, 2, 1, 3]);
    }

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
