//! The OLTP workloads on every engine: the same seed must leave the same rows.

use std::ops::ControlFlow;

use crate::engines::support::{PATIENCE, Place, binary_of};
use tare_drive::workload::oltp::{self, ClientSlot, Fill, OltpClient, OltpSettings, Tables, Workload};
use tare_engine::{Engine, Mariadb, Mysql, Postgresql, Server, Sqlite};
use tare_load::{Attempt, Client, Purpose, Random};

const TABLES: Tables = Tables { tables: 2, rows: 400 };
/// Workloads that change the number of rows come last.
const ALL: [Workload; 10] = [
    Workload::PointSelect,
    Workload::ReadOnly,
    Workload::ReadWrite,
    Workload::WriteOnly,
    Workload::UpdateIndex,
    Workload::UpdateNonIndex,
    Workload::SelectRandomPoints,
    Workload::SelectRandomRanges,
    Workload::Insert,
    Workload::Delete,
];

/// Every row of every table, without trailing blanks of a CHAR, which only some engines return.
fn rows(server: &dyn Server) -> Vec<Vec<String>> {
    let mut session = server.connect().unwrap();
    let table = |table| {
        let rows = session.query(&format!("SELECT id, k, c, pad FROM sbtest{table} ORDER BY id")).unwrap();
        rows.into_iter().map(|row| row.into_iter().map(|value| value.unwrap().trim_end().to_owned()).collect())
    };
    (1..=TABLES.tables).flat_map(table).collect::<Vec<Vec<String>>>()
}

/// Rows of the third client, whose table no other workload uses.
fn bulk(server: &dyn Server) {
    let mut session = server.connect().unwrap();
    oltp::prepare_bulk(session.as_mut(), 3, server.dialect()).unwrap();
    let settings = OltpSettings::new(Workload::BulkInsert);
    // The first run fills more than one INSERT.
    for (from, rows) in [(0, 50_000), (50_000, 500)] {
        let seat = ClientSlot { index: 2, clients: 3 };
        let mut client = OltpClient::at(seat, server.connect().unwrap(), &settings, server.dialect()).unwrap();
        let mut random = Random::new(7, Purpose::Transactions, 0);
        for _ in 0..rows {
            client.transaction(&mut random).unwrap();
        }
        drop(client);
        let found = session.query("SELECT COUNT(*), MIN(id), MAX(k) FROM sbtest3").unwrap().remove(0);
        let expected = [from + rows, 1, from + rows].map(|number: u32| Some(number.to_string()));
        assert_eq!(found, expected, "the second run goes on behind the first");
    }
}

/// The rows after filling, and after some transactions of each workload.
fn life(engine: &dyn Engine) -> Vec<Vec<Vec<String>>> {
    let place = Place::new();
    let binary = binary_of(engine);
    let request = place.shared_request(binary.as_deref(), "oltp");
    let data = engine
        .prepare_data(&request, &mut |server| {
            let fill = Fill {
                tables: TABLES,
                distribution: Default::default(),
                seed: 3,
                sessions: 2,
                dialect: server.dialect(),
            };
            Ok(oltp::prepare(&fill, &|| server.connect(), &|_| ControlFlow::Continue(()))?)
        })
        .unwrap();
    let mut server = engine.start(&place.start_request(&data, binary.as_deref())).unwrap();
    oltp::check(server.connect().unwrap().as_mut(), &TABLES, Workload::PointSelect).unwrap();
    let mut seen = vec![rows(server.as_ref())];
    for workload in ALL {
        let tables = if workload.name().starts_with("select_random") { 1 } else { TABLES.tables };
        let tables = Tables { tables, ..TABLES };
        let settings =
            OltpSettings { tables, prepared: workload != Workload::UpdateIndex, ..OltpSettings::new(workload) };
        if workload == Workload::Insert {
            let mut session = server.connect().unwrap();
            let number_on = |table| server.dialect().number_on(&format!("sbtest{table}"), "id");
            for sql in (1..=TABLES.tables).filter_map(number_on) {
                session.run(&sql).unwrap();
            }
        }
        let mut session = server.connect().unwrap();
        assert!(session.server_thread().unwrap().is_some(), "{workload} on {}", engine.name());
        let mut client = OltpClient::at(ClientSlot::ONLY, session, &settings, server.dialect()).unwrap();
        let mut random = Random::new(7, Purpose::Transactions, 0);
        for _ in 0..20 {
            let attempt =
                client.transaction(&mut random).unwrap_or_else(|e| panic!("{}: {workload}: {e}", engine.name()));
            assert!(matches!(attempt, Attempt::Done(_)), "{workload} on {}", engine.name());
        }
        seen.push(rows(server.as_ref()));
    }
    bulk(server.as_ref());
    server.stop(PATIENCE).unwrap();
    seen
}

#[test]
fn every_engine_has_the_same_rows_after_every_workload() {
    let expected = life(&Sqlite);
    let [filled, .., last] = &expected[..] else { panic!("no lives") };
    assert_eq!(filled.len(), 800);
    assert_ne!(last.len(), 800, "20 rows more, and up to 20 fewer");
    assert_ne!(filled, last, "the workloads changed nothing");
    for engine in [&Mariadb as &dyn Engine, &Mysql, &Postgresql] {
        for (index, (expected, found)) in expected.iter().zip(life(engine)).enumerate() {
            let differs = expected.iter().zip(&found).find(|(expected, found)| expected != found);
            assert!(
                differs.is_none() && expected.len() == found.len(),
                "{} after {index} workloads: {differs:?}",
                engine.name()
            );
        }
    }
}
