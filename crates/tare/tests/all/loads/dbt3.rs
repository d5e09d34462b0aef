//! The 22 queries on real servers: all engines must give the same answers, equal to the stored ones.

use crate::engines::support::{PATIENCE, Place, binary_of, one};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;
use tare_drive::workload::dbt3::{
    self, AnswerRow, Fill, Query, SIX_DECIMALS, Scale, TABLES, Table, compare, write_section,
};
use tare_engine::{Engine, Mariadb, Mysql, PoolPages, Postgresql, PrepareRequest, Server, Session, Sqlite};

/// A server of this engine with tables of this scale.
fn server(place: &Place, engine: &dyn Engine, scale: &str) -> Box<dyn Server> {
    let dialect = engine.dialect();
    let binary = binary_of(engine);
    let request = place.shared_request(binary.as_deref(), &format!("dbt3 {scale}"));
    // Large data is removed with its test.
    let is_large = !scale.starts_with("0.0");
    let request = if is_large { PrepareRequest { cache_directory: place.path("cache"), ..request } } else { request };
    let scale: Scale = scale.parse().unwrap();
    let fill = Fill { scale, indexes: Default::default(), dialect, parallel: 2, directory: &request.run_directory };
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
fn session(server: &dyn Server) -> Box<dyn Session> {
    let mut session = server.connect().unwrap();
    dbt3::set_up(session.as_mut(), server.dialect()).unwrap();
    session
}

fn all_answers(session: &mut dyn Session, engine: &dyn Engine, scale: &str) -> Vec<Vec<AnswerRow>> {
    let scale = scale.parse().unwrap();
    let answer = |number| {
        let clock = Instant::now();
        let rows = session
            .query(&Query::new(number, scale, engine.dialect()).sql)
            .unwrap_or_else(|e| panic!("Q{number}: {e}"));
        println!("{} Q{number}: {} rows in {:.3} s", engine.name(), rows.len(), clock.elapsed().as_secs_f64());
        rows
    };
    (1..=dbt3::QUERIES).map(answer).collect()
}

/// Every engine whose answers must agree with the others.
const ENGINES: [&dyn Engine; 4] = [&Mariadb, &Mysql, &Postgresql, &Sqlite];

/// All engines must give the answers of the first one and the stored ones. `TARE_UPDATE_ANSWERS` stores them instead.
/// After a preload, no query reads a page: checked on MariaDB, which counts them.
fn engines_agree(scale: &str) {
    let factor: Scale = scale.parse().unwrap();
    let query = |number| Query::new(number, factor, ENGINES[0].dialect());
    let mut answers: Vec<(&str, Vec<Vec<AnswerRow>>)> = Vec::new();
    for engine in ENGINES {
        let place = Place::new();
        let mut server = server(&place, engine, scale);
        let mut session = session(server.as_ref());
        let before = (engine.name() == "mariadb" && scale == "0.01").then(|| preloaded(session.as_mut()));
        let rows = all_answers(session.as_mut(), engine, scale);
        // Internal tables of InnoDB (statistics, undo) are not preloaded.
        let read = before.map(|before| pages_read(session.as_mut()) - before);
        assert!(read.is_none_or(|read| read < 20), "{read:?} pages were read after a preload");
        drop(session);
        server.stop(PATIENCE).unwrap();
        if let Some((first, expected)) = answers.first() {
            for (number, (expected, rows)) in (1..=dbt3::QUERIES).zip(expected.iter().zip(&rows)) {
                if let Err(difference) = compare(expected, rows, &query(number).order, SIX_DECIMALS) {
                    panic!("Q{number}, {first} expected, {} got: {difference}", engine.name());
                }
            }
        }
        answers.push((engine.name(), rows));
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/workload/dbt3/answers/{scale}.txt"));
    if std::env::var_os("TARE_UPDATE_ANSWERS").is_some() && file.exists() {
        let mut text = String::new();
        (1..=dbt3::QUERIES).zip(&answers[0].1).for_each(|(number, rows)| write_section(&mut text, number, rows));
        std::fs::write(&file, text).unwrap();
        return;
    }
    let mut wrong = Vec::new();
    for (engine, rows) in &answers {
        for (number, rows) in (1..=dbt3::QUERIES).zip(rows) {
            // Without a directory: every query of these scales has a stored answer.
            let checked = dbt3::check(&query(number), factor, rows, Path::new("/nonexistent"), engine);
            wrong.extend(checked.err().map(|error| format!("{engine}: {error}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn all_engines_give_the_stored_answers_at_scale_0_01() {
    engines_agree("0.01");
}

/// Preloads the tables of scale 0.01; returns the pages that InnoDB has read by then.
fn preloaded(session: &mut dyn Session) -> u64 {
    let started = pages_read(session);
    let read = dbt3::preload(session, Mariadb.dialect(), Default::default()).unwrap();
    assert_eq!((read.indexes, read.entries), (15, 231_780));
    let preloaded = pages_read(session);
    let PoolPages { held, data: all, .. } = Mariadb.dialect().pages_in_memory(session).unwrap().unwrap();
    assert!(preloaded > started && held >= all && all > 500, "{started} {preloaded} {held} {all}");
    preloaded
}

/// Pages that InnoDB has read from files since the server started.
fn pages_read(session: &mut dyn Session) -> u64 {
    let sql = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS \
               WHERE VARIABLE_NAME = 'Innodb_buffer_pool_reads'";
    one(session, sql).unwrap().parse().unwrap()
}

#[test]
fn each_preload_scan_uses_the_intended_table_or_index() {
    for engine in [&Mariadb as &dyn Engine, &Sqlite] {
        let place = Place::new();
        let server = server(&place, engine, "0.01");
        let mut session = session(server.as_ref());
        for table in &TABLES {
            let indexes = table.indexes.iter().map(|columns| Some(Table::index_name(columns)));
            for (scan, index) in
                table.scans(engine.dialect(), Default::default()).into_iter().zip(std::iter::once(None).chain(indexes))
            {
                let explain = if engine.name() == "mariadb" { "EXPLAIN " } else { "EXPLAIN QUERY PLAN " };
                let plan = session.query(&format!("{explain}{}", scan.sql)).unwrap().remove(0);
                let used = match engine.name() {
                    // The key, or else the type: ALL is a scan of the table, which is its primary key.
                    "mariadb" => plan[5].clone().or(plan[3].clone()).unwrap(),
                    _ => plan[3].clone().unwrap(),
                };
                let name = table.name;
                let expected = match (engine.name(), index) {
                    ("mariadb", None) => "ALL".to_owned(),
                    ("mariadb", Some(index)) => index,
                    (_, None) => format!("SCAN {name}"),
                    (_, Some(index)) => format!("SCAN {name} USING COVERING INDEX {index}"),
                };
                assert_eq!(used, expected, "{}: {plan:?}", scan.sql);
            }
        }
    }
}

#[test]
#[ignore = "takes about a minute: make test-long"]
fn all_engines_give_the_stored_answers_at_scale_0_1() {
    engines_agree("0.1");
}

#[test]
#[ignore = "takes twenty minutes: cargo nextest run --release -p tare --run-ignored only published"]
fn all_engines_give_the_published_answers_at_scale_1() {
    engines_agree("1");
}
