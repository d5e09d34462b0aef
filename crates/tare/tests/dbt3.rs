//! The 22 queries on real servers: both engines must say the same, and what is stored.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod engine_support;

use engine_support::{PATIENCE, Place, one};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tare::workload::Dialect;
use tare::workload::dbt3::{
    self, Fill, Query, Row, SIX_DECIMALS, Scale, TABLES, Table, compare, numbers, scans, write_section,
};
use tare_engine::{Engine, Mariadb, PrepareRequest, Server, Session, Sqlite};

fn tare() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_tare"))
}

/// A server of this engine on tables of this scale.
fn server(place: &Place, engine: &dyn Engine, scale: &str) -> Box<dyn Server> {
    let dialect = Dialect::of(engine.name());
    let binary = (dialect == Dialect::Sqlite).then(tare);
    let request = PrepareRequest { dataset: format!("dbt3 {scale}"), ..place.prepare_request(binary.as_deref()) };
    let scale: Scale = scale.parse().unwrap();
    let fill = Fill { scale, dialect, parallel: 2, directory: &request.run_directory };
    let clock = Instant::now();
    let prepared = engine
        .prepare_data(&request, &mut |server| {
            Ok(dbt3::prepare(&fill, &|| server.connect(), &|_| ControlFlow::Continue(()))?)
        })
        .unwrap();
    println!("{}: tables of scale {scale} in {:.1} s", engine.name(), clock.elapsed().as_secs_f64());
    engine.start(&place.start_request(&prepared, binary.as_deref())).unwrap()
}

/// A session ready for queries.
fn session(server: &dyn Server, dialect: Dialect) -> Box<dyn Session> {
    let mut session = server.connect().unwrap();
    dbt3::set_up(session.as_mut(), dialect).unwrap();
    session
}

fn all_answers(session: &mut dyn Session, dialect: Dialect, scale: &str) -> Vec<Vec<Row>> {
    let scale = scale.parse().unwrap();
    let answer = |number| {
        let clock = Instant::now();
        let rows = session.query(&Query::new(number, scale, dialect).sql).unwrap_or_else(|e| panic!("Q{number}: {e}"));
        println!("{dialect:?} Q{number}: {} rows in {:.3} s", rows.len(), clock.elapsed().as_secs_f64());
        rows
    };
    numbers().map(answer).collect()
}

/// Both engines answer alike, and as stored. With `TARE_UPDATE_ANSWERS` set, what they agree on is stored instead.
fn engines_agree(scale: &str) {
    let mut answers = Vec::new();
    for engine in [&Mariadb as &dyn Engine, &Sqlite] {
        let place = Place::new();
        let mut server = server(&place, engine, scale);
        let dialect = Dialect::of(engine.name());
        answers.push(all_answers(session(server.as_ref(), dialect).as_mut(), dialect, scale));
        server.stop(PATIENCE).unwrap();
    }
    let (mariadb, sqlite) = (&answers[0], &answers[1]);
    let factor: Scale = scale.parse().unwrap();
    let mut text = String::new();
    for (number, (mariadb, sqlite)) in numbers().zip(mariadb.iter().zip(sqlite)) {
        let order = Query::new(number, factor, Dialect::MySql).order;
        if let Err(difference) = compare(mariadb, sqlite, &order, SIX_DECIMALS) {
            panic!("Q{number}, MariaDB expected, SQLite got: {difference}");
        }
        write_section(&mut text, number, mariadb);
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/workload/dbt3/answers/{scale}.txt"));
    if std::env::var_os("TARE_UPDATE_ANSWERS").is_some() && file.exists() {
        std::fs::write(&file, text).unwrap();
        return;
    }
    let mut wrong = Vec::new();
    for (engine, rows) in [("MariaDB", mariadb), ("SQLite", sqlite)] {
        for (number, rows) in numbers().zip(rows) {
            let query = Query::new(number, factor, Dialect::MySql);
            // No directory: every query of these scales has an answer that needs none.
            let checked = dbt3::check(&query, factor, rows, Path::new("/nonexistent"), engine);
            wrong.extend(checked.err().map(|error| format!("{engine}: {error}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn both_engines_give_the_stored_answers_at_scale_0_01() {
    engines_agree("0.01");
}

/// Pages that InnoDB has read from files since the server started.
fn pages_read(session: &mut dyn Session) -> u64 {
    let sql = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS \
               WHERE VARIABLE_NAME = 'Innodb_buffer_pool_reads'";
    one(session, sql).unwrap().parse().unwrap()
}

#[test]
fn after_a_preload_no_query_reads_a_page() {
    let place = Place::new();
    let server = server(&place, &Mariadb, "0.01");
    let mut session = session(server.as_ref(), Dialect::MySql);
    let session = session.as_mut();
    let started = pages_read(session);
    let read = dbt3::preload(session, Dialect::MySql).unwrap();
    assert_eq!((read.indexes, read.entries), (15, 231_780));
    let preloaded = pages_read(session);
    let (held, all) = dbt3::buffer_pool_pages(session).unwrap();
    assert!(preloaded > started && held >= all && all > 500, "{started} {preloaded} {held} {all}");
    all_answers(session, Dialect::MySql, "0.01");
    // InnoDB's own tables (statistics, undo) are not what is preloaded.
    let queried = pages_read(session);
    assert!(queried - preloaded < 20, "{preloaded} {queried}");
}

#[test]
fn a_preload_reads_what_it_says() {
    for engine in [&Mariadb as &dyn Engine, &Sqlite] {
        let place = Place::new();
        let server = server(&place, engine, "0.0079");
        let dialect = Dialect::of(engine.name());
        let mut session = session(server.as_ref(), dialect);
        for table in &TABLES {
            let indexes = table.indexes.iter().map(|columns| Some(Table::index_name(columns)));
            for (sql, index) in scans(table, dialect).into_iter().zip(std::iter::once(None).chain(indexes)) {
                let explain = if dialect == Dialect::MySql { "EXPLAIN " } else { "EXPLAIN QUERY PLAN " };
                let plan = session.query(&format!("{explain}{sql}")).unwrap().remove(0);
                let used = match dialect {
                    // The key, or else the type: ALL is the table, which is its primary key.
                    Dialect::MySql => plan[5].clone().or(plan[3].clone()).unwrap(),
                    Dialect::Sqlite => plan[3].clone().unwrap(),
                };
                let name = table.name;
                let expected = match (dialect, index) {
                    (Dialect::MySql, None) => "ALL".to_owned(),
                    (Dialect::MySql, Some(index)) => index,
                    (Dialect::Sqlite, None) => format!("SCAN {name}"),
                    (Dialect::Sqlite, Some(index)) => format!("SCAN {name} USING COVERING INDEX {index}"),
                };
                assert_eq!(used, expected, "{sql}: {plan:?}");
            }
        }
    }
}

#[test]
#[ignore = "takes about a minute: make test-dbt3-large"]
fn both_engines_give_the_stored_answers_at_scale_0_1() {
    engines_agree("0.1");
}

#[test]
#[ignore = "takes twenty minutes: cargo test --release -p tare --test dbt3 published -- --ignored"]
fn both_engines_give_the_published_answers_at_scale_1() {
    engines_agree("1");
}
