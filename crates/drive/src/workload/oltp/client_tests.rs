//! The statements of each transaction, as received by a fake session.

use super::super::fake::{Fake, Sent, Value, int};
use super::super::{QueryCounts, Tables, Workload};
use super::*;
use crate::workload::sessions::Merge;
use tare_engine::{Code, Engine, Mariadb, Postgresql, SqlState, Sqlite};
use tare_load::Purpose;

fn settings(workload: Workload, tables: usize) -> OltpSettings {
    OltpSettings { tables: Tables { tables, rows: 1000 }, ..OltpSettings::new(workload) }
}

fn alone(fake: &Fake, settings: &OltpSettings, dialect: &'static dyn Dialect) -> Result<OltpClient, OltpError> {
    OltpClient::at(ClientSlot::ONLY, fake.session(), settings, dialect)
}

fn client(fake: &Fake, settings: &OltpSettings) -> OltpClient {
    alone(fake, settings, Mariadb.dialect()).unwrap()
}

fn random(seed: u64) -> Random {
    Random::new(seed, Purpose::Transactions, 0)
}

/// Texts of one transaction on one table, in order.
fn one_transaction(workload: Workload, counts: QueryCounts) -> (Vec<String>, Attempt) {
    let fake = Fake::default();
    let mut client = client(&fake, &OltpSettings { counts, ..settings(workload, 1) });
    fake.sent();
    let attempt = client.transaction(&mut random(1)).unwrap();
    let texts = fake.sent().into_iter().map(|sent| match sent {
        Sent::Execute(sql, _) => sql,
        other => panic!("only prepared statements in a transaction: {other:?}"),
    });
    (texts.collect(), attempt)
}

fn done(read: u64, write: u64, other: u64) -> Attempt {
    Attempt::Done(Queries { read, write, other })
}

const RANGES: [&str; 4] = [
    "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?",
    "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?",
    "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
    "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
];
const WRITES: [&str; 4] = [
    "UPDATE sbtest1 SET k=k+1 WHERE id=?",
    "UPDATE sbtest1 SET c=? WHERE id=?",
    "DELETE FROM sbtest1 WHERE id=?",
    "INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)",
];
const POINT: &str = "SELECT c FROM sbtest1 WHERE id=?";

#[test]
fn each_workload_sends_exactly_the_statements_of_the_contract() {
    let points = vec![POINT; 10];
    let expected = [
        (Workload::PointSelect, vec![POINT], done(1, 0, 0)),
        (Workload::ReadOnly, [vec!["BEGIN"], points.clone(), RANGES.into(), vec!["COMMIT"]].concat(), done(14, 0, 2)),
        (
            Workload::ReadWrite,
            [vec!["BEGIN"], points, RANGES.into(), WRITES.into(), vec!["COMMIT"]].concat(),
            done(14, 4, 2),
        ),
        (Workload::WriteOnly, [vec!["BEGIN"], WRITES.into(), vec!["COMMIT"]].concat(), done(0, 4, 2)),
        (Workload::UpdateIndex, vec![WRITES[0]], done(0, 1, 0)),
        (Workload::UpdateNonIndex, vec![WRITES[1]], done(0, 1, 0)),
    ];
    for (workload, texts, attempt) in expected {
        assert_eq!(
            one_transaction(workload, QueryCounts::default()),
            (texts.iter().map(|&sql| sql.into()).collect(), attempt)
        );
    }
}

#[test]
fn statements_are_timed_by_kind_only_after_timing_starts() {
    let fake = Fake::default();
    let mut client = client(&fake, &settings(Workload::ReadWrite, 1));
    client.transaction(&mut random(1)).unwrap();
    assert!(client.times().unwrap().statements().is_empty());
    client.times().unwrap().start();
    client.transaction(&mut random(1)).unwrap();
    client.times().unwrap().stop();
    let all = client.times().unwrap().statements();
    assert!(all.values().sum::<f64>() <= 1.0, "statements take no longer than they are timed: {all:?}");
    let names: Vec<&str> = all.keys().map(String::as_str).collect();
    let expected = "begin commit delete distinct_range index_update insert non_index_update order_range point_select \
                    simple_range sum_range";
    assert_eq!(names.join(" "), expected);
}

#[test]
fn statement_counts_change_every_workload_except_point_select() {
    let counts =
        QueryCounts { point_selects: 2, sum_ranges: 3, order_ranges: 0, delete_inserts: 2, ..QueryCounts::default() };
    let (texts, attempt) = one_transaction(Workload::ReadWrite, counts);
    let times = |sql: &str| texts.iter().filter(|text| *text == sql).count();
    assert_eq!((times(POINT), times(RANGES[1]), times(RANGES[2])), (2, 3, 0));
    assert_eq!(texts[texts.len() - 5..texts.len() - 1], [WRITES[2], WRITES[3], WRITES[2], WRITES[3]]);
    assert_eq!(attempt, done(7, 6, 2));
    assert_eq!(one_transaction(Workload::PointSelect, counts).0, [POINT]);
}

#[test]
fn a_connection_prepares_as_many_statements_as_sysbench() {
    for (workload, a_table, more) in [
        (Workload::PointSelect, 1, 0),
        (Workload::ReadOnly, 5, 2),
        (Workload::ReadWrite, 9, 2),
        (Workload::WriteOnly, 4, 2),
        (Workload::UpdateIndex, 1, 0),
        (Workload::UpdateNonIndex, 1, 0),
    ] {
        let fake = Fake::default();
        client(&fake, &settings(workload, 7));
        let sent = fake.sent();
        assert!(sent.iter().all(|sent| matches!(sent, Sent::Prepare(_))));
        assert_eq!(sent.len(), a_table * 7 + more, "{workload}");
    }
}

#[test]
fn the_smaller_workloads_send_the_statements_of_sysbenchs_scripts() {
    let sent = |change: fn(&mut OltpSettings), workload| {
        let fake = Fake::default();
        let mut settings = settings(workload, 1);
        change(&mut settings);
        let mut client = client(&fake, &settings);
        fake.sent();
        let attempt = client.transaction(&mut random(1)).unwrap();
        (fake.sent(), attempt)
    };
    let (deleted, attempt) = sent(|_| {}, Workload::Delete);
    assert!(matches!(&deleted[..], [Sent::Execute(sql, ids)] if sql == WRITES[2] && ids.len() == 1), "{deleted:?}");
    assert_eq!(attempt, done(0, 1, 0));

    let (inserted, attempt) = sent(|_| {}, Workload::Insert);
    let [Sent::Run(sql)] = &inserted[..] else { panic!("one text: {inserted:?}") };
    let values = sql.strip_prefix("INSERT INTO sbtest1 (id, k, c, pad) VALUES (0, ").unwrap();
    let texts: Vec<&str> = values.split('\'').collect();
    assert_eq!((texts[1].len(), texts[3].len(), attempt), (119, 59, done(0, 1, 0)));

    let (points, attempt) = sent(|_| {}, Workload::SelectRandomPoints);
    let marks = ["?"; 10].join(", ");
    let [Sent::Execute(sql, keys)] = &points[..] else { panic!("{points:?}") };
    assert_eq!(*sql, format!("SELECT id, k, c, pad FROM sbtest1 WHERE k IN ({marks})"));
    assert_eq!((keys.len(), attempt), (10, done(1, 0, 0)));

    let change: fn(&mut OltpSettings) = |s| (s.counts.number_of_ranges, s.counts.delta) = (2, 7);
    let (ranges, attempt) = sent(change, Workload::SelectRandomRanges);
    let [Sent::Execute(sql, ends)] = &ranges[..] else { panic!("{ranges:?}") };
    assert_eq!(sql, "SELECT count(k) FROM sbtest1 WHERE k BETWEEN ? AND ? OR k BETWEEN ? AND ?");
    assert_eq!((int(&ends[1]) - int(&ends[0]), int(&ends[3]) - int(&ends[2]), attempt), (7, 7, done(1, 0, 0)));
}

#[test]
fn clients_of_random_selects_draw_from_parts_of_their_own() {
    let keys = |index| {
        let fake = Fake::default();
        let settings = settings(Workload::SelectRandomPoints, 1);
        let slot = ClientSlot { index, clients: 4 };
        let mut client = OltpClient::at(slot, fake.session(), &settings, Mariadb.dialect()).unwrap();
        let mut random = random(index as u64);
        for _ in 0..50 {
            client.transaction(&mut random).unwrap();
        }
        let drawn = fake.sent().into_iter().filter_map(|sent| match sent {
            Sent::Execute(_, keys) => Some(keys),
            _ => None,
        });
        drawn.flatten().map(|key| int(&key)).collect::<Vec<_>>()
    };
    assert!(keys(0).iter().all(|key| (0..=250).contains(key)));
    assert!(keys(3).iter().all(|key| (750..=1000).contains(key)));
}

#[test]
fn bulk_rows_go_out_when_half_a_megabyte_is_full_and_what_is_left_at_the_end() {
    let fake = Fake::default().answering(vec![Some("41".into())]);
    let settings = settings(Workload::BulkInsert, 1);
    let slot = ClientSlot { index: 2, clients: 3 };
    let mut client = OltpClient::at(slot, fake.session(), &settings, Mariadb.dialect()).unwrap();
    assert_eq!(fake.sent(), [Sent::Query("SELECT MAX(id) FROM sbtest3".into())]);
    let mut random = random(1);
    let mut rows = 0;
    let sent = loop {
        let attempt = client.transaction(&mut random).unwrap();
        rows += 1;
        match (attempt, &fake.sent()[..]) {
            (Attempt::Done(queries), []) => assert_eq!(queries, Queries::default()),
            (attempt, [Sent::Run(sql)]) => {
                assert_eq!(attempt, done(0, 1, 0));
                break sql.clone();
            }
            other => panic!("{other:?}"),
        }
    };
    assert!(sent.starts_with("INSERT INTO sbtest3 VALUES(42,42),(43,43),"), "{}", &sent[..60]);
    assert!(sent.len() < 512 << 10 && sent.len() > (512 << 10) - 20, "{}", sent.len());
    assert_eq!(sent.matches('(').count(), rows - 1, "the row that did not fit begins the next");
    drop(client);
    assert_eq!(fake.sent(), [Sent::Run(format!("INSERT INTO sbtest3 VALUES({0},{0})", 41 + rows))]);
}

#[test]
fn without_prepared_statements_text_is_sent_and_without_transactions_no_begin() {
    let fake = Fake::default();
    let settings = OltpSettings { prepared: false, ..settings(Workload::WriteOnly, 1) };
    let mut client = client(&fake, &settings);
    assert_eq!(fake.sent(), [], "nothing is prepared");
    assert_eq!(client.transaction(&mut random(1)).unwrap(), done(0, 4, 2));
    let texts: Vec<String> = fake
        .sent()
        .into_iter()
        .map(|sent| match sent {
            Sent::Run(sql) => sql,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(texts[0] == "BEGIN" && texts[5] == "COMMIT" && texts[1].starts_with("UPDATE sbtest1 SET k=k+1 WHERE id="));
    assert!(
        texts[4].starts_with("INSERT INTO sbtest1 (id, k, c, pad) VALUES (") && !texts[4].contains('?'),
        "{texts:?}"
    );

    let fake = Fake::default();
    let settings = OltpSettings { skip_transactions: true, prepared: true, workload: Workload::ReadWrite, ..settings };
    let mut client = alone(&fake, &settings, Mariadb.dialect()).unwrap();
    assert_eq!(fake.sent().len(), 9, "no BEGIN and COMMIT are prepared");
    assert_eq!(client.transaction(&mut random(1)).unwrap(), done(14, 4, 0));
    assert_eq!(fake.sent().len(), 18);
    let fake = fake.refusing("INSERT", Code::Number(1062));
    assert!(matches!(client.transaction(&mut random(1)).unwrap(), Attempt::Restart(_)), "another client was faster");
    assert!(!fake.sent().contains(&Sent::Run("ROLLBACK".into())));
}

#[test]
fn a_duplicate_key_error_is_retried_where_sysbench_does_so() {
    let postgresql = SqlState::new(b"23505").map(Code::State).unwrap();
    for (workload, dialect, code, is_run_again) in [
        (Workload::WriteOnly, Postgresql.dialect(), postgresql, true),
        (Workload::WriteOnly, Mariadb.dialect(), Code::Number(1062), true),
        (Workload::WriteOnly, Postgresql.dialect(), Code::Number(1062), false),
        (Workload::Insert, Postgresql.dialect(), postgresql, true),
        (Workload::Insert, Mariadb.dialect(), Code::Number(1062), false),
    ] {
        let fake = Fake::default();
        let settings = OltpSettings { prepared: false, ..settings(workload, 1) };
        let mut client = alone(&fake, &settings, dialect).unwrap();
        let fake = fake.refusing("INSERT", code);
        let ended = client.transaction(&mut random(1));
        assert_eq!(matches!(ended, Ok(Attempt::Restart(_))), is_run_again, "{workload:?} {dialect:?}: {ended:?}");
        assert_eq!(ended.is_err(), !is_run_again);
        let rolled_back = fake.sent().contains(&Sent::Run("ROLLBACK".into()));
        assert_eq!(rolled_back, is_run_again && workload == Workload::WriteOnly);
    }
}

/// Text and values of every statement of many read_write transactions, by transaction.
fn many(tables: usize) -> Vec<Vec<(String, Vec<Value>)>> {
    let fake = Fake::default();
    let mut client = client(&fake, &settings(Workload::ReadWrite, tables));
    fake.sent();
    let mut random = random(5);
    let transaction = |_| {
        client.transaction(&mut random).unwrap();
        let pairs = fake.sent().into_iter().map(|sent| match sent {
            Sent::Execute(sql, values) => (sql, values),
            other => panic!("{other:?}"),
        });
        pairs.collect()
    };
    (0..300).map(transaction).collect()
}

fn table_of(sql: &str) -> usize {
    let after = sql.split("sbtest").nth(1).unwrap();
    after.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_group_has_one_table_and_tables_are_uniform() {
    let mut seen = [0; 4];
    let mut differing = 0;
    for transaction in many(4) {
        let tables: Vec<usize> = transaction[1..19].iter().map(|(sql, _)| table_of(sql)).collect();
        assert!(tables[..10].iter().all(|table| *table == tables[0]), "the ten points share a table");
        assert_eq!(tables[16], tables[17], "delete and insert share a table");
        differing += usize::from(tables[10..].iter().any(|table| *table != tables[0]));
        tables[9..17].iter().for_each(|table| seen[table - 1] += 1);
    }
    assert!(differing > 250, "each group draws its own table: {differing}");
    // 600 expected of 2400, standard deviation 21.
    assert!(seen.iter().all(|count| (500..700).contains(count)), "{seen:?}");
}

#[test]
fn every_query_draws_its_own_id_and_ranges_have_their_length() {
    for transaction in many(1) {
        let values = |index: usize| &transaction[index].1;
        let points: std::collections::BTreeSet<i64> = (1..11).map(|index| int(&values(index)[0])).collect();
        assert!(points.len() > 1);
        assert!(points.iter().all(|id| (1..=1000).contains(id)));
        for range in 11..15 {
            assert_eq!(int(&values(range)[1]) - int(&values(range)[0]), 99);
            assert!((1..=1000).contains(&int(&values(range)[0])));
        }
    }
}

#[test]
fn written_values_have_their_form_and_delete_and_insert_their_common_id() {
    let transactions = many(1);
    let is_text = |value: &Value, length| matches!(value, Value::Text(text) if text.len() == length);
    let mut ids_and_ks = Vec::new();
    for transaction in &transactions {
        let [_, update, delete, insert] = &transaction[15..19] else { panic!("four writes") };
        assert!(is_text(&update.1[0], 119));
        let [id, k, c, pad] = &insert.1[..] else { panic!("four values") };
        assert_eq!(delete.1[0], *id);
        assert!(is_text(c, 119) && is_text(pad, 59));
        assert_ne!(*c, update.1[0]);
        assert!((1..=1000).contains(&int(k)));
        ids_and_ks.push((int(id), int(k)));
    }
    assert!(ids_and_ks.iter().any(|(id, k)| id != k), "k is drawn on its own");
}

#[test]
fn begin_and_commit_fall_back_to_text_where_they_cannot_be_prepared() {
    let fake =
        Fake::default().failing("BEGIN", SqlErrorKind::NotPreparable).failing("COMMIT", SqlErrorKind::NotPreparable);
    let mut client = client(&fake, &settings(Workload::WriteOnly, 1));
    fake.sent();
    assert_eq!(client.transaction(&mut random(1)).unwrap(), done(0, 4, 2));
    let sent = fake.sent();
    assert_eq!((&sent[0], &sent[5]), (&Sent::Run("BEGIN".into()), &Sent::Run("COMMIT".into())));
}

#[test]
fn a_deadlock_rolls_back_and_restarts_with_new_values() {
    let fake = Fake::default();
    let mut client = client(&fake, &settings(Workload::WriteOnly, 1));
    let fake = fake.failing("DELETE", SqlErrorKind::Retry);
    fake.sent();
    let mut random = random(1);
    let first = client.transaction(&mut random).unwrap();
    assert_eq!(first, Attempt::Restart(Queries { read: 0, write: 2, other: 1 }), "the failed statement is not counted");
    let sent = fake.sent();
    assert_eq!(sent.len(), 5);
    assert_eq!(sent[4], Sent::Run("ROLLBACK".into()));
    assert_eq!(client.transaction(&mut random).unwrap(), done(0, 4, 2));
    let again = fake.sent();
    assert_eq!(again[0], sent[0]);
    assert_ne!(again[1..3], sent[1..3], "other ids and texts");
}

#[test]
fn commit_can_ask_for_a_restart_and_a_failed_rollback_is_no_error_unless_the_connection_is_gone() {
    for (kind, survives) in [(SqlErrorKind::Other, true), (SqlErrorKind::Lost, false)] {
        let fake = Fake::default();
        let mut client = client(&fake, &settings(Workload::ReadOnly, 1));
        let _fake = fake.failing("COMMIT", SqlErrorKind::Retry).failing("ROLLBACK", kind);
        let attempt = client.transaction(&mut random(1));
        assert_eq!(attempt.is_ok(), survives, "{attempt:?}");
    }
}

#[test]
fn outside_a_transaction_nothing_is_rolled_back() {
    let fake = Fake::default();
    let mut client = client(&fake, &settings(Workload::UpdateIndex, 1));
    let fake = fake.failing("UPDATE", SqlErrorKind::Retry);
    fake.sent();
    assert_eq!(client.transaction(&mut random(1)).unwrap(), Attempt::Restart(Queries::default()));
    assert_eq!(fake.sent().len(), 1);
}

#[test]
fn an_update_that_matches_no_row_is_not_counted_as_a_write() {
    let fake = Fake::default().missing("UPDATE").missing("DELETE");
    let mut client = client(&fake, &settings(Workload::WriteOnly, 1));
    assert_eq!(client.transaction(&mut random(1)).unwrap(), done(0, 1, 5));
}

#[test]
fn errors_name_the_statement() {
    let fake = Fake::default();
    let mut client = client(&fake, &settings(Workload::ReadOnly, 1));
    let fake = fake.failing("DISTINCT", SqlErrorKind::Lost);
    let message = client.transaction(&mut random(1)).unwrap_err().to_string();
    assert_eq!(message, format!("{}: refused (code 7)", RANGES[3]));
    drop(fake);
    let fake = Fake::default().failing("sbtest2", SqlErrorKind::Other);
    let error = alone(&fake, &settings(Workload::PointSelect, 3), Mariadb.dialect()).err().unwrap();
    assert_eq!(error.to_string(), "SELECT c FROM sbtest2 WHERE id=?: refused (code 7)");
    let error = alone(&fake, &settings(Workload::PointSelect, 0), Mariadb.dialect()).err().unwrap();
    assert_eq!(error.to_string(), "tables is 0: expected at least 1");
}

#[test]
fn sqlite_says_at_once_that_a_transaction_will_write() {
    for (workload, begin) in [(Workload::ReadOnly, "BEGIN"), (Workload::ReadWrite, "BEGIN IMMEDIATE")] {
        let fake = Fake::default();
        alone(&fake, &settings(workload, 1), Sqlite.dialect()).unwrap();
        assert_eq!(fake.sent()[0], Sent::Prepare(begin.into()));
    }
}

#[test]
fn the_same_seed_sends_the_same_statements() {
    assert_eq!(many(3), many(3));
}

#[test]
fn an_answer_with_a_wrong_number_of_rows_fails_the_transaction() {
    for rows in [0, 50] {
        let fake = Fake::default().changing(rows);
        let mut client = client(&fake, &settings(Workload::PointSelect, 1));
        let message = client.transaction(&mut random(1)).unwrap_err().to_string();
        assert!(message.starts_with(&format!("{POINT} with id ")), "{message}");
        assert!(message.contains(&format!("answered with {rows} rows: expected 1 to 1")), "{message}");
    }
}

/// Without DELETEs no session removes rows, and only the session's own INSERT adds its row.
#[test]
fn a_write_that_changed_no_row_fails_the_transaction() {
    let no_deletes = |workload| {
        let mut settings = settings(workload, 1);
        settings.counts.delete_inserts = 0;
        settings
    };
    let all = [
        (settings(Workload::UpdateIndex, 1), "UPDATE"),
        (settings(Workload::UpdateNonIndex, 1), "UPDATE"),
        (no_deletes(Workload::WriteOnly), "UPDATE"),
        (settings(Workload::WriteOnly, 1), "INSERT"),
    ];
    for (settings, part) in all {
        let fake = Fake::default().missing(part);
        let message = client(&fake, &settings).transaction(&mut random(1)).unwrap_err().to_string();
        assert!(message.starts_with(part) && message.contains("0 rows: expected 1 to 1"), "{message}");
    }
    let fake = Fake::default().changing(3);
    let mut bulk = client(&fake, &settings(Workload::BulkInsert, 1));
    let mut attempts = (0..100_000).map(|_| bulk.transaction(&mut random(1)));
    let message = attempts.find_map(Result::err).unwrap().to_string();
    assert!(message.starts_with("table sbtest1 accepted 3 rows of "), "{message}");
}

/// Another session may have removed the row of any read, but not of all of them. A transaction has 13 such reads, and
/// a sum, which always returns a row.
#[test]
fn reads_that_never_find_a_row_are_no_transactions() {
    let fake = Fake::default().missing("SELECT c").missing("SELECT DISTINCT");
    let mut client = client(&fake, &settings(Workload::ReadWrite, 1));
    let mut random = random(1);
    for _ in 0..7 {
        assert!(client.transaction(&mut random).is_ok());
    }
    let message = client.transaction(&mut random).unwrap_err().to_string();
    assert!(message.starts_with("101 consecutive reads of a client found no row"), "{message}");
}
