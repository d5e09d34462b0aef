//! The number of warehouses, how the clients work, and the keys of a study for both; the nine tables (clause 1.3) and
//! the two indexes that their transactions need besides primary keys.

use crate::workload::keys;
use crate::workload::sessions::Pace;
use strum::{Display, EnumString, VariantNames};
use tare_engine::{Collation, Dialect, Index};
use tare_text::{Key, Keyed, UnknownWord, Value, key};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TpccSettings {
    /// Number of warehouses in the tables; each client thread has one of them as its own.
    pub warehouses: u64,
    /// Share of the standard's items and customers, above 0 and at most 1: for short tests.
    pub scale: f64,
    /// Whether clients wait for keying and thinking times.
    pub keying: bool,
    /// Pace of the clients; closed: as fast as they can, or as keying lets them.
    pub pace: Pace,
    /// The consistency conditions that are checked after the last sample.
    pub checked: Checked,
}

/// The consistency conditions that are checked after the last sample of a trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase", parse_err_ty = UnknownWord, parse_err_fn = UnknownWord::of::<Self>)]
pub enum Checked {
    #[default]
    All,
    /// The first four; of the largest table they only count rows.
    Four,
    Off,
}

impl Default for TpccSettings {
    fn default() -> Self {
        Self { warehouses: 1, scale: 1.0, keying: false, pace: Pace::default(), checked: Checked::default() }
    }
}

impl TpccSettings {
    pub fn sizes(&self) -> Sizes {
        Sizes::new(self.warehouses, self.scale)
    }
}

impl Keyed for TpccSettings {
    const KEYS: &'static [Key<Self>] = &[
        key!(whole "warehouses" in warehouses, (1, MOST_WAREHOUSES),
            "tpcc: warehouses, each about 500,000 rows; thread n has warehouse n as its home, and threads beyond the \
             last warehouse start again at the first"),
        Key::words(
            "tpcc_scale",
            "tpcc: share of the standard's items, and of its customers and orders per district, 0.01 to 1; below 1 \
             only for tests, because it is then another benchmark",
            |s| Some(s.scale.into()),
            |s, v| scale(v).map(|v| s.scale = v),
        ),
        key!(switch "keying" in keying,
            "tpcc: on: clients wait before and after each transaction as the standard's terminals do (18 s and 12 s \
             for a new order); the standard has ten threads per warehouse"),
        keys::rate_of_pace(),
        keys::objective(),
        key!(words "conditions" in checked,
            "tpcc: which of the standard's consistency conditions are checked after the last sample, while the server \
             still runs: all, four (the first four) or off"),
    ];
}

fn scale(value: &Value) -> Result<f64, String> {
    let number: Option<f64> = value.to_string().parse().ok();
    number
        .filter(|scale| (LEAST_SCALE..=1.0).contains(scale))
        .ok_or_else(|| format!("a share from {LEAST_SCALE} to 1 of the standard's items and customers"))
}

/// Order and warehouse numbers are 32-bit; this is more than any test loads.
pub(crate) const MOST_WAREHOUSES: u64 = 100_000;
/// The smallest share: 30 customers per district, of which 21 have had their order delivered.
pub(crate) const LEAST_SCALE: f64 = 0.01;
pub(super) const DISTRICTS: i64 = 10;
pub(super) const NAMES: i64 = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    pub warehouses: i64,
    /// Items that can be ordered, numbered from 1.
    pub items: i64,
    /// Customers of a district, numbered from 1; initially as many orders.
    pub customers: i64,
}

impl Sizes {
    /// Sizes for this number of warehouses, at a share of the standard's items and customers.
    pub fn new(warehouses: u64, scale: f64) -> Self {
        let share = |whole: f64| (whole * scale).round() as i64;
        Self { warehouses: warehouses as i64, items: share(100_000.0), customers: share(3000.0) }
    }

    /// The last of a district's orders that were initially delivered: seven of ten.
    pub(crate) fn delivered(&self) -> i64 {
        self.customers * 7 / 10
    }

    /// Number of distinct last names of a district's customers, numbered from 0.
    pub(crate) fn names(&self) -> i64 {
        self.customers.min(NAMES)
    }

    /// Rows of all tables together, on average: an order has 10 lines of 5 to 15, and 3 in 10 orders are new.
    pub(super) fn expected_rows(&self) -> u64 {
        let orders = self.warehouses * DISTRICTS * self.customers;
        // Of a customer: itself, its history, its order, the lines.
        (orders * 133 / 10 + self.warehouses * (1 + DISTRICTS + self.items) + self.items).unsigned_abs()
    }

    /// Rows of all tables together, at most: a customer has an order of up to 15 lines, and three rows more.
    pub(super) fn all_rows(&self) -> u64 {
        (self.warehouses * (DISTRICTS * self.customers * 19 + self.items)).unsigned_abs()
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// Its name in SQL: the standard's, except ORDER, which is an SQL keyword.
    pub name: &'static str,
    /// Column definitions, in which `MOMENT` is replaced by the type of a timestamp.
    columns: &'static str,
    key: &'static str,
    index: Option<(&'static str, &'static str)>,
}

const NO_INDEX: Option<(&str, &str)> = None;

/// The tables, each after those that it refers to.
pub(crate) const TABLES: [Table; 9] = [
    Table {
        name: "item",
        columns: "i_id INTEGER NOT NULL, i_im_id INTEGER NOT NULL, i_name VARCHAR(24) NOT NULL, \
                  i_price DECIMAL(5,2) NOT NULL, i_data VARCHAR(50) NOT NULL",
        key: "i_id",
        index: NO_INDEX,
    },
    Table {
        name: "warehouse",
        columns: "w_id INTEGER NOT NULL, w_name VARCHAR(10) NOT NULL, w_street_1 VARCHAR(20) NOT NULL, \
                  w_street_2 VARCHAR(20) NOT NULL, w_city VARCHAR(20) NOT NULL, w_state CHAR(2) NOT NULL, \
                  w_zip CHAR(9) NOT NULL, w_tax DECIMAL(4,4) NOT NULL, w_ytd DECIMAL(12,2) NOT NULL",
        key: "w_id",
        index: NO_INDEX,
    },
    Table {
        name: "district",
        columns: "d_id INTEGER NOT NULL, d_w_id INTEGER NOT NULL, d_name VARCHAR(10) NOT NULL, \
                  d_street_1 VARCHAR(20) NOT NULL, d_street_2 VARCHAR(20) NOT NULL, d_city VARCHAR(20) NOT NULL, \
                  d_state CHAR(2) NOT NULL, d_zip CHAR(9) NOT NULL, d_tax DECIMAL(4,4) NOT NULL, \
                  d_ytd DECIMAL(12,2) NOT NULL, d_next_o_id INTEGER NOT NULL",
        key: "d_w_id, d_id",
        index: NO_INDEX,
    },
    Table {
        name: "customer",
        columns: "c_id INTEGER NOT NULL, c_d_id INTEGER NOT NULL, c_w_id INTEGER NOT NULL, \
                  c_first VARCHAR(16) NOT NULL, c_middle CHAR(2) NOT NULL, c_last VARCHAR(16) NOT NULL, \
                  c_street_1 VARCHAR(20) NOT NULL, c_street_2 VARCHAR(20) NOT NULL, c_city VARCHAR(20) NOT NULL, \
                  c_state CHAR(2) NOT NULL, c_zip CHAR(9) NOT NULL, c_phone CHAR(16) NOT NULL, c_since MOMENT NOT NULL, \
                  c_credit CHAR(2) NOT NULL, c_credit_lim DECIMAL(12,2) NOT NULL, c_discount DECIMAL(4,4) NOT NULL, \
                  c_balance DECIMAL(12,2) NOT NULL, c_ytd_payment DECIMAL(12,2) NOT NULL, \
                  c_payment_cnt INTEGER NOT NULL, c_delivery_cnt INTEGER NOT NULL, c_data VARCHAR(500) NOT NULL",
        key: "c_w_id, c_d_id, c_id",
        index: Some(("customer_by_name", "c_w_id, c_d_id, c_last, c_first")),
    },
    Table {
        name: "history",
        columns: "h_c_id INTEGER NOT NULL, h_c_d_id INTEGER NOT NULL, h_c_w_id INTEGER NOT NULL, \
                  h_d_id INTEGER NOT NULL, h_w_id INTEGER NOT NULL, h_date MOMENT NOT NULL, \
                  h_amount DECIMAL(6,2) NOT NULL, h_data VARCHAR(24) NOT NULL",
        key: "",
        index: NO_INDEX,
    },
    Table {
        name: "orders",
        columns: "o_id INTEGER NOT NULL, o_d_id INTEGER NOT NULL, o_w_id INTEGER NOT NULL, o_c_id INTEGER NOT NULL, \
                  o_entry_d MOMENT NOT NULL, o_carrier_id INTEGER, o_ol_cnt INTEGER NOT NULL, \
                  o_all_local INTEGER NOT NULL",
        key: "o_w_id, o_d_id, o_id",
        index: Some(("orders_by_customer", "o_w_id, o_d_id, o_c_id, o_id")),
    },
    Table {
        name: "new_order",
        columns: "no_o_id INTEGER NOT NULL, no_d_id INTEGER NOT NULL, no_w_id INTEGER NOT NULL",
        key: "no_w_id, no_d_id, no_o_id",
        index: NO_INDEX,
    },
    Table {
        name: "order_line",
        columns: "ol_o_id INTEGER NOT NULL, ol_d_id INTEGER NOT NULL, ol_w_id INTEGER NOT NULL, \
                  ol_number INTEGER NOT NULL, ol_i_id INTEGER NOT NULL, ol_supply_w_id INTEGER NOT NULL, \
                  ol_delivery_d MOMENT, ol_quantity INTEGER NOT NULL, ol_amount DECIMAL(6,2) NOT NULL, \
                  ol_dist_info CHAR(24) NOT NULL",
        key: "ol_w_id, ol_d_id, ol_o_id, ol_number",
        index: NO_INDEX,
    },
    Table {
        name: "stock",
        columns: "s_i_id INTEGER NOT NULL, s_w_id INTEGER NOT NULL, s_quantity INTEGER NOT NULL, \
                  s_dist_01 CHAR(24) NOT NULL, s_dist_02 CHAR(24) NOT NULL, s_dist_03 CHAR(24) NOT NULL, \
                  s_dist_04 CHAR(24) NOT NULL, s_dist_05 CHAR(24) NOT NULL, s_dist_06 CHAR(24) NOT NULL, \
                  s_dist_07 CHAR(24) NOT NULL, s_dist_08 CHAR(24) NOT NULL, s_dist_09 CHAR(24) NOT NULL, \
                  s_dist_10 CHAR(24) NOT NULL, s_ytd INTEGER NOT NULL, s_order_cnt INTEGER NOT NULL, \
                  s_remote_cnt INTEGER NOT NULL, s_data VARCHAR(50) NOT NULL",
        key: "s_w_id, s_i_id",
        index: NO_INDEX,
    },
];

impl Table {
    /// Creates the table with its primary key. Text is compared by bytes.
    pub(crate) fn create(&self, dialect: &dyn Dialect) -> String {
        let columns = self.columns.replace("MOMENT", dialect.moment());
        let (key, count) = match self.key {
            "" => (String::new(), 0),
            key => (format!(", PRIMARY KEY ({key})"), key.split(',').count()),
        };
        format!("CREATE TABLE {} ({columns}{key}){}", self.name, dialect.table_suffix(Collation::Bytes, count))
    }

    /// Creates its additional index; used after the rows were inserted.
    pub(crate) fn create_index(&self, dialect: &dyn Dialect) -> Vec<String> {
        let index = self.index.map(|(name, columns)| Index { name, columns });
        index.map_or_else(Vec::new, |index| dialect.create_indexes(self.name, &[index]))
    }

    pub(super) fn columns(&self) -> impl Iterator<Item = &'static str> {
        // A comma in a type is followed by a digit, not by a blank.
        self.columns.split(", ").filter_map(|column| column.split(' ').next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_scale_has_the_sizes_of_the_standard() {
        let sizes = Sizes::new(7, 1.0);
        assert_eq!(sizes, Sizes { warehouses: 7, items: 100_000, customers: 3000 });
        assert_eq!((sizes.delivered(), sizes.names()), (2100, 1000));
        assert_eq!(Sizes::new(1, LEAST_SCALE).delivered(), 21);
    }
}
