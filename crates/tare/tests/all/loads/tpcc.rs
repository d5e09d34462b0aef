//! The workload tpcc on every engine: the consistency conditions of the standard hold after runs, also after clients
//! were killed, and each kind of damage is found.

use crate::engines::support::{PATIENCE, Place, binary_of, run_on};
use crate::support::{World, kill_at_once, one_line, verified};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use tare_cpuset::observe::{state_of, threads_of, with_descendants};
use tare_drive::workload::sessions::Tallies;
use tare_drive::workload::tpcc::{self, CONDITIONS, Constants, Fill, Kind, Sizes, Tally, TpccClient, TpccSettings};
use tare_drive::workload::{Load, LoadError};
use tare_engine::{Engine, Interrupter, Mariadb, Mysql, Postgresql, Server, Session, Sqlite};
use tare_load::{ClientThread, LoadSettings, Observer, RunError};

/// Thirty customers per district, a thousand items.
const SCALE: f64 = 0.01;

fn sizes() -> Sizes {
    Sizes::new(2, SCALE)
}

/// Reports what the threads of a server do that does not answer.
struct Stuck(u32);

impl Observer for Stuck {
    type Error = String;

    fn unanswered(&mut self, clients: &BTreeSet<usize>, patience_s: f64) -> Result<(), String> {
        let pids = with_descendants(self.0.cast_signed());
        let threads = pids.into_iter().filter_map(|pid| threads_of(pid).ok()).flatten();
        let states: Vec<String> = threads.map(|one| format!("{} {:?}", one.tid, state_of(one))).collect();
        Err(format!("clients {clients:?} have no answer after {patience_s} s: {states:?}"))
    }
}

/// A server with fresh tables.
struct Company {
    server: Box<dyn Server>,
    place: Place,
}

impl Company {
    fn new(engine: &dyn Engine) -> Self {
        let place = Place::new();
        let binary = binary_of(engine);
        let request = place.shared_request(binary.as_deref(), &format!("tpcc {:?}", sizes()));
        let data = engine
            .prepare_data(&request, &mut |server| {
                let fill = Fill { sizes: sizes(), seed: 3, sessions: 2, dialect: server.dialect() };
                let added = AtomicU64::new(0);
                tpcc::prepare(&fill, &|| server.connect(), &|rows| {
                    added.fetch_add(rows, Ordering::Relaxed);
                    ControlFlow::Continue(())
                })?;
                let expected = TpccSettings { warehouses: 2, scale: SCALE, ..TpccSettings::default() }.rows().unwrap();
                let added = added.into_inner();
                assert!(added.abs_diff(expected) * 50 < expected, "{added} rows, expected about {expected}");
                Ok(())
            })
            .unwrap();
        let server = engine.start(&place.start_request(&data, binary.as_deref())).unwrap();
        Self { server, place }
    }

    fn session(&self) -> Box<dyn Session> {
        self.server.connect().unwrap()
    }

    /// Some columns of every table after filling, without trailing blanks of a CHAR, which only some engines return.
    fn rows(&self) -> Vec<Vec<Vec<String>>> {
        let mut session = self.session();
        let of = |sql: &&str| {
            let rows = session.query(sql).unwrap();
            let text = |value: Option<String>| value.unwrap_or_default().trim_end().to_owned();
            rows.into_iter().map(|row| row.into_iter().map(text).collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        [
            "SELECT c_id, c_last, c_first, c_credit, c_data FROM customer WHERE c_w_id = 2 ORDER BY c_d_id, c_id",
            "SELECT s_i_id, s_quantity, s_dist_07, s_data FROM stock WHERE s_w_id = 1 ORDER BY s_i_id",
            "SELECT o_id, o_c_id, o_carrier_id, o_ol_cnt FROM orders WHERE o_w_id = 1 ORDER BY o_d_id, o_id",
            "SELECT COUNT(*), COUNT(ol_delivery_d), SUM(ol_i_id), SUM(ol_quantity) FROM order_line",
            "SELECT COUNT(*), MIN(no_o_id), MAX(no_o_id) FROM new_order",
        ]
        .iter()
        .map(of)
        .collect()
    }

    fn stop(self) {
        let Self { mut server, place } = self;
        server.stop(PATIENCE).unwrap();
        drop(place);
    }

    /// Numbers of the conditions that do not hold.
    fn broken(&self) -> Vec<usize> {
        let mut session = self.session();
        let holds = |condition: &&tpcc::Condition| match tpcc::check(session.as_mut(), sizes(), condition) {
            Ok(()) => false,
            Err(tpcc::TpccError::Inconsistent { number, .. }) => number == condition.number,
            Err(other) => panic!("condition {}: {other}", condition.number),
        };
        CONDITIONS.iter().filter(holds).map(|condition| condition.number).collect()
    }

    /// Runs four clients for `seconds`; returns their counts, or why they ended early.
    fn run(&self, seconds: f64, interrupters: &Mutex<Vec<Interrupter>>) -> (Tally, Option<String>) {
        let tallies = Arc::new(Tallies::new(Tally::default()));
        let settings = LoadSettings { threads: 4, warmup_s: 0.0, sample_s: seconds, ..LoadSettings::default() };
        let connect = |thread: ClientThread| -> Result<TpccClient, LoadError> {
            let session = self.server.connect()?;
            interrupters.lock().unwrap().extend(session.interrupter());
            let (dialect, constants) = (self.server.dialect(), Constants::of_run(1));
            Ok(TpccClient::new(session, dialect, thread.index, sizes(), constants, Arc::clone(&tallies))?)
        };
        let ended = match tare_load::run(&settings, &connect, &mut Stuck(self.server.pid())) {
            Ok(_) => None,
            Err(RunError::Transaction { source, .. }) => Some(source.to_string()),
            Err(other) => panic!("{other}"),
        };
        (tallies.take(1).remove(0), ended)
    }

    fn run_sql(&self, sql: &str) {
        let changed = self.session().run(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        assert_eq!(changed, 1, "{sql}");
    }
}

/// The rows with which every engine must be filled.
fn filled() -> &'static Vec<Vec<Vec<String>>> {
    static FILLED: OnceLock<Vec<Vec<Vec<String>>>> = OnceLock::new();
    FILLED.get_or_init(|| {
        let company = Company::new(&Sqlite);
        let rows = company.rows();
        company.stop();
        assert_eq!((rows[0].len(), rows[2].len()), (300, 300));
        assert_eq!(rows[4], [["180", "22", "30"]]);
        rows
    })
}

/// Fills, runs, cuts all connections during a run, kills clients and damages data, on one engine. MySQL has MariaDB's
/// statements: it is filled and runs.
fn life(engine: &dyn Engine) {
    let company = Company::new(engine);
    let name = engine.name();
    assert!(company.rows() == *filled(), "{name}: other rows of the same seed than SQLite");
    assert_eq!(company.broken(), [0; 0], "{name}: as filled");
    // A client draws kinds from a deck of a hundred cards: at the latest after as many transactions, it has drawn each.
    let mut missing = vec![Kind::NewOrder, Kind::Payment, Kind::OrderStatus, Kind::Delivery, Kind::StockLevel];
    for seconds in [1.5, 6.0, 24.0, 96.0] {
        let (tally, ended) = company.run(seconds, &Mutex::default());
        assert_eq!(ended, None, "{name}");
        assert_eq!(company.broken(), [0; 0], "{name}: after {} transactions", tally.count());
        missing.retain(|kind| tally.took(*kind).count() == 0);
        if missing.is_empty() {
            break;
        }
    }
    assert!(missing.is_empty(), "{name}: no {missing:?}");
    if name == Mysql.name() {
        return company.stop();
    }

    let interrupters = Mutex::default();
    let ended = std::thread::scope(|scope| {
        let run = scope.spawn(|| company.run(10.0, &interrupters));
        std::thread::sleep(Duration::from_millis(700));
        interrupters.lock().unwrap().iter().for_each(Interrupter::interrupt);
        run.join().unwrap().1
    });
    assert!(ended.is_some(), "{name}: clients outlived their connections");
    assert_eq!(company.broken(), [0; 0], "{name}: after clients were cut off");
    if name != Sqlite.name() {
        kill(&company, name);
        assert_eq!(company.broken(), [0; 0], "{name}: after clients were killed");
    }
    damages(&company, name);
    company.stop();
}

/// The district of the first warehouse with most open orders, and the second of these: others cover the first and last.
fn open_order(company: &Company) -> (String, String) {
    let mut session = company.session();
    let mut requested = |sql: &str| crate::engines::support::one(session.as_mut(), sql).unwrap();
    let most =
        "SELECT no_d_id FROM new_order WHERE no_w_id = 1 GROUP BY no_d_id ORDER BY COUNT(*) DESC, no_d_id LIMIT 1";
    let district = requested(most);
    let second = format!("SELECT MIN(no_o_id) + 1 FROM new_order WHERE no_w_id = 1 AND no_d_id = {district}");
    let open = requested(&second);
    (district, open)
}

/// Each kind of damage must break exactly the conditions that cover it.
fn damages(company: &Company, name: &str) {
    let (district, open) = open_order(company);
    let key = format!("no_w_id = 1 AND no_d_id = {district}");
    let order = |set: &str, id: &str| {
        format!("UPDATE orders SET {set} WHERE o_w_id = 1 AND o_d_id = {district} AND o_id = {id}")
    };
    let customer = |set: &str| format!("UPDATE customer SET {set} WHERE c_w_id = 2 AND c_d_id = 3 AND c_id = 5");
    let paid = |set: &str, district: i32| {
        format!(
            "UPDATE history SET {set} WHERE h_w_id = 1 AND h_d_id = {district} AND h_c_w_id = 1 AND h_c_d_id = 3 \
             AND h_c_id = 5 AND h_date < '2026-01-02 00:00:00'"
        )
    };
    let line = |set: &str| {
        format!("UPDATE order_line SET {set} WHERE ol_w_id = 1 AND ol_d_id = 3 AND ol_o_id = 1 AND ol_number = 2")
    };
    let table: [(Vec<String>, Vec<String>, &[usize]); 13] = [
        (
            vec!["UPDATE warehouse SET w_ytd = w_ytd + 0.01 WHERE w_id = 2".into()],
            vec!["UPDATE warehouse SET w_ytd = w_ytd - 0.01 WHERE w_id = 2".into()],
            &[1, 8],
        ),
        (
            vec!["UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 3".into()],
            vec!["UPDATE district SET d_next_o_id = d_next_o_id - 1 WHERE d_w_id = 1 AND d_id = 3".into()],
            &[2],
        ),
        (
            vec![format!("DELETE FROM new_order WHERE {key} AND no_o_id = {open}")],
            vec![format!("INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (1, {district}, {open})")],
            &[3, 5, 11],
        ),
        (vec![order("o_ol_cnt = o_ol_cnt + 1", "2")], vec![order("o_ol_cnt = o_ol_cnt - 1", "2")], &[4, 6]),
        (vec![order("o_carrier_id = 3", &open)], vec![order("o_carrier_id = NULL", &open)], &[5, 7]),
        (
            vec![order("o_ol_cnt = o_ol_cnt + 1", "2"), order("o_ol_cnt = o_ol_cnt - 1", "3")],
            vec![order("o_ol_cnt = o_ol_cnt - 1", "2"), order("o_ol_cnt = o_ol_cnt + 1", "3")],
            &[6],
        ),
        (vec![line("ol_delivery_d = NULL")], vec![line("ol_delivery_d = '2026-01-01 00:00:00'")], &[7]),
        (vec![paid("h_amount = h_amount + 0.01", 3)], vec![paid("h_amount = h_amount - 0.01", 3)], &[8, 9, 10]),
        (vec![paid("h_d_id = 4", 3)], vec![paid("h_d_id = 3", 4)], &[9]),
        (
            vec![customer("c_balance = c_balance + 0.01, c_ytd_payment = c_ytd_payment - 0.01")],
            vec![customer("c_balance = c_balance - 0.01, c_ytd_payment = c_ytd_payment + 0.01")],
            &[10],
        ),
        (
            vec![customer("c_delivery_cnt = c_delivery_cnt + 1")],
            vec![customer("c_delivery_cnt = c_delivery_cnt - 1")],
            &[11],
        ),
        (
            vec![customer("c_ytd_payment = c_ytd_payment + 0.01")],
            vec![customer("c_ytd_payment = c_ytd_payment - 0.01")],
            &[12],
        ),
        (
            vec!["UPDATE district SET d_ytd = d_ytd - 0.01 WHERE d_w_id = 2 AND d_id = 10".into()],
            vec!["UPDATE district SET d_ytd = d_ytd + 0.01 WHERE d_w_id = 2 AND d_id = 10".into()],
            &[1, 9],
        ),
    ];
    for (damage, repair, expected) in table {
        damage.iter().for_each(|sql| company.run_sql(sql));
        assert_eq!(company.broken(), expected, "{name}: {damage:?}");
        repair.iter().for_each(|sql| company.run_sql(sql));
    }
    assert_eq!(company.broken(), [0; 0], "{name}: repaired");
}

#[test]
fn consistency_conditions_hold_after_runs_and_kills_and_detect_damage_on_sqlite() {
    life(&Sqlite);
}

#[test]
fn consistency_conditions_hold_after_runs_and_kills_and_detect_damage_on_mariadb() {
    life(&Mariadb);
}

#[test]
fn consistency_conditions_hold_after_a_run_on_mysql() {
    life(&Mysql);
}

#[test]
fn consistency_conditions_hold_after_runs_and_kills_and_detect_damage_on_postgresql() {
    life(&Postgresql);
}

const STUDY: &str = "name = \"company\"\n[workload]\nname = \"tpcc\"\nwarehouses = 2\ntpcc_scale = 0.01\nthreads = 2\n\
    [placement]\nclient = \"all\"\nserver = \"all\"\nbind = \"thread\"\npairing = \"same-pu\"\n\
    [sampling]\ntrials = 1\nattempts = 1\nwarmup_s = 0.3\nsample_s = 1\n";

#[test]
fn a_tpcc_study_checks_consistency_and_states_that_it_is_not_an_audited_result() {
    let world = World::new();
    for record in run_on(&world, &Sqlite, 0, STUDY) {
        assert_eq!(record["outcome"], "ok", "{record}");
        let sample = &record["samples"][0];
        let metric = |name: &str| sample["metrics"][name].as_f64().unwrap_or_else(|| panic!("{name}: {sample}"));
        let share = metric("tpmC") / (60.0 * metric("tps"));
        assert!((0.3..0.6).contains(&share), "45 of 100 are new orders: {share}");
        assert!(metric("latency_ms_p95_of_new_order") <= metric("latency_ms_p99_of_new_order"));
        assert!(metric("latency_ms_mean_of_payment") > 0.0);
        let covariates = sample["covariates"].as_object().unwrap();
        for name in ["restarts", "tpcc_rollbacks", "tpcc_retries_new_order", "tpcc_transactions_payment"] {
            assert!(covariates.contains_key(name), "{name}: {sample}");
        }
        let threads = sample["threads"].as_array().unwrap();
        let paired = |role: &str| threads.iter().filter(|t| t["role"] == role && t["pair"].is_u64()).count();
        assert_eq!((paired("client"), paired("server")), (2, 2), "{threads:#?}");
        assert!(verified(&record, "conditions").ends_with("3.3.2.12"), "{record}");
        assert!(verified(&record, "tpcc").contains("not an audited TPC-C result"));
    }
    let (shown, _) = world.exits(0, &["show", "results"]);
    assert!(one_line(&shown).contains("it is not an audited TPC-C result"), "{shown}");
    world.exits(0, &["report", "results"]);
    assert!(
        std::fs::read_to_string(world.path("results/report.html")).unwrap().contains("not an audited TPC-C result")
    );
    world.assert_clean();
}

/// A study on a running server of the test.
fn on_running(company: &Company, world: &World, engine: &str, sample_s: f64) -> String {
    world.study(&format!(
        "name = \"theirs\"\n[engine]\nname = \"{engine}\"\nsocket = \"{}\"\n\
         [workload]\nname = \"tpcc\"\nwarehouses = 2\ntpcc_scale = 0.01\nthreads = 4\n\
         [sampling]\ntrials = 1\nattempts = 1\nwarmup_s = 0\nsample_s = {sample_s}\n",
        company.server.address()
    ))
}

/// Kills all processes of tare with kill -9 during a study on this server.
fn kill(company: &Company, name: &str) {
    let world = World::new();
    let study = on_running(company, &world, name, 60.0);
    let mut run = world.begin(&["run", &study, "--out", "r"]);
    let mut session = company.session();
    let mut payments = || -> u64 {
        crate::engines::support::one(session.as_mut(), "SELECT COUNT(*) FROM history").unwrap().parse().unwrap()
    };
    let (before, deadline) = (payments(), Instant::now() + PATIENCE);
    while payments() < before + 50 {
        assert!(Instant::now() < deadline && run.try_wait().unwrap().is_none(), "{name}");
        std::thread::sleep(Duration::from_millis(20));
    }
    kill_at_once(world.processes());
    run.wait().unwrap();
}

#[test]
fn a_trial_that_violates_a_consistency_condition_fails_with_condition_and_place() {
    let (company, world) = (Company::new(&Mariadb), World::new());
    let study = on_running(&company, &world, "mariadb", 0.5);
    world.exits(0, &["run", &study, "--out", "whole"]);
    company.run_sql(
        "UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = 2 AND c_d_id = 3 AND c_id = 5",
    );
    let (_, err) = world.exits(4, &["run", &study, "--out", "damaged"]);
    for expected in ["consistency condition 11 does not hold (clause 3.3.2.11:", "): warehouse 2, district 3: "] {
        assert!(one_line(&err).contains(expected), "{err}");
    }
    // Tables of other sizes are reported before anything is measured.
    let (_, err) = world.exits(2, &["run", &study, "--out", "other", "--set", "workload.warehouses=3"]);
    assert!(err.contains("warehouse has 2 rows") && err.contains("expected 3 rows"), "{err}");
}
