//! tare's own load executes the statements of sysbench: a MariaDB counts them for the same number of transactions.

use crate::engines::support::{PATIENCE, Place, prepared};
use std::collections::BTreeMap;
use std::process::Command;
use tare_drive::workload::oltp::{self, ClientSlot, OltpClient, OltpSettings, Tables, Workload};
use tare_engine::{Address, DEFAULT_DATABASE, Engine, Mariadb, Server};
use tare_load::{Attempt, Client, Purpose, Random};

const TABLES: Tables = Tables { tables: 2, rows: 500 };

/// The counters that show what was executed, and how.
const COUNTERS: [&str; 8] = [
    "Com_select",
    "Com_insert",
    "Com_update",
    "Com_delete",
    "Com_begin",
    "Com_commit",
    "Com_stmt_prepare",
    "Com_stmt_execute",
];

fn counters(server: &dyn Server) -> BTreeMap<String, u64> {
    let rows = server.connect().unwrap().query("SHOW GLOBAL STATUS LIKE 'Com\\_%'").unwrap();
    let known = rows.into_iter().filter_map(|row| {
        let [name, count] = <[Option<String>; 2]>::try_from(row).ok()?;
        Some((name?, count?.parse().ok()?))
    });
    known.filter(|(name, _)| COUNTERS.contains(&name.as_str())).collect()
}

/// The increase of the server's counters during `work`.
fn during(server: &dyn Server, work: impl FnOnce()) -> BTreeMap<String, u64> {
    let before = counters(server);
    work();
    let after = counters(server);
    assert_eq!(after.len(), COUNTERS.len(), "{after:?}");
    after.into_iter().map(|(name, count)| (name.clone(), count - before[&name])).collect()
}

fn sysbench(server: &dyn Server, tables: Tables, words: &[String]) {
    let Address::Socket(socket) = server.address() else { panic!("a socket") };
    let mut command = Command::new("sysbench");
    command.args(["--db-driver=mysql", "--mysql-user=root", &format!("--mysql-db={DEFAULT_DATABASE}")]);
    command.arg(format!("--mysql-socket={}", socket.display())).args(words);
    if !words.contains(&"bulk_insert".to_owned()) {
        command.args([format!("--tables={}", tables.tables), format!("--table-size={}", tables.rows)]);
    }
    let output = command.output().expect("sysbench is missing: apt-get install sysbench");
    assert!(output.status.success(), "{words:?}\n{}", String::from_utf8_lossy(&output.stdout));
}

/// Runs `events` transactions with the same settings by both programs, on the same tables.
fn compare(server: &dyn Server, script: &str, settings: &OltpSettings, options: &[&str], events: u64) {
    let own = during(server, || {
        let mut client =
            OltpClient::at(ClientSlot::ONLY, server.connect().unwrap(), settings, server.dialect()).unwrap();
        let mut random = Random::new(1, Purpose::Transactions, 0);
        let mut done = 0;
        while done < events {
            done += u64::from(matches!(client.transaction(&mut random).unwrap(), Attempt::Done(_)));
        }
    });
    let mut words: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
    words.extend(["--threads=1", "--time=0", &format!("--events={events}"), script, "run"].map(str::to_owned));
    let theirs = during(server, || sysbench(server, settings.tables, &words));
    assert_eq!(own, theirs, "{script} {options:?}, {events} transactions");
}

#[test]
fn the_server_counts_the_same_statements_for_tare_and_sysbench() {
    let place = Place::new();
    let data = prepared(&Mariadb, &place, None);
    let mut server = Mariadb.start(&place.start_request(&data, None)).unwrap();
    let open = server.as_ref();
    sysbench(open, TABLES, &["oltp_read_only", "prepare"].map(str::to_owned));
    oltp::check(open.connect().unwrap().as_mut(), &TABLES, Workload::PointSelect).unwrap();
    let of = |workload| OltpSettings { tables: TABLES, ..OltpSettings::new(workload) };
    // Workloads that change the number of rows come last.
    let scripts = [
        (Workload::PointSelect, "oltp_point_select"),
        (Workload::ReadOnly, "oltp_read_only"),
        (Workload::UpdateIndex, "oltp_update_index"),
        (Workload::UpdateNonIndex, "oltp_update_non_index"),
        (Workload::ReadWrite, "oltp_read_write"),
        (Workload::WriteOnly, "oltp_write_only"),
    ];
    for (workload, script) in scripts {
        compare(open, script, &of(workload), &[], 50);
        let text = OltpSettings { prepared: false, ..of(workload) };
        compare(open, script, &text, &["--db-ps-mode=disable"], 50);
        let skips = OltpSettings { skip_transactions: true, ..of(workload) };
        compare(open, script, &skips, &["--skip-trx=on"], 50);
    }
    let one = Tables { tables: 1, ..TABLES };
    let points = OltpSettings { tables: one, ..of(Workload::SelectRandomPoints) };
    compare(open, "select_random_points", &points, &[], 50);
    let ranges = OltpSettings { tables: one, ..of(Workload::SelectRandomRanges) };
    compare(open, "select_random_ranges", &ranges, &[], 50);
    compare(open, "oltp_insert", &of(Workload::Insert), &[], 50);
    compare(open, "oltp_delete", &of(Workload::Delete), &[], 50);

    oltp::cleanup(open.connect().unwrap().as_mut(), &TABLES).unwrap();
    sysbench(open, TABLES, &["bulk_insert", "prepare"].map(str::to_owned));
    let own = OltpSettings::new(Workload::BulkInsert);
    // Two full INSERTs and the rest; sysbench begins at 1 and finds an empty table.
    let mut session = open.connect().unwrap();
    let count = |events| {
        let counted = during(open, || {
            let mut client = OltpClient::at(ClientSlot::ONLY, open.connect().unwrap(), &own, open.dialect()).unwrap();
            let mut random = Random::new(1, Purpose::Transactions, 0);
            for _ in 0..events {
                client.transaction(&mut random).unwrap();
            }
        });
        counted["Com_insert"]
    };
    let ours = count(90_000);
    session.run("DELETE FROM sbtest1").unwrap();
    let words = ["--threads=1", "--time=0", "--events=90000", "bulk_insert", "run"].map(str::to_owned);
    let theirs = during(open, || sysbench(open, TABLES, &words))["Com_insert"];
    assert_eq!((ours, theirs), (theirs, 3));
    drop(session);
    server.stop(PATIENCE).unwrap();
}
