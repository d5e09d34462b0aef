//! The consistency conditions of the tables (clause 3.3.2), and the queries that find violations.

use super::{SessionError, Sizes, TpccError};
use tare_engine::Session;

/// A consistency condition: a query that returns the rows that violate it.
#[derive(Debug, Clone, Copy)]
pub struct Condition {
    /// 1 to 12, the last part of its clause.
    pub number: usize,
    pub says: &'static str,
    /// Names of the first columns; the two columns after them should be equal.
    place: &'static [&'static str],
    /// `DELIVERED` is replaced by the number of a district's orders that were initially delivered.
    sql: &'static str,
}

const WAREHOUSE: &[&str] = &["warehouse"];
const DISTRICT: &[&str] = &["warehouse", "district"];
const ORDER: &[&str] = &["warehouse", "district", "order"];
const CUSTOMER: &[&str] = &["warehouse", "district", "customer"];

/// Sums of money are equal if they differ by less than half a cent: not every database has decimals.
pub const CONDITIONS: [Condition; 12] = [
    Condition {
        number: 1,
        says: "the total of a warehouse (w_ytd) is the sum of its districts (d_ytd)",
        place: WAREHOUSE,
        sql: "SELECT w_id, w_ytd, d.paid FROM warehouse LEFT JOIN \
              (SELECT d_w_id, SUM(d_ytd) AS paid FROM district GROUP BY d_w_id) d ON d_w_id = w_id \
              WHERE ABS(w_ytd - COALESCE(d.paid, 0)) > 0.005",
    },
    Condition {
        number: 2,
        says: "the next order number of a district follows its largest in orders, and in new orders where there are any",
        place: DISTRICT,
        sql: "SELECT d_w_id, d_id, d_next_o_id - 1, CASE WHEN o.top = d_next_o_id - 1 THEN n.top ELSE o.top END \
              FROM district LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS top FROM orders GROUP BY o_w_id, o_d_id) o \
              ON o_w_id = d_w_id AND o_d_id = d_id LEFT JOIN \
              (SELECT no_w_id, no_d_id, MAX(no_o_id) AS top FROM new_order GROUP BY no_w_id, no_d_id) n \
              ON no_w_id = d_w_id AND no_d_id = d_id \
              WHERE o.top IS NULL OR o.top <> d_next_o_id - 1 OR n.top <> d_next_o_id - 1",
    },
    Condition {
        number: 3,
        says: "the new orders of a district have no gap in their numbers",
        place: DISTRICT,
        sql: "SELECT no_w_id, no_d_id, MAX(no_o_id) - MIN(no_o_id) + 1, COUNT(*) FROM new_order \
              GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)",
    },
    Condition {
        number: 4,
        says: "a district has as many order lines as its orders record",
        place: DISTRICT,
        sql: "SELECT o.w, o.d, o.said, l.there FROM \
              (SELECT o_w_id AS w, o_d_id AS d, SUM(o_ol_cnt) AS said FROM orders GROUP BY o_w_id, o_d_id) o LEFT JOIN \
              (SELECT ol_w_id, ol_d_id, COUNT(*) AS there FROM order_line GROUP BY ol_w_id, ol_d_id) l \
              ON ol_w_id = o.w AND ol_d_id = o.d WHERE l.there IS NULL OR o.said <> l.there",
    },
    Condition {
        number: 5,
        says: "an order has no carrier if, and only if, it is among the new orders",
        place: ORDER,
        sql: "SELECT o_w_id, o_d_id, o_id, o_carrier_id, no_o_id FROM orders LEFT JOIN new_order \
              ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
              WHERE (o_carrier_id IS NULL AND no_o_id IS NULL) OR (o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL)",
    },
    Condition {
        number: 6,
        says: "an order has as many lines as it records",
        place: ORDER,
        sql: "SELECT o_w_id, o_d_id, o_id, o_ol_cnt, COUNT(ol_number) FROM orders LEFT JOIN order_line \
              ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
              GROUP BY o_w_id, o_d_id, o_id, o_ol_cnt HAVING o_ol_cnt <> COUNT(ol_number)",
    },
    Condition {
        number: 7,
        says: "a line has no date of delivery if, and only if, its order has no carrier",
        place: &["warehouse", "district", "order", "line"],
        sql: "SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, ol_delivery_d, o_carrier_id FROM order_line LEFT JOIN orders \
              ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
              WHERE (ol_delivery_d IS NULL AND o_carrier_id IS NOT NULL) \
              OR (ol_delivery_d IS NOT NULL AND o_carrier_id IS NULL)",
    },
    Condition {
        number: 8,
        says: "the total of a warehouse (w_ytd) is the sum of its payments",
        place: WAREHOUSE,
        sql: "SELECT w_id, w_ytd, h.paid FROM warehouse LEFT JOIN \
              (SELECT h_w_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id) h ON h_w_id = w_id \
              WHERE ABS(w_ytd - COALESCE(h.paid, 0)) > 0.005",
    },
    Condition {
        number: 9,
        says: "the total of a district (d_ytd) is the sum of its payments",
        place: DISTRICT,
        sql: "SELECT d_w_id, d_id, d_ytd, h.paid FROM district LEFT JOIN \
              (SELECT h_w_id, h_d_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) h \
              ON h_w_id = d_w_id AND h_d_id = d_id WHERE ABS(d_ytd - COALESCE(h.paid, 0)) > 0.005",
    },
    Condition {
        number: 10,
        says: "a customer's balance is what was delivered minus what was paid",
        place: CUSTOMER,
        sql: "SELECT c_w_id, c_d_id, c_id, c_balance, COALESCE(o.cost, 0) - COALESCE(h.paid, 0) FROM customer LEFT JOIN \
              (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS cost FROM orders JOIN order_line \
              ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL \
              GROUP BY o_w_id, o_d_id, o_c_id) o ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id LEFT JOIN \
              (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM history \
              GROUP BY h_c_w_id, h_c_d_id, h_c_id) h ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id \
              WHERE ABS(c_balance - COALESCE(o.cost, 0) + COALESCE(h.paid, 0)) > 0.005",
    },
    Condition {
        number: 11,
        says: "a district's orders minus its new orders are those delivered initially and those delivered to its \
            customers",
        place: DISTRICT,
        sql: "SELECT d_w_id, d_id, COALESCE(o.n, 0) - COALESCE(w.n, 0), DELIVERED + COALESCE(c.n, 0) FROM district \
              LEFT JOIN (SELECT o_w_id, o_d_id, COUNT(*) AS n FROM orders GROUP BY o_w_id, o_d_id) o \
              ON o_w_id = d_w_id AND o_d_id = d_id \
              LEFT JOIN (SELECT no_w_id, no_d_id, COUNT(*) AS n FROM new_order GROUP BY no_w_id, no_d_id) w \
              ON no_w_id = d_w_id AND no_d_id = d_id \
              LEFT JOIN (SELECT c_w_id, c_d_id, SUM(c_delivery_cnt) AS n FROM customer GROUP BY c_w_id, c_d_id) c \
              ON c_w_id = d_w_id AND c_d_id = d_id \
              WHERE COALESCE(o.n, 0) - COALESCE(w.n, 0) <> DELIVERED + COALESCE(c.n, 0)",
    },
    Condition {
        number: 12,
        says: "a customer's balance and payments together are what was delivered",
        place: CUSTOMER,
        sql: "SELECT c_w_id, c_d_id, c_id, c_balance + c_ytd_payment, COALESCE(o.cost, 0) FROM customer LEFT JOIN \
              (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS cost FROM orders JOIN order_line \
              ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL \
              GROUP BY o_w_id, o_d_id, o_c_id) o ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
              WHERE ABS(c_balance + c_ytd_payment - COALESCE(o.cost, 0)) > 0.005",
    },
];

/// Looks for a row that violates the condition.
///
/// # Errors
/// [`TpccError::Inconsistent`] with the first violation, or the server's refusal.
pub fn check(session: &mut dyn Session, sizes: Sizes, condition: &Condition) -> Result<(), TpccError> {
    let sql = format!("{} LIMIT 1", condition.sql.replace("DELIVERED", &sizes.delivered().to_string()));
    let rows = session.query(&sql).map_err(|source| SessionError::statement(&sql, source))?;
    let Some(row) = rows.into_iter().next() else { return Ok(()) };
    let mut values = row.into_iter().map(|value| value.unwrap_or_else(|| "none".to_owned()));
    let place: Vec<String> = condition.place.iter().zip(&mut values).map(|(what, n)| format!("{what} {n}")).collect();
    let mut next = || values.next().unwrap_or_default();
    let (left, right) = (next(), next());
    let Condition { number, says, .. } = *condition;
    Err(TpccError::Inconsistent { number, says, place: place.join(", "), left, right })
}
