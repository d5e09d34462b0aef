//! The rows that filling creates, and the statements that it sends; what is checked in tables.

use super::super::fake::{Fake, Sent, Value, int};
use super::*;
use crate::workload::oltp::Tables;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tare_engine::{Engine, Mariadb, Mysql, SqlError, SqlErrorKind, Sqlite};
use tare_load::Distribution;

fn fill(tables: usize, rows: u64, dialect: &'static dyn Dialect) -> Fill {
    Fill { tables: Tables { tables, rows }, distribution: Distribution::default(), seed: 3, sessions: 4, dialect }
}

fn run_fill(fake: &Fake, fill: &Fill) -> Result<(), OltpError> {
    prepare(fill, &|| Ok::<_, SqlError>(fake.session()), &|_| ControlFlow::Continue(()))
}

/// Texts of the statements on table `table`, without the values of INSERTs.
fn texts(sent: &[Sent], table: usize) -> Vec<String> {
    let text = |sent: &Sent| match sent {
        Sent::Run(sql) => Some(sql.clone()),
        Sent::Execute(sql, _) => sql.split(" VALUES").next().map(str::to_owned),
        Sent::Prepare(_) | Sent::Query(_) | Sent::Load(..) => None,
    };
    let mut texts: Vec<String> = sent.iter().filter_map(text).collect();
    texts.retain(|sql| sql.contains(&format!("sbtest{table}(")) || sql.contains(&format!("sbtest{table} ")));
    texts
}

fn text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Int(number) => panic!("{number}"),
    }
}

/// `(id, k, c, pad)` of every row inserted into a table.
fn all_rows(sent: &[Sent], table: usize) -> Vec<(i64, i64, String, String)> {
    let head = format!("INSERT INTO sbtest{table} (id, k, c, pad) VALUES (?, ?, ?, ?)");
    let inserted = sent.iter().filter_map(|sent| match sent {
        Sent::Execute(sql, values) if sql.starts_with(&head) => Some(values),
        _ => None,
    });
    let rows = inserted.flat_map(|values| values.chunks(4));
    rows.map(|row| (int(&row[0]), int(&row[1]), text(&row[2]), text(&row[3]))).collect()
}

#[test]
fn a_table_is_created_filled_and_indexed_in_this_order() {
    let fake = Fake::default();
    run_fill(&fake, &fill(3, 6000, Mariadb.dialect())).unwrap();
    assert_eq!(fake.sessions(), 3, "no more sessions than tables");
    let sent = fake.sent();
    for table in 1..=3 {
        let texts = texts(&sent, table);
        assert_eq!(
            texts[0],
            format!(
                "CREATE TABLE sbtest{table} (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
                 c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) ENGINE = InnoDB"
            )
        );
        assert_eq!(*texts.last().unwrap(), format!("CREATE INDEX k_{table} ON sbtest{table}(k)"));
        let inserts = &texts[1..texts.len() - 1];
        assert!(inserts.len() == 60 && inserts.iter().all(|sql| sql.starts_with("INSERT")));
        let rows = all_rows(&sent, table);
        assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), (1..=6000).collect::<Vec<i64>>());
        assert!(rows.iter().all(|(_, k, c, pad)| (1..=6000).contains(k) && c.len() == 119 && pad.len() == 59));
        // The default distribution puts three quarters of k into a hundredth of the range.
        let hot = rows.iter().filter(|row| (2970..=3030).contains(&row.1)).count();
        assert!((4300..4700).contains(&hot), "{hot}");
    }
}

#[test]
fn each_filling_statement_has_a_limit_that_grows_with_the_rows() {
    let fake = Fake::default();
    run_fill(&fake, &fill(3, 1000, Mariadb.dialect())).unwrap();
    assert_eq!(fake.limits(), [Some(Duration::from_secs(600 + 3)); 3]);
}

#[test]
fn rows_depend_on_the_seed_and_the_table_alone() {
    let filled = |fill: &Fill| {
        let fake = Fake::default();
        run_fill(&fake, fill).unwrap();
        let sent = fake.sent();
        (1..=3).map(|table| all_rows(&sent, table)).collect::<Vec<_>>()
    };
    let four_sessions = filled(&fill(3, 500, Mariadb.dialect()));
    assert_eq!(four_sessions, filled(&Fill { sessions: 1, ..fill(3, 500, Mariadb.dialect()) }));
    assert_eq!(four_sessions, filled(&fill(3, 500, Sqlite.dialect())));
    assert_ne!(four_sessions[0], four_sessions[1]);
    assert_ne!(four_sessions, filled(&Fill { seed: 4, ..fill(3, 500, Mariadb.dialect()) }));
}

#[test]
fn transactions_and_inserts_have_their_sizes_and_the_last_ones_the_rest() {
    let fake = Fake::default();
    run_fill(&fake, &fill(1, 10_250, Mariadb.dialect())).unwrap();
    let sent = fake.sent();
    let mut transactions = Vec::new();
    for sent in &sent {
        match sent {
            Sent::Run(sql) if sql == "BEGIN" => transactions.push(Vec::new()),
            Sent::Execute(_, values) => transactions.last_mut().unwrap().push(values.len() / 4),
            _ => {}
        }
    }
    assert_eq!(transactions, [vec![100; 50], vec![100; 50], vec![100, 100, 50]]);
    assert_eq!(sent.iter().filter(|sent| **sent == Sent::Run("COMMIT".into())).count(), 3);
    assert_eq!(sent.iter().filter(|sent| matches!(sent, Sent::Prepare(_))).count(), 2);
}

#[test]
fn sqlite_makes_a_table_in_one_transaction_and_with_one_session() {
    let fake = Fake::default();
    run_fill(&fake, &fill(2, 10, Sqlite.dialect())).unwrap();
    assert_eq!(fake.sessions(), 1);
    let sent = fake.sent();
    let start_of = |sent: &Sent| match sent {
        Sent::Run(sql) | Sent::Execute(sql, _) => sql.split([' ', '(']).take(2).collect::<Vec<_>>().join(" "),
        Sent::Prepare(_) => "prepare".to_owned(),
        Sent::Query(sql) | Sent::Load(sql, _) => panic!("{sql}"),
    };
    let table = ["BEGIN IMMEDIATE", "CREATE TABLE", "prepare", "INSERT INTO", "CREATE INDEX", "COMMIT"];
    assert_eq!(sent.iter().map(start_of).collect::<Vec<_>>(), [table, table].concat());
    assert!(
        texts(&sent, 1)[0].contains("id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, k INTEGER DEFAULT '0' NOT NULL")
    );
}

#[test]
fn a_table_that_could_not_be_completed_is_dropped_and_one_that_existed_is_not() {
    let fake = Fake::default().failing("CREATE INDEX k_2", SqlErrorKind::Other);
    let error = run_fill(&fake, &Fill { sessions: 1, ..fill(3, 10, Mariadb.dialect()) }).unwrap_err();
    assert_eq!(error.to_string(), "CREATE INDEX k_2 ON sbtest2(k): refused (code 7)");
    let sent = fake.sent();
    assert_eq!(sent.last(), Some(&Sent::Run("DROP TABLE IF EXISTS sbtest2".into())));
    assert!(texts(&sent, 3).is_empty(), "the first error ends it");

    let fake = Fake::default().failing("CREATE TABLE sbtest1", SqlErrorKind::Other);
    let refused = run_fill(&fake, &fill(1, 10, Mariadb.dialect()));
    assert!(matches!(refused, Err(OltpError::Session(SessionError::Create { .. }))), "{refused:?}");
    assert!(matches!(fake.sent().last(), Some(Sent::Run(sql)) if sql.starts_with("CREATE TABLE")));

    let fake = Fake::default().failing("INSERT", SqlErrorKind::Other);
    assert!(run_fill(&fake, &fill(1, 10, Sqlite.dialect())).is_err());
    assert_eq!(fake.sent().last(), Some(&Sent::Run("ROLLBACK".into())));
}

#[test]
fn the_error_that_is_shown_is_the_one_that_stopped_the_others() {
    let fake = Fake::default().failing("INSERT INTO sbtest2", SqlErrorKind::Lost);
    let error = run_fill(&fake, &fill(4, 2000, Mariadb.dialect())).unwrap_err().to_string();
    assert!(error.starts_with("INSERT INTO sbtest2"), "{error}");
    assert!(error.len() < 200, "a hundred rows of question marks are not an error message");
}

#[test]
fn progress_counts_rows_and_can_stop_the_work() {
    let added = AtomicU64::new(0);
    let fake = Fake::default();
    let connect = || Ok::<_, SqlError>(fake.session());
    let count = |rows| {
        added.fetch_add(rows, Ordering::SeqCst);
        ControlFlow::Continue(())
    };
    prepare(&fill(3, 100, Mariadb.dialect()), &connect, &count).unwrap();
    assert_eq!(added.load(Ordering::SeqCst), 300);
    let error = prepare(&fill(3, 100, Mariadb.dialect()), &connect, &|_| ControlFlow::Break(())).unwrap_err();
    assert!(matches!(error, OltpError::Interrupted));
    let sent = fake.sent();
    let drops = sent.iter().filter(|sent| matches!(sent, Sent::Run(sql) if sql.starts_with("DROP"))).count();
    let creates = sent.iter().filter(|sent| matches!(sent, Sent::Run(sql) if sql.starts_with("CREATE TABLE"))).count();
    assert_eq!(creates, 3 + drops, "every table begun in the second call is dropped");
}

#[test]
fn a_failing_connection_is_reported_as_one() {
    let connect = || Err::<Box<dyn Session>, _>("no such socket");
    let error = prepare(&fill(1, 1, Mariadb.dialect()), &connect, &|_| ControlFlow::Continue(())).unwrap_err();
    assert_eq!(error.to_string(), "cannot connect: no such socket");
}

/// A server that allows LOAD DATA LOCAL.
fn streaming() -> Fake {
    Fake::default().answering(vec![Some("1".to_owned())])
}

#[test]
fn a_streamed_table_has_the_same_rows_as_an_inserted_one() {
    let (tables, rows) = (1, 200_300);
    let (streaming, inserting) = (streaming(), Fake::default());
    run_fill(&streaming, &fill(tables, rows, Mysql.dialect())).unwrap();
    run_fill(&inserting, &fill(tables, rows, Mysql.dialect())).unwrap();
    let loads = streaming.sent().into_iter().filter_map(|sent| match sent {
        Sent::Load(sql, rows) => Some((sql, rows)),
        Sent::Execute(sql, _) => panic!("{sql}"),
        _ => None,
    });
    let loads: Vec<(String, String)> = loads.collect();
    assert!(loads.iter().all(|(sql, _)| sql.starts_with("LOAD DATA LOCAL INFILE 'rows' INTO TABLE sbtest1 ")));
    assert_eq!(loads.iter().map(|(_, rows)| rows.lines().count()).collect::<Vec<_>>(), [200_000, 300]);
    let inserted = all_rows(&inserting.sent(), 1);
    let lines = loads.iter().flat_map(|(_, rows)| rows.lines());
    assert!(lines.eq(inserted.iter().map(|(id, k, c, pad)| format!("{id}|{k}|{c}|{pad}"))));
}

#[test]
fn an_interrupted_or_incomplete_stream_leaves_no_table() {
    let dropped = |fake: &Fake| fake.sent().last() == Some(&Sent::Run("DROP TABLE IF EXISTS sbtest1".into()));
    let (fake, one) = (streaming(), fill(1, 5000, Mysql.dialect()));
    let connect = || Ok::<_, SqlError>(fake.session());
    let some = AtomicU64::new(0);
    let stop = |rows| match some.fetch_add(rows, Ordering::SeqCst) {
        ..2000 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    assert!(matches!(prepare(&one, &connect, &stop), Err(OltpError::Interrupted)));
    assert!(dropped(&fake) && some.load(Ordering::SeqCst) < 5000);

    let fake = streaming().changing(4999);
    let error = run_fill(&fake, &one).unwrap_err().to_string();
    assert!(error.starts_with("table sbtest1 accepted 4999 rows of 5000"), "{error}");
    assert!(dropped(&fake));

    let fake = streaming().failing("LOAD DATA", SqlErrorKind::Lost);
    assert!(run_fill(&fake, &one).unwrap_err().to_string().starts_with("LOAD DATA LOCAL INFILE"));
}

const THREE: Tables = Tables { tables: 3, rows: 50 };

fn answered(answer: [Option<&str>; 3]) -> Result<(), OltpError> {
    let fake = Fake::default().answering(answer.map(|value| value.map(str::to_owned)).to_vec());
    check(fake.session().as_mut(), &THREE, Workload::PointSelect)
}

#[test]
fn tables_of_the_right_size_pass() {
    assert!(answered([Some("50"), Some("1"), Some("50")]).is_ok());
}

#[test]
fn a_table_of_another_size_is_named_with_what_it_has() {
    let message = answered([Some("40"), Some("1"), Some("40")]).unwrap_err().to_string();
    assert!(message.starts_with("table sbtest1 has 40 rows with ids 1 to 40: expected 50 rows with ids 1 to 50"));
    assert!(answered([Some("50"), Some("1"), Some("99")]).is_err(), "ids with gaps");
    let message = answered([Some("0"), None, None]).unwrap_err().to_string();
    assert!(message.starts_with("table sbtest1 has no rows"), "{message}");
}

#[test]
fn tables_that_a_workload_changes_may_have_been_changed_by_it() {
    let passes = |workload, found| judge(workload, 1, 50, found).is_ok();
    assert!(passes(Workload::Insert, Some((70, 1, 90))) && !passes(Workload::ReadOnly, Some((70, 1, 90))));
    assert!(passes(Workload::Delete, Some((3, 7, 50))) && !passes(Workload::Delete, Some((60, 1, 60))));
    assert!(!passes(Workload::Insert, Some((49, 1, 50))) && !passes(Workload::Delete, None));
    let message = judge(Workload::Delete, 2, 50, None).unwrap_err().to_string();
    assert!(message.starts_with("table sbtest2 has no rows: expected rows with ids between 1 and 50"), "{message}");
}

#[test]
fn a_missing_table_is_named_with_what_to_do() {
    let fake = Fake::default()
        .answering(["50", "1", "50"].map(|value| Some(value.to_owned())).to_vec())
        .failing("sbtest2", SqlErrorKind::Other);
    let message = check(fake.session().as_mut(), &THREE, Workload::PointSelect).unwrap_err().to_string();
    assert_eq!(message, "table sbtest2 cannot be read: refused (code 7); expected 50 rows: prepare the tables first");
}

#[test]
fn cleanup_drops_every_table() {
    let fake = Fake::default();
    assert_eq!(cleanup(fake.session().as_mut(), &THREE).unwrap(), 3);
    let drops = (1..=3).map(|table| Sent::Run(format!("DROP TABLE IF EXISTS sbtest{table}")));
    let sent = fake.sent().into_iter().filter(|sent| matches!(sent, Sent::Run(_)));
    assert_eq!(sent.collect::<Vec<_>>(), drops.collect::<Vec<_>>());
}
