//! All statements: their texts, one session's prepared statements, parsing of their answers, and their errors. In a
//! text, `?` is a parameter; `LOCKED` is replaced by the clause that locks the rows read.

use super::Kind;
use crate::workload::SessionError;
use crate::workload::sessions::{Border, roll_back};
use std::ops::RangeInclusive;
use strum::{Display, VariantArray};
use tare_engine::{Dialect, Param, Session, SqlError, SqlErrorKind, StatementId};
use tare_load::Queries;
use tare_text::count;

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

#[derive(Debug)]
pub(super) enum Failed {
    Border(&'static str, SqlError),
    Statement(Statement, SqlError),
    /// An answer that the tables cannot give: the expected and the received one.
    Answer(Statement, &'static str, String),
}

impl Failed {
    /// Whether the database asks to run the transaction again.
    pub(crate) fn can_be_retried(&self) -> bool {
        match self {
            Self::Border(_, source) | Self::Statement(_, source) => source.kind == SqlErrorKind::Retry,
            Self::Answer(..) => false,
        }
    }
}

pub(super) struct Prepared {
    session: Box<dyn Session>,
    statements: Vec<StatementId>,
    stock: Vec<StatementId>,
    begin_reading: Border,
    begin_writing: Border,
    commit: Border,
    /// Statements sent since the last [`Prepared::begin`].
    pub sent: Queries,
}

pub(super) struct StoredRow {
    of: Statement,
    values: Vec<Option<String>>,
}

impl StoredRow {
    /// A value that is a whole number, as all keys are.
    pub(crate) fn int(&self, column: usize) -> Result<i64, Failed> {
        let text = self.text(column)?;
        text.parse().map_err(|_| Failed::Answer(self.of, "a whole number", text.to_owned()))
    }

    /// An amount of money in hundredths; databases without decimals return it as the nearest binary fraction.
    pub(crate) fn cents(&self, column: usize) -> Result<i64, Failed> {
        let text = self.text(column)?;
        let number: f64 = text.parse().map_err(|_| Failed::Answer(self.of, "an amount", text.to_owned()))?;
        Ok((number * 100.0).round() as i64)
    }

    /// A text; NULL is an error.
    pub(crate) fn text(&self, column: usize) -> Result<&str, Failed> {
        let value = self.values.get(column).and_then(Option::as_deref);
        value.ok_or_else(|| Failed::Answer(self.of, "a value", "none".to_owned()))
    }
}

impl Prepared {
    pub(crate) fn new(mut session: Box<dyn Session>, dialect: &dyn Dialect) -> Result<Self, (String, SqlError)> {
        let mut prepare = |statement: Statement, district| {
            let sql = statement.sql(dialect, district);
            session.prepare(&sql).map_err(|source| (sql, source))
        };
        let statements =
            Statement::VARIANTS.iter().map(|statement| prepare(*statement, 1)).collect::<Result<_, _>>()?;
        let stock = (1..=10).map(|district| prepare(Statement::Stock, district)).collect::<Result<_, _>>()?;
        let mut border = |sql| Border::prepare(session.as_mut(), sql).map_err(|source| (String::from(sql), source));
        let [begin_reading, begin_writing] = [border(dialect.begin(false))?, border(dialect.begin(true))?];
        let commit = border("COMMIT")?;
        let sent = Queries::default();
        Ok(Self { session, statements, stock, begin_reading, begin_writing, commit, sent })
    }

    /// Begins a transaction, with the engine's BEGIN for writing if its kind writes.
    pub(crate) fn begin(&mut self, kind: Kind) -> Result<(), Failed> {
        self.sent = Queries::default();
        self.border(if kind.writes() { self.begin_writing } else { self.begin_reading })
    }

    pub(crate) fn commit(&mut self) -> Result<(), Failed> {
        self.border(self.commit)
    }

    fn border(&mut self, border: Border) -> Result<(), Failed> {
        border.send(self.session.as_mut()).map_err(|source| Failed::Border(border.sql, source))?;
        self.sent.other += 1;
        Ok(())
    }

    /// Rolls the transaction back, if it is still open.
    pub(crate) fn roll_back(&mut self) -> Result<(), Failed> {
        self.sent.other += 1;
        roll_back(self.session.as_mut()).map_err(|source| Failed::Border("ROLLBACK", source))
    }

    fn id(&self, statement: Statement) -> StatementId {
        self.statements[statement as usize]
    }

    /// All returned rows, of any number.
    pub(crate) fn rows(&mut self, statement: Statement, params: &[Param<'_>]) -> Result<Vec<StoredRow>, Failed> {
        self.rows_of(self.id(statement), statement, params)
    }

    /// The stock of an item, for a district from 1 to 10.
    pub(crate) fn stock(&mut self, district: i64, params: &[Param<'_>]) -> Result<StoredRow, Failed> {
        let id = self.stock[(district - 1) as usize];
        only(Statement::Stock, self.rows_of(id, Statement::Stock, params)?)
    }

    fn rows_of(&mut self, id: StatementId, of: Statement, params: &[Param<'_>]) -> Result<Vec<StoredRow>, Failed> {
        let rows = self.session.fetch(id, params).map_err(|source| Failed::Statement(of, source))?;
        self.sent.read += 1;
        Ok(rows.into_iter().map(|values| StoredRow { of, values }).collect())
    }

    pub(crate) fn one(&mut self, statement: Statement, params: &[Param<'_>]) -> Result<StoredRow, Failed> {
        only(statement, self.rows(statement, params)?)
    }

    /// Reads rows for a terminal's display and discards them, or changes rows; their number must be in `expected`.
    pub(crate) fn run(
        &mut self,
        statement: Statement,
        params: &[Param<'_>],
        expected: RangeInclusive<u64>,
    ) -> Result<(), Failed> {
        let id = self.id(statement);
        let rows = self.session.execute(id, params).map_err(|source| Failed::Statement(statement, source))?;
        *(if statement.reads() { &mut self.sent.read } else { &mut self.sent.write }) += 1;
        if expected.contains(&rows) {
            return Ok(());
        }
        let words = if *expected.end() == 1 { "one row" } else { "5 to 15 rows" };
        Err(Failed::Answer(statement, words, format!("{rows} rows")))
    }

    /// Runs a statement that must change exactly one row.
    pub(crate) fn run_one(&mut self, statement: Statement, params: &[Param<'_>]) -> Result<(), Failed> {
        self.run(statement, params, 1..=1)
    }
}

fn only(statement: Statement, mut rows: Vec<StoredRow>) -> Result<StoredRow, Failed> {
    match rows.pop() {
        Some(row) if rows.is_empty() => Ok(row),
        last => {
            let count = rows.len() + usize::from(last.is_some());
            Err(Failed::Answer(statement, "one row", format!("{count} rows")))
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum TpccError {
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("{statement} in {kind} answered with {found}: expected {expected}; check that the tables are complete")]
    Answer { kind: String, statement: Statement, expected: &'static str, found: String },
    #[error(
        "consistency condition {number} does not hold (clause 3.3.2.{number}: {says}): {place}: {left} against {right}. \
         The server has lost or invented rows, or another client changed them"
    )]
    Inconsistent { number: usize, says: &'static str, place: String, left: String, right: String },
    #[error(
        "table {table} {found}: expected {}; prepare the tables first, with the same warehouses and scale",
        count(*expected as usize, "row")
    )]
    Table { table: &'static str, found: String, expected: i64 },
    #[error(
        "table {table} does not have TPC-C's columns; nothing was dropped: name another database (--database NAME), or \
         drop the table yourself"
    )]
    NotOurs { table: &'static str },
    #[error("interrupted while filling tables; incomplete tables have been dropped")]
    Interrupted,
}

impl From<TpccError> for crate::workload::LoadError {
    fn from(error: TpccError) -> Self {
        Self::own(error)
    }
}
