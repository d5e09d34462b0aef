//! The eight tables: columns, primary keys, and an index for every foreign key that no other index begins with; and the
//! scale factor, which sets their size.

use std::fmt;
use std::str::FromStr;
use strum::{Display, EnumString, VariantNames};
use tare_engine::{Collation, Dialect, Index, Scan};
use tare_text::UnknownWord;
use tpchgen::generators::PartSuppGeneratorIterator;

/// The indexes of the tables in addition to their primary keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase", parse_err_ty = UnknownWord, parse_err_fn = UnknownWord::of::<Self>)]
pub enum Indexes {
    #[default]
    Keys,
    /// Indexes of the keys, and the additional ones of the DBT-3 kit: l_shipdate, l_receiptdate, l_commitdate,
    /// o_orderdate, and l_orderkey with l_quantity.
    Dbt3,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    pub name: &'static str,
    /// Column definitions (TPC-H specification 1.4.1). No column may be NULL.
    columns: &'static str,
    primary_key: &'static str,
    /// Columns of the index of each foreign key that no other index begins with.
    pub indexes: &'static [&'static str],
    /// Columns of each additional index of the DBT-3 kit: dates, and the columns that query 18 sums up.
    pub more: &'static [&'static str],
    /// A column of no index: reading it requires reading the table itself.
    pub unindexed: &'static str,
    pub width: usize,
}

/// The tables, largest first: the order in which several sessions finish loading soonest.
pub const TABLES: [Table; 8] = [
    Table {
        name: "lineitem",
        columns: "l_orderkey INTEGER NOT NULL, l_partkey INTEGER NOT NULL, l_suppkey INTEGER NOT NULL, \
                  l_linenumber INTEGER NOT NULL, l_quantity DECIMAL(15,2) NOT NULL, \
                  l_extendedprice DECIMAL(15,2) NOT NULL, l_discount DECIMAL(15,2) NOT NULL, \
                  l_tax DECIMAL(15,2) NOT NULL, l_returnflag CHAR(1) NOT NULL, l_linestatus CHAR(1) NOT NULL, \
                  l_shipdate DATE NOT NULL, l_commitdate DATE NOT NULL, l_receiptdate DATE NOT NULL, \
                  l_shipinstruct CHAR(25) NOT NULL, l_shipmode CHAR(10) NOT NULL, l_comment VARCHAR(44) NOT NULL",
        primary_key: "l_orderkey, l_linenumber",
        indexes: &["l_partkey, l_suppkey", "l_suppkey"],
        more: &["l_shipdate", "l_receiptdate", "l_commitdate", "l_orderkey, l_quantity"],
        unindexed: "l_comment",
        width: 16,
    },
    Table {
        name: "orders",
        columns: "o_orderkey INTEGER NOT NULL, o_custkey INTEGER NOT NULL, o_orderstatus CHAR(1) NOT NULL, \
                  o_totalprice DECIMAL(15,2) NOT NULL, o_orderdate DATE NOT NULL, o_orderpriority CHAR(15) NOT NULL, \
                  o_clerk CHAR(15) NOT NULL, o_shippriority INTEGER NOT NULL, o_comment VARCHAR(79) NOT NULL",
        primary_key: "o_orderkey",
        indexes: &["o_custkey"],
        more: &["o_orderdate"],
        unindexed: "o_comment",
        width: 9,
    },
    Table {
        name: "partsupp",
        columns: "ps_partkey INTEGER NOT NULL, ps_suppkey INTEGER NOT NULL, ps_availqty INTEGER NOT NULL, \
                  ps_supplycost DECIMAL(15,2) NOT NULL, ps_comment VARCHAR(199) NOT NULL",
        primary_key: "ps_partkey, ps_suppkey",
        indexes: &["ps_suppkey"],
        more: &[],
        unindexed: "ps_comment",
        width: 5,
    },
    Table {
        name: "part",
        columns: "p_partkey INTEGER NOT NULL, p_name VARCHAR(55) NOT NULL, p_mfgr CHAR(25) NOT NULL, \
                  p_brand CHAR(10) NOT NULL, p_type VARCHAR(25) NOT NULL, p_size INTEGER NOT NULL, \
                  p_container CHAR(10) NOT NULL, p_retailprice DECIMAL(15,2) NOT NULL, p_comment VARCHAR(23) NOT NULL",
        primary_key: "p_partkey",
        indexes: &[],
        more: &[],
        unindexed: "p_comment",
        width: 9,
    },
    Table {
        name: "customer",
        columns: "c_custkey INTEGER NOT NULL, c_name VARCHAR(25) NOT NULL, c_address VARCHAR(40) NOT NULL, \
                  c_nationkey INTEGER NOT NULL, c_phone CHAR(15) NOT NULL, c_acctbal DECIMAL(15,2) NOT NULL, \
                  c_mktsegment CHAR(10) NOT NULL, c_comment VARCHAR(117) NOT NULL",
        primary_key: "c_custkey",
        indexes: &["c_nationkey"],
        more: &[],
        unindexed: "c_comment",
        width: 8,
    },
    Table {
        name: "supplier",
        columns: "s_suppkey INTEGER NOT NULL, s_name CHAR(25) NOT NULL, s_address VARCHAR(40) NOT NULL, \
                  s_nationkey INTEGER NOT NULL, s_phone CHAR(15) NOT NULL, s_acctbal DECIMAL(15,2) NOT NULL, \
                  s_comment VARCHAR(101) NOT NULL",
        primary_key: "s_suppkey",
        indexes: &["s_nationkey"],
        more: &[],
        unindexed: "s_comment",
        width: 7,
    },
    Table {
        name: "nation",
        columns: "n_nationkey INTEGER NOT NULL, n_name CHAR(25) NOT NULL, n_regionkey INTEGER NOT NULL, \
                  n_comment VARCHAR(152) NOT NULL",
        primary_key: "n_nationkey",
        indexes: &["n_regionkey"],
        more: &[],
        unindexed: "n_comment",
        width: 4,
    },
    Table {
        name: "region",
        columns: "r_regionkey INTEGER NOT NULL, r_name CHAR(25) NOT NULL, r_comment VARCHAR(152) NOT NULL",
        primary_key: "r_regionkey",
        indexes: &[],
        more: &[],
        unindexed: "r_comment",
        width: 3,
    },
];

impl Table {
    /// Creates the table with its primary key. Types and names are the same in all dialects; the collation is set,
    /// because TPC-H requires comparison by bytes.
    pub fn create(&self, dialect: &dyn Dialect) -> String {
        let key = self.primary_key;
        let suffix = dialect.table_suffix(Collation::Bytes, key.split(',').count());
        format!("CREATE TABLE {} ({}, PRIMARY KEY ({key})){suffix}", self.name, self.columns)
    }

    pub fn index_name(columns: &str) -> String {
        format!("i_{}", columns.replace(", ", "_"))
    }

    /// Creates all indexes except the primary key.
    pub fn create_indexes(&self, dialect: &dyn Dialect, indexes: Indexes) -> Vec<String> {
        self.with_indexes(indexes, |indexes| dialect.create_indexes(self.name, indexes))
    }

    /// Reads the table and then each index except the primary key from end to end.
    pub fn scans(&self, dialect: &dyn Dialect, indexes: Indexes) -> Vec<Scan> {
        self.with_indexes(indexes, |indexes| dialect.scans(self.name, self.unindexed, indexes))
    }

    /// Columns of each index except the primary key.
    fn columns_of(&self, indexes: Indexes) -> Vec<&'static str> {
        let more: &[&str] = if indexes == Indexes::Dbt3 { self.more } else { &[] };
        self.indexes.iter().chain(more).copied().collect()
    }

    fn with_indexes<T>(&self, indexes: Indexes, use_them: impl FnOnce(&[Index<'_>]) -> T) -> T {
        let columns = self.columns_of(indexes);
        let names: Vec<String> = columns.iter().map(|columns| Self::index_name(columns)).collect();
        let indexes: Vec<Index<'_>> =
            names.iter().zip(columns).map(|(name, columns)| Index { name, columns }).collect();
        use_them(&indexes)
    }
}

/// Order keys are 32-bit numbers, as in DBT-3, and reach six million at scale 1.
const LARGEST: f64 = 300.0;
/// Rows of supplier and part at scale 1 (TPC-H specification 4.2.5).
const SUPPLIERS: f64 = 10_000.0;
const PARTS: f64 = 200_000.0;
const SUPPLIERS_PER_PART: i64 = 4;

/// A scale factor: 1 is about a gigabyte of text, six million rows of lineitem.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Scale(f64);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScaleError(String);

impl Scale {
    /// # Errors
    /// The scale is outside 0 to 300, or the generator's formula assigns the same supplier twice to a part, which the
    /// primary key of partsupp forbids: below 0.008, and at a few more scales below 0.025.
    pub(crate) fn new(scale: f64) -> Result<Self, ScaleError> {
        if !(scale > 0.0 && scale <= LARGEST) {
            return Err(ScaleError(format!("a scale factor above 0, at most {LARGEST}")));
        }
        if !suppliers_differ(scale) {
            let nearest = (1..=LARGEST as i64 * 1000)
                .map(|thousandths| thousandths as f64 / 1000.0)
                .find(|candidate| *candidate > scale && suppliers_differ(*candidate));
            let advice = nearest.map_or(String::new(), |n| format!("; the next one that works is {n}"));
            return Err(ScaleError(format!(
                "another scale factor: at this one TPC-H's formula gives a part the same supplier twice{advice}"
            )));
        }
        Ok(Self(scale))
    }

    pub(crate) fn factor(self) -> f64 {
        self.0
    }
}

/// Whether the suppliers of every part are distinct. The formula depends on the part only through (part - 1) /
/// suppliers, so checking one part for each value is sufficient.
fn suppliers_differ(scale: f64) -> bool {
    let suppliers = (SUPPLIERS * scale) as i64;
    let parts = (PARTS * scale) as i64;
    if suppliers < SUPPLIERS_PER_PART {
        return false;
    }
    (1..=parts).step_by(suppliers as usize).all(|part| {
        let mut chosen: Vec<i64> =
            (0..SUPPLIERS_PER_PART).map(|i| PartSuppGeneratorIterator::select_part_supplier(part, i, scale)).collect();
        chosen.sort_unstable();
        chosen.windows(2).all(|pair| pair[0] != pair[1])
    })
}

impl Default for Scale {
    fn default() -> Self {
        Self(1.0)
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for Scale {
    type Err = ScaleError;

    fn from_str(text: &str) -> Result<Self, ScaleError> {
        let expected = || ScaleError(format!("a scale factor above 0, at most {LARGEST}"));
        Self::new(text.parse().map_err(|_| expected())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_scales_are_accepted_and_others_refused_with_the_reason() {
        for scale in ["0.008", "0.01", "0.1", "0.5", "1", "3.3", "10", "300"] {
            assert_eq!(scale.parse::<Scale>().unwrap().to_string(), scale);
        }
        for scale in ["0", "-1", "nan", "inf", "301", "one"] {
            let error = scale.parse::<Scale>().unwrap_err().to_string();
            assert!(error.contains("above 0"), "{scale}: {error}");
        }
        let error = "0.001".parse::<Scale>().unwrap_err().to_string();
        assert!(error.contains("supplier twice") && error.contains("0.008"), "{error}");
        // 120 suppliers: three steps of 40 return to the first.
        assert!("0.012".parse::<Scale>().is_err());
    }
}
