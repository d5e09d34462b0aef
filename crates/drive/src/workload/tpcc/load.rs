//! The load `tpcc`: one terminal per client thread, and at the end the consistency conditions of the tables (clause
//! 3.3.2) with the queries that find violations.

use super::settings::DISTRICTS;
use super::{Checked, Constants, Fill, Kind, SessionError, Sizes, Tally, TpccClient, TpccError, TpccSettings};
use crate::workload::fill::in_parallel;
use crate::workload::sessions::{Connections, Connector, Pace, Paced, Ran, Tallies, at_pace, expected_s};
use crate::workload::{Driven, FillError, FillJob, Load, LoadContext, LoadError, Measured, TrialSize, sessions};
use std::sync::Arc;
use strum::VariantArray;
use tare_engine::{Dialect, Server, Session};
use tare_load::Curve;
use tare_results::covariate::CLIENTS_TIMED;
use tare_results::metric;
use tare_results::schema::AppliedSetting;

/// Version of the row generator: a new version makes existing data invalid.
const RECIPE: u32 = 1;
/// Bytes of a warehouse in InnoDB, with its indexes, measured with MariaDB 10.11.
const WAREHOUSE_BYTES: f64 = 137e6;
const ITEM_BYTES: f64 = 19e6;
/// Seconds per warehouse to check all conditions, on an ordinary machine: a guess.
const CHECKING_S: f64 = 2.0;
/// Limit of sessions that check the tables at the same time.
const CHECKERS: usize = 4;

impl TpccSettings {
    fn checked(&self) -> usize {
        match self.checked {
            Checked::All => CONDITIONS.len(),
            Checked::Four => 4,
            Checked::Off => 0,
        }
    }
}

impl Paced for TpccSettings {
    fn pace_mut(&mut self) -> &mut Pace {
        &mut self.pace
    }
}

impl Load for TpccSettings {
    fn name(&self) -> &'static str {
        "tpcc"
    }

    fn sizes(&self) -> Vec<(&'static str, u64)> {
        vec![("warehouses", self.warehouses)]
    }

    fn dataset(&self, seed: u64) -> String {
        format!("tpcc, recipe {RECIPE}, warehouses {}, scale {}, seed {seed}", self.warehouses, self.scale)
    }

    fn data_bytes(&self) -> u64 {
        (self.scale * (self.warehouses as f64 * WAREHOUSE_BYTES + ITEM_BYTES)) as u64
    }

    fn rows(&self) -> Option<u64> {
        Some(self.sizes().expected_rows())
    }

    fn fill(&self, job: &FillJob<'_>, server: &dyn Server) -> Result<(), FillError> {
        let fill = Fill { sizes: self.sizes(), seed: job.seed, sessions: job.parallel, dialect: server.dialect() };
        super::prepare(&fill, &|| server.connect(), job.go_on)?;
        Ok(())
    }

    fn pace(&self) -> Option<Pace> {
        Some(self.pace)
    }

    fn check_data(&self, session: &mut dyn Session) -> Result<(), FillError> {
        let sizes = self.sizes();
        let expected = [
            ("warehouse", sizes.warehouses),
            ("item", sizes.items),
            ("customer", sizes.warehouses * DISTRICTS * sizes.customers),
        ];
        for (table, expected) in expected {
            let sql = format!("SELECT COUNT(*) FROM {table}");
            let found = session.query(&sql).map_err(|e| format!("cannot be read: {e}")).and_then(|rows| {
                let count = rows.first().and_then(|row| row.first()?.clone()).unwrap_or_default();
                if count == expected.to_string() { Ok(()) } else { Err(format!("has {count} rows")) }
            });
            found.map_err(|found| TpccError::Table { table, found, expected })?;
        }
        Ok(())
    }

    fn how_to_fill(&self) -> &'static str {
        "create the tables with `tare load tpcc prepare` and the same --warehouses; or leave out engine.socket, \
         host and port: tare then starts and fills its own server"
    }

    fn drive(&self, stage: LoadContext<'_>) -> Result<Driven, LoadError> {
        let (constants, looking) = (Constants::of_run(stage.seed), Looking::of(&stage));
        let at = |rate, stage: &mut LoadContext<'_>| run(self, constants, rate, stage);
        let driven = at_pace(self.pace, stage, at, |ran| Ok(measured(ran)))?;
        let applied =
            [Some(note(self)), Some(nurand(constants)), looking.through(self)?].into_iter().flatten().collect();
        Ok(Driven { applied, ..driven })
    }

    fn expected_s(&self, counts: &TrialSize) -> f64 {
        let checking = self.data_bytes() as f64 / WAREHOUSE_BYTES * CHECKING_S * self.checked() as f64 / 12.0;
        expected_s(self.pace, counts) + checking
    }

    /// The duration of the consistency check is a guess, so its limit is generous.
    fn limit_s(&self, counts: &TrialSize) -> f64 {
        let checking = self.data_bytes() as f64 / WAREHOUSE_BYTES * CHECKING_S;
        self.expected_s(counts) + if self.checked() > 0 { 60.0 + 10.0 * checking } else { 0.0 }
    }
}

fn run(
    settings: &TpccSettings,
    constants: Constants,
    rate: Option<Curve>,
    stage: &mut LoadContext<'_>,
) -> Result<Vec<Ran<Tally>>, LoadError> {
    let (sizes, dialect) = (settings.sizes(), stage.dialect);
    let connections = Connections::new(stage.threads);
    let tallies = Arc::new(Tallies::new(Tally::default()));
    let client = |session, index| {
        let mut client = TpccClient::new(session, dialect, index, sizes, constants, Arc::clone(&tallies))?;
        client.keying = settings.keying;
        Ok(client)
    };
    let connector = Connector::new(stage, &connections, client);
    sessions::run(rate, stage.host.events(), stage, &connector, &connections, |samples| tallies.take(samples))
}

fn measured(ran: Ran<Tally>) -> Measured {
    let Ran { sample, around, counted } = ran;
    let mut measured = Measured::of_sample(&sample, around);
    measured.metrics.push((metric::TPMC, counted.new_orders_a_minute(sample.tps())));
    for kind in Kind::VARIANTS.iter().copied() {
        let (took, name) = (counted.took(kind), kind.name());
        measured.covariates.insert(format!("tpcc_retries_{name}"), counted.retries[kind as usize] as f64);
        measured.covariates.insert(format!("tpcc_transactions_{name}"), took.count() as f64);
        let figures = [("mean", took.mean_ms()), ("p95", took.percentile_ms(95.0)), ("p99", took.percentile_ms(99.0))];
        measured.add_latencies(name, took, figures);
    }
    measured.covariates.insert("tpcc_rollbacks".to_owned(), counted.rolled_back as f64);
    measured.covariates.insert(CLIENTS_TIMED.to_owned(), counted.clock.timed().as_secs_f64());
    measured
}

fn note(settings: &TpccSettings) -> AppliedSetting {
    let TpccSettings { warehouses, scale, keying, .. } = settings;
    let scale = if *scale < 1.0 { format!(", scale {scale} (not TPC-C's sizes)") } else { String::new() };
    let level = format!("{warehouses} warehouses, keying {}{scale}", if *keying { "on" } else { "off" });
    AppliedSetting::new("tpcc", level, "not an audited TPC-C result, and not comparable with one")
}

fn nurand(constants: Constants) -> AppliedSetting {
    let Constants { name, customer, item } = constants;
    let filled = Constants::FILLED.name;
    let level = format!("C of last names {name}, of customers {customer}, of items {item}");
    AppliedSetting::new("nurand", level, format!("drawn from the seed; last names were filled with {filled}"))
}

/// Checks the tables after the load has ended.
struct Looking<'a> {
    connect: &'a crate::workload::load::Connect<'a>,
    host: &'a dyn crate::workload::Host,
    dialect: &'static dyn Dialect,
}

impl<'a> Looking<'a> {
    fn of(stage: &LoadContext<'a>) -> Self {
        Self { connect: stage.connect, host: stage.host, dialect: stage.dialect }
    }

    fn through(&self, settings: &TpccSettings) -> Result<Option<AppliedSetting>, LoadError> {
        let count = settings.checked();
        if count == 0 {
            return Ok(None);
        }
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let sessions = if self.dialect.fills_in_parallel() { cpus.min(CHECKERS) } else { 1 };
        in_parallel(
            sessions,
            count,
            &|_| self.host.go_on(),
            || LoadError::Interrupted,
            |shared| {
                let mut session = (self.connect)()?;
                shared.fills(session.as_mut(), Some(settings.sizes().all_rows()))?;
                while let Some(condition) = shared.take() {
                    check(session.as_mut(), settings.sizes(), &CONDITIONS[condition])?;
                    shared.added(0)?;
                }
                Ok(())
            },
        )?;
        let numbers: Vec<String> = CONDITIONS[..count].iter().map(|of| format!("3.3.2.{}", of.number)).collect();
        let verified = format!("hold after the last sample in all tables: {}", numbers.join(", "));
        Ok(Some(AppliedSetting::new("conditions", settings.checked, verified)))
    }
}

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
