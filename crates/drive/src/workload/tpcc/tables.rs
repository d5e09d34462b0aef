//! The nine tables (clause 1.3) and the two indexes that their transactions need besides primary keys.

use tare_engine::{Collation, Dialect, Index};

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
