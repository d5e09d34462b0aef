//! Compares the workload tpcc with the same mix written as pgbench scripts: PostgreSQL must count the same statements.

use crate::engines::support::{PATIENCE, Place, one};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tare_drive::workload::sessions::Tallies;
use tare_drive::workload::tpcc::{self, Constants, Fill, Sizes, Tally, TpccClient};
use tare_engine::{Address, Engine, Postgresql, Server, StartRequest};
use tare_load::{Attempt, Client, Purpose, Random};

/// Six decks: 270 new orders, 258 payments, 24 of each other.
const DECKS: usize = 6;

fn sizes() -> Sizes {
    Sizes::new(1, 0.02)
}

/// A class of statements: words in them, a word not in them, and the largest relative difference of the counts.
struct Class {
    has: &'static [&'static str],
    not: &'static str,
    near: f64,
}

const fn exact(has: &'static [&'static str]) -> Class {
    Class { has, not: "nothing else", near: 0.0 }
}

/// Lines of an order: 10 on average, standard deviation 3.3; for 270 orders the mean is certainly within 8%.
const fn lines(has: &'static [&'static str]) -> Class {
    Class { has, not: "nothing else", near: 0.08 }
}

const CLASSES: &[Class] = &[
    exact(&["d_next_o_id", "FOR UPDATE"]),
    exact(&["UPDATE district SET d_next_o_id"]),
    exact(&["SELECT w_tax"]),
    exact(&["SELECT c_discount"]),
    exact(&["INSERT INTO orders"]),
    exact(&["INSERT INTO new_order"]),
    lines(&["FROM item"]),
    lines(&["FROM stock", "FOR UPDATE"]),
    lines(&["UPDATE stock"]),
    lines(&["INSERT INTO order_line"]),
    exact(&["UPDATE warehouse"]),
    exact(&["SELECT w_name"]),
    exact(&["UPDATE district SET d_ytd"]),
    exact(&["SELECT d_name"]),
    // 60 of 100: 169 of 282, standard deviation 8 on either side.
    Class { has: &["SELECT c_id FROM customer"], not: "nothing else", near: 0.25 },
    exact(&["SELECT c_credit", "FOR UPDATE"]),
    exact(&["UPDATE customer SET c_balance = c_balance -"]),
    exact(&["INSERT INTO history"]),
    exact(&["SELECT c_balance"]),
    exact(&["FROM orders", "DESC"]),
    exact(&["SELECT ol_i_id"]),
    exact(&["FROM new_order", "ORDER BY no_o_id"]),
    exact(&["DELETE FROM new_order"]),
    exact(&["SELECT o_c_id"]),
    exact(&["UPDATE orders SET o_carrier_id"]),
    exact(&["UPDATE order_line SET ol_delivery_d"]),
    exact(&["SELECT SUM(ol_amount)"]),
    exact(&["UPDATE customer SET c_balance = c_balance +"]),
    Class { has: &["SELECT d_next_o_id"], not: "FOR UPDATE", near: 0.0 },
    exact(&["COUNT(DISTINCT s_i_id)"]),
];

/// Calls of each class since the last reset, and the statements that belong to no class.
fn counted(server: &dyn Server) -> (Vec<u64>, BTreeMap<String, u64>) {
    let sql = "SELECT query, calls FROM pg_stat_statements WHERE dbid = \
               (SELECT oid FROM pg_database WHERE datname = current_database())";
    let rows = server.connect().unwrap().query(sql).unwrap();
    let (mut counts, mut rest) = (vec![0; CLASSES.len()], BTreeMap::new());
    for row in rows {
        let [Some(query), Some(calls)] = &row[..] else { panic!("{row:?}") };
        let calls: u64 = calls.parse().unwrap();
        let belongs = |class: &Class| class.has.iter().all(|has| query.contains(has)) && !query.contains(class.not);
        match CLASSES.iter().position(belongs) {
            Some(class) => counts[class] += calls,
            None => *rest.entry(query.clone()).or_default() += calls,
        }
    }
    (counts, rest)
}

fn reset(server: &dyn Server) {
    one(server.connect().unwrap().as_mut(), "SELECT pg_stat_statements_reset()");
}

/// Transactions that ended since the last call; a session reports them when it ends.
fn ended(server: &dyn Server, before: &mut i64) -> i64 {
    let sql = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()";
    let deadline = Instant::now() + PATIENCE;
    loop {
        let now: i64 = one(server.connect().unwrap().as_mut(), sql).unwrap().parse().unwrap();
        if now - *before >= 100 * DECKS as i64 || *before == 0 || Instant::now() > deadline {
            return now - std::mem::replace(before, now);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn ours(server: &dyn Server) {
    let tallies = Arc::new(Tallies::new(Tally::default()));
    let session = server.connect().unwrap();
    let mut client =
        TpccClient::new(session, server.dialect(), 0, sizes(), Constants::of_run(1), Arc::clone(&tallies)).unwrap();
    let mut random = Random::new(1, Purpose::Transactions, 0);
    for _ in 0..100 * DECKS {
        assert!(matches!(client.transaction(&mut random).unwrap(), Attempt::Done(_)));
    }
}

/// Delivers the oldest order of each of ten districts.
fn delivery() -> String {
    let mut delivery = "BEGIN;\n".to_owned();
    for district in 1..=10 {
        let of =
            |prefix: &str, id: &str| format!("{prefix}_w_id = 1 AND {prefix}_d_id = {district} AND {prefix}_{id} = :o");
        let _ = write!(
            delivery,
            "SELECT no_o_id AS o FROM new_order WHERE no_w_id = 1 AND no_d_id = {district} ORDER BY no_o_id LIMIT 1 \
             FOR UPDATE \\gset\nDELETE FROM new_order WHERE {};\n\
             SELECT o_c_id AS c FROM orders WHERE {} \\gset\nUPDATE orders SET o_carrier_id = 1 WHERE {};\n\
             UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP WHERE {};\n\
             SELECT SUM(ol_amount) AS t FROM order_line WHERE {} \\gset\n\
             UPDATE customer SET c_balance = c_balance + :t WHERE c_w_id = 1 AND c_d_id = {district} AND c_id = :c;\n",
            of("no", "o_id"),
            of("o", "id"),
            of("o", "id"),
            of("ol", "o_id"),
            of("ol", "o_id"),
        );
    }
    delivery.push_str("COMMIT;\n");
    delivery
}

/// The five transactions as pgbench scripts, with their percentages.
fn scripts() -> [(&'static str, usize, String); 5] {
    let (items, customers) = (sizes().items, sizes().customers);
    let mut order = format!(
        "\\set d random(1, 10)\n\\set c random(1, {customers})\n\\set n random(5, 15)\n\\set undo random(1, 100)\n\
         BEGIN;\n\
         SELECT d_next_o_id AS o FROM district WHERE d_w_id = 1 AND d_id = :d FOR UPDATE \\gset\n\
         UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = :d;\n\
         SELECT w_tax FROM warehouse WHERE w_id = 1;\n\
         SELECT c_discount FROM customer WHERE c_w_id = 1 AND c_d_id = :d AND c_id = :c;\n\
         INSERT INTO orders VALUES (:o, :d, 1, :c, CURRENT_TIMESTAMP, NULL, :n, 1);\n\
         INSERT INTO new_order VALUES (:o, :d, 1);\n"
    );
    for line in 1..=15 {
        let _ = write!(
            order,
            "\\if :n >= {line}\n\\set i random(1, {items})\n\\set q random(1, 10)\n\
             SELECT i_price FROM item WHERE i_id = :i;\n\
             \\if not (:undo = 1 and :n = {line})\n\
             SELECT s_quantity AS s FROM stock WHERE s_w_id = 1 AND s_i_id = :i FOR UPDATE \\gset\n\
             UPDATE stock SET s_quantity = s_quantity + 1, s_ytd = s_ytd + :q WHERE s_w_id = 1 AND s_i_id = :i;\n\
             INSERT INTO order_line VALUES (:o, :d, 1, {line}, :i, 1, NULL, :q, 1.00, 'x');\n\\endif\n\\endif\n"
        );
    }
    order.push_str("\\if :undo = 1\nROLLBACK;\n\\else\nCOMMIT;\n\\endif\n");
    // A customer, by name or number.
    let who = format!(
        "\\set d random(1, 10)\n\\set c random(1, {customers})\n\\set by random(1, 100)\n\\set a random(100, 500000)\n"
    );
    let by_name = "\\if :by <= 60\nSELECT c_id FROM customer WHERE c_w_id = 1 AND c_d_id = :d AND c_last = 'BARBARBAR' \
                   ORDER BY c_first;\n\\endif\n";
    let key = "c_w_id = 1 AND c_d_id = :d AND c_id = :c";
    let payment = format!(
        "{who}BEGIN;\nUPDATE warehouse SET w_ytd = w_ytd + :a / 100.0 WHERE w_id = 1;\n\
         SELECT w_name FROM warehouse WHERE w_id = 1;\n\
         UPDATE district SET d_ytd = d_ytd + :a / 100.0 WHERE d_w_id = 1 AND d_id = :d;\n\
         SELECT d_name FROM district WHERE d_w_id = 1 AND d_id = :d;\n{by_name}\
         SELECT c_credit FROM customer WHERE {key} FOR UPDATE;\n\
         UPDATE customer SET c_balance = c_balance - :a / 100.0, c_payment_cnt = c_payment_cnt + 1 WHERE {key};\n\
         INSERT INTO history VALUES (:c, :d, 1, :d, 1, CURRENT_TIMESTAMP, :a / 100.0, 'x');\nCOMMIT;\n"
    );
    let status = format!(
        "{who}BEGIN;\n{by_name}SELECT c_balance FROM customer WHERE {key};\n\
         SELECT o_id AS o FROM orders WHERE o_w_id = 1 AND o_d_id = :d AND o_c_id = :c ORDER BY o_id DESC LIMIT 1 \\gset\n\
         SELECT ol_i_id FROM order_line WHERE ol_w_id = 1 AND ol_d_id = :d AND ol_o_id = :o;\nCOMMIT;\n"
    );
    let stock = "BEGIN;\nSELECT d_next_o_id AS o FROM district WHERE d_w_id = 1 AND d_id = 1 \\gset\n\
                 SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_i_id = ol_i_id WHERE ol_w_id = 1 AND \
                 ol_d_id = 1 AND ol_o_id >= :o - 20 AND ol_o_id < :o AND s_w_id = 1 AND s_quantity < 15;\nCOMMIT;\n";
    [
        ("order", 45, order),
        ("payment", 43, payment),
        ("status", 4, status),
        ("delivery", 4, delivery()),
        ("stock", 4, stock.to_owned()),
    ]
}

fn theirs(server: &dyn Server, place: &Place) {
    let Address::Socket(socket) = server.address() else { panic!("no socket") };
    let port = socket.extension().unwrap().to_str().unwrap();
    let folder = socket.parent().unwrap();
    for (name, share, text) in scripts() {
        let path = place.path(&format!("{name}.sql"));
        std::fs::write(&path, text).unwrap();
        let target = server.target();
        let output = Command::new("pgbench")
            .args(["--no-vacuum", "--protocol=prepared", "--client=1", "--transactions"])
            .arg((share * DECKS).to_string())
            .args([Path::new("--file"), &path, Path::new("--host"), folder, Path::new("--port"), Path::new(port)])
            .args(["--username", &target.user, target.database.as_deref().unwrap_or("postgres")])
            .output()
            .expect("pgbench runs: apt-get install postgresql");
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !err.contains("error"), "{name}: {err}");
    }
}

#[test]
fn pgbench_scripts_of_the_same_mix_execute_the_same_statements() {
    let place = Place::new();
    let request = place.shared_request(None, &format!("tpcc {:?}", sizes()));
    let data = Postgresql
        .prepare_data(&request, &mut |server| {
            let fill = Fill { sizes: sizes(), seed: 3, sessions: 2, dialect: server.dialect() };
            Ok(tpcc::prepare(&fill, &|| server.connect(), &|_| ControlFlow::Continue(()))?)
        })
        .unwrap();
    let options = [("shared_preload_libraries", "pg_stat_statements"), ("synchronous_commit", "off")];
    let request = StartRequest {
        options: options.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        ..place.start_request(&data, None)
    };
    let mut server = Postgresql.start(&request).unwrap();
    server.connect().unwrap().run("CREATE EXTENSION pg_stat_statements").unwrap();
    let mut before = 0;
    ended(server.as_ref(), &mut before);
    reset(server.as_ref());
    ours(server.as_ref());
    let (ours, more) = counted(server.as_ref());
    let of_ours = ended(server.as_ref(), &mut before);
    reset(server.as_ref());
    theirs(server.as_ref(), &place);
    let (theirs, _) = counted(server.as_ref());
    let of_theirs = ended(server.as_ref(), &mut before);
    // The queries of this test are transactions too.
    for count in [of_ours, of_theirs] {
        assert!((0..200).contains(&(count - 100 * DECKS as i64)), "transactions: {of_ours} against {of_theirs}");
    }
    for (class, (ours, theirs)) in CLASSES.iter().zip(ours.iter().zip(&theirs)) {
        let apart = (*ours as f64 - *theirs as f64).abs() / *theirs as f64;
        assert!(apart <= class.near, "{:?}: {ours} against {theirs} of pgbench", class.has);
    }
    // Outside the classes: notes of customers with bad credit, and prepared BEGIN and the like, which are counted only
    // once.
    let outside = ["BEGIN", "COMMIT", "ROLLBACK", "SELECT c_data", "pg_stat_"];
    let rest: Vec<&String> = more.keys().filter(|query| !outside.iter().any(|of| query.contains(of))).collect();
    assert!(rest.is_empty(), "statements of no class: {rest:?}");
    server.stop(PATIENCE).unwrap();
}
