//! The texts of all statements. `?` is a parameter; `LOCKED` is replaced by the clause that locks the rows read.

use strum::{Display, VariantArray};
use tare_engine::Dialect;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Statement {
    /// Tax and next order number of a district that gets an order.
    DistrictToOrder,
    TakeOrderNumber,
    WarehouseTax,
    CustomerDiscount,
    AddOrder,
    AddNewOrder,
    Item,
    /// Stock of an item, with the text printed for the district: one statement for each of the ten.
    Stock,
    TakeStock,
    AddLine,
    PayWarehouse,
    Warehouse,
    PayDistrict,
    District,
    /// Customers of one last name, in order of their first names.
    CustomersByName,
    CustomerToPay,
    CustomerData,
    PayCustomer,
    /// A payment by a customer with bad credit, with the notes.
    PayCustomerWithData,
    AddHistory,
    Customer,
    LastOrder,
    Lines,
    /// The oldest order of a district that is not delivered.
    OldestNewOrder,
    RemoveNewOrder,
    OrderToDeliver,
    SetCarrier,
    SetDelivered,
    LinesTotal,
    CreditCustomer,
    NextOrder,
    /// Items of the district's last twenty orders whose stock is below the threshold.
    LowStock,
}

impl Statement {
    /// Its text, with the placeholders of the dialect; `district` (1 to 10) matters only to [`Statement::Stock`].
    pub(crate) fn sql(self, dialect: &dyn Dialect, district: usize) -> String {
        let template = self
            .template()
            .replace("S_DIST", &format!("s_dist_{district:02}"))
            .replace(" LOCKED", dialect.locks_rows());
        let mut sql = String::with_capacity(template.len() + 20);
        for (number, part) in template.split('?').enumerate() {
            if number > 0 {
                sql.push_str(&dialect.placeholder(number));
            }
            sql.push_str(part);
        }
        sql
    }

    pub(super) fn reads(self) -> bool {
        self.template().starts_with("SELECT")
    }

    fn template(self) -> &'static str {
        match self {
            Self::DistrictToOrder => "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? LOCKED",
            Self::TakeOrderNumber => "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?",
            Self::WarehouseTax => "SELECT w_tax FROM warehouse WHERE w_id = ?",
            Self::CustomerDiscount => {
                "SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"
            }
            Self::AddOrder => {
                "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
                 VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP, ?, ?)"
            }
            Self::AddNewOrder => "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)",
            Self::Item => "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?",
            Self::Stock => "SELECT s_quantity, S_DIST, s_data FROM stock WHERE s_w_id = ? AND s_i_id = ? LOCKED",
            Self::TakeStock => {
                "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, \
                 s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?"
            }
            Self::AddLine => {
                "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, \
                 ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
            }
            Self::PayWarehouse => "UPDATE warehouse SET w_ytd = w_ytd + CAST(? AS DECIMAL(12,2)) WHERE w_id = ?",
            Self::Warehouse => {
                "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = ?"
            }
            Self::PayDistrict => {
                "UPDATE district SET d_ytd = d_ytd + CAST(? AS DECIMAL(12,2)) WHERE d_w_id = ? AND d_id = ?"
            }
            Self::District => {
                "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district \
                 WHERE d_w_id = ? AND d_id = ?"
            }
            other => other.further_template(),
        }
    }

    fn further_template(self) -> &'static str {
        match self {
            Self::CustomersByName => {
                "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first"
            }
            Self::CustomerToPay => {
                "SELECT c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, \
                 c_since, c_credit_lim, c_discount, c_balance FROM customer \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? LOCKED"
            }
            Self::CustomerData => "SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? LOCKED",
            Self::PayCustomer => {
                "UPDATE customer SET c_balance = c_balance - CAST(? AS DECIMAL(12,2)), \
                 c_ytd_payment = c_ytd_payment + CAST(? AS DECIMAL(12,2)), c_payment_cnt = c_payment_cnt + 1 \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"
            }
            Self::PayCustomerWithData => {
                "UPDATE customer SET c_balance = c_balance - CAST(? AS DECIMAL(12,2)), \
                 c_ytd_payment = c_ytd_payment + CAST(? AS DECIMAL(12,2)), c_payment_cnt = c_payment_cnt + 1, \
                 c_data = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"
            }
            Self::AddHistory => {
                "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
                 VALUES (?, ?, ?, ?, ?, CURRENT_TIMESTAMP, ?, ?)"
            }
            Self::Customer => {
                "SELECT c_balance, c_first, c_middle, c_last FROM customer \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"
            }
            Self::LastOrder => {
                "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? \
                 ORDER BY o_id DESC LIMIT 1"
            }
            Self::Lines => {
                "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?"
            }
            Self::OldestNewOrder => {
                "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 LOCKED"
            }
            Self::RemoveNewOrder => "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?",
            Self::OrderToDeliver => "SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ? LOCKED",
            Self::SetCarrier => "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
            Self::SetDelivered => {
                "UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP \
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?"
            }
            Self::LinesTotal => {
                "SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?"
            }
            Self::CreditCustomer => {
                "UPDATE customer SET c_balance = c_balance + CAST(? AS DECIMAL(12,2)), \
                 c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"
            }
            Self::NextOrder => "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?",
            // `template` has all others.
            _ => {
                "SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_i_id = ol_i_id \
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ? AND s_w_id = ? AND s_quantity < ?"
            }
        }
    }
}
