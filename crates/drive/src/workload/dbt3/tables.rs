//! The eight tables: columns, primary keys, and an index for every foreign key that no other index begins with.

use strum::{Display, EnumString, VariantNames};
use tare_engine::{Collation, Dialect, Index, Scan};
use tare_text::UnknownWord;

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
