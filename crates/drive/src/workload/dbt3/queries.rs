//! The texts of the 22 queries.

use super::Scale;
use tare_engine::Dialect;
use tare_results::metric::Named;

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

#[cfg(test)]
mod tests {
    use super::*;
    use tare_engine::{Engine, Mariadb, Sqlite};

    #[test]
    fn every_query_has_a_text_in_every_dialect_without_a_placeholder_left() {
        for dialect in [Mariadb.dialect(), Sqlite.dialect()] {
            for number in 1..=crate::workload::dbt3::QUERIES {
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
}
