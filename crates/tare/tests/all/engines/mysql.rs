//! Tests of MySQL only. `scripts/setup test` installs the server.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::engines::conformance::serving::find_serving_thread;
use crate::engines::support::{Place, binary_of, copied, one, prepared, wait_until_gone};
use crate::support::send;
use tare_drive::workload::oltp::{self, Fill, OltpError, Tables};
use tare_engine::{
    Code, ConnectTarget, DataDirectory, Engine, EngineError, Mariadb, Mysql, Server, StartRequest, Transport,
};

/// The most common requests on one server: its report of itself, rows as a stream, lock waits, what settling and a
/// preload ask, passwords.
#[test]
fn mysql_reports_settings_counts_lock_waits_and_accepts_streams_and_socket_passwords() {
    let place = Place::new();
    let binary = binary_of(&Mysql);
    assert!(Mysql.binary(binary.as_deref()).unwrap().version.starts_with("9."));
    let data = prepared(&Mysql, &place, binary.as_deref());
    // MariaDB's server does not start on this data.
    let refused = Mariadb.check_data(&data, &Mariadb.binary(None).unwrap()).unwrap_err();
    assert!(matches!(&refused, EngineError::OtherVersion { found, .. } if found == "MySQL 8.0 or newer"), "{refused}");
    let request = StartRequest { lock_waits: true, ..place.start_request(&data, binary.as_deref()) };
    let server = Mysql.start(&request).unwrap();
    all_settings_and_which_are_changed(&*server);
    a_stream_where_it_is_allowed_leaves_the_same_rows_as_inserts(&*server);
    lock_waits_are_counted(&*server);
    the_backlog_and_the_pages_in_memory_are_known(&*server);
    a_password_over_the_socket_needs_no_key(&*server);
}

fn all_settings_and_which_are_changed(server: &dyn Server) {
    let reported = server.self_report().unwrap();
    assert!(reported.settings.len() > 400, "{}", reported.settings.len());
    assert!(
        reported.settings["innodb_buffer_pool_size"].is_changed()
            && !reported.settings["innodb_page_size"].is_changed()
    );
    assert_eq!(reported.buffer_pool_bytes, reported.settings["innodb_buffer_pool_size"].value.parse().ok());
    // The X protocol is off: there is only the one socket, and no port.
    let plugin =
        "SELECT COUNT(*) FROM information_schema.PLUGINS WHERE PLUGIN_NAME = 'mysqlx' AND PLUGIN_STATUS = 'ACTIVE'";
    assert_eq!(one(&mut *server.connect().unwrap(), plugin).as_deref(), Some("0"));
}

fn a_stream_where_it_is_allowed_leaves_the_same_rows_as_inserts(server: &dyn Server) {
    let (made, inserted, loads) = filled(server, u64::MAX);
    assert!(made.is_ok() && loads == 0 && inserted.iter().all(Option::is_some), "{made:?} {loads} {inserted:?}");
    let mut session = server.connect().unwrap();
    session.run("SET GLOBAL local_infile = ON").unwrap();
    let (made, streamed, loads) = filled(server, u64::MAX);
    assert!(made.is_ok() && loads == 2, "{made:?} {loads}");
    assert_eq!(streamed, inserted);
    let (made, sums, _) = filled(server, 1000);
    assert!(matches!(made, Err(OltpError::Interrupted)) && sums == [None, None], "{made:?} {sums:?}");
    // A load with a truncated value or a skipped row must fail.
    session.run("CREATE TABLE narrow (id INTEGER PRIMARY KEY, c CHAR(2))").unwrap();
    for (rows, code) in [("1|abc\n", 1265), ("1|a\n1|b\n", 1062)] {
        let sql = server.dialect().load_through_session("narrow");
        let error = session.load(&sql, &mut |server| server.write_all(rows.as_bytes())).unwrap_err();
        assert_eq!(error.code, Some(Code::Number(code)), "{error}");
        session.run("TRUNCATE narrow").unwrap();
    }
}

/// Only waits of connections count: background threads take locks all the time. Returns their waits, which are none if
/// the server does not count them either, as MySQL.
pub fn lock_waits_are_counted(server: &dyn Server) -> u64 {
    let mut diagnostics = server.diagnostics().unwrap();
    assert!(diagnostics.watch_locks().unwrap().contains("lock instruments enabled"));
    let mut session = server.connect().unwrap();
    session.run("UPDATE t SET k = k + 1").unwrap();
    std::thread::sleep(Duration::from_millis(1200));
    let of = |table: &str, more: &str| {
        format!(
            "SELECT COALESCE(SUM(COUNT_STAR), 0) FROM performance_schema.events_waits_summary_{table} WHERE \
             EVENT_NAME REGEXP '^wait/synch/(mutex|rwlock|sxlock|prlock)/'{more}"
        )
    };
    let in_background =
        of("by_thread_by_event_name JOIN performance_schema.threads USING (THREAD_ID)", " AND TYPE = 'BACKGROUND'");
    let everywhere = of("global_by_event_name", "");
    let mut count = |sql: &str| one(&mut *session, sql).unwrap().parse::<u64>().unwrap();
    let background = count(&in_background);
    let counted: u64 = diagnostics.lock_waits().unwrap().iter().map(|wait| wait.count).sum();
    let all = count(&everywhere);
    assert!(counted > 50, "{counted}");
    assert!(counted <= all - background, "{counted} of {all}, {background} in the background");
    assert!(diagnostics.counters().unwrap().contains_key("Com_update"));
    assert_eq!(diagnostics.report().unwrap().0, "innodb-status.txt");
    background
}

fn the_backlog_and_the_pages_in_memory_are_known(server: &dyn Server) {
    let mut session = server.connect().unwrap();
    let backlog = server.dialect().backlog(&mut *session).unwrap();
    let names: Vec<&str> = backlog.iter().map(|left| left.what).collect();
    assert_eq!(names, ["history_list_length", "dirty_pages"]);
    session.query("ANALYZE TABLE t").unwrap();
    let pages = server.dialect().pages_in_memory(&mut *session).unwrap().unwrap();
    assert!(pages.held > 0 && pages.data > 0, "{pages:?}");
}

fn a_password_over_the_socket_needs_no_key(server: &dyn Server) {
    let mut session = server.connect().unwrap();
    session.run("CREATE USER 'me'@'localhost' IDENTIFIED BY 'a secret'").unwrap();
    session.run("GRANT ALL ON *.* TO 'me'@'localhost'").unwrap();
    let me = ConnectTarget { user: "me".into(), password: "a secret".into(), ..server.target().clone() };
    // The first login is the full authentication, the second the fast one.
    for _ in 0..2 {
        assert_eq!(Mysql.connect(&me).unwrap().run("SELECT 1"), Ok(1));
    }
    let wrong = ConnectTarget { password: "no secret".into(), ..me };
    assert!(Mysql.connect(&wrong).err().unwrap().to_string().contains("1045"));
}

#[test]
fn mysql_logins_work_with_full_and_with_fast_password_authentication() {
    let place = Place::new();
    let binary = binary_of(&Mysql);
    let data = prepared(&Mysql, &place, binary.as_deref());
    let request = StartRequest { transport: Transport::Tcp, ..place.start_request(&data, binary.as_deref()) };
    let server = Mysql.start(&request).unwrap();
    // The start of the server has logged in once: from now on the server caches a hash of the password.
    let mut session = server.connect().unwrap();
    assert_eq!(session.run("SELECT c FROM t WHERE id < 10"), Ok(9));
    // After a flush, the password goes over TCP, encrypted; the next login is fast again.
    for _ in 0..2 {
        session.run("FLUSH PRIVILEGES").unwrap();
        assert_eq!(server.connect().unwrap().run("SELECT 1"), Ok(1));
        assert_eq!(server.connect().unwrap().run("SELECT 1"), Ok(1));
    }
}

#[test]
fn data_filled_without_a_redo_log_survives_a_later_crash() {
    let place = Place::new();
    let binary = binary_of(&Mysql);
    let mine = copied(&Mysql, &place, binary.as_deref(), "mine");
    let again =
        StartRequest { data: DataDirectory::InPlace(mine.clone()), ..place.start_request(&mine, binary.as_deref()) };
    let logged = "SELECT VARIABLE_VALUE FROM performance_schema.global_status \
                  WHERE VARIABLE_NAME = 'Innodb_redo_log_enabled'";
    let server = Mysql.start(&again).unwrap();
    let mut session = server.connect().unwrap();
    assert_eq!(one(&mut *session, logged).as_deref(), Some("ON"));
    assert_eq!(server.setting("local_infile").unwrap().as_deref(), Some("OFF"), "as every server has it");
    session.run("UPDATE t SET k = k + 1000000").unwrap();
    let pid = server.pid();
    assert!(send(pid, rustix::process::Signal::KILL));
    wait_until_gone(pid);
    drop((session, server));
    let quiet = BTreeMap::from([("performance_schema".to_owned(), "OFF".to_owned())]);
    let server = Mysql.start(&StartRequest { options: quiet, ..again }).unwrap();
    let mut session = server.connect().unwrap();
    assert_eq!(one(&mut *session, "SELECT COUNT(*) FROM t WHERE k > 1000000").as_deref(), Some("1000"));
    assert_eq!(one(&mut *session, "SELECT SUM(LENGTH(c)) FROM t").as_deref(), Some("119000"));
    a_thread_without_a_number_is_found_by_its_work(&*server);
}

/// Needed to compare `performance_schema` on and off, with each client bound to the CPU of its server thread.
fn a_thread_without_a_number_is_found_by_its_work(server: &dyn Server) {
    let (mut first, mut second) = (server.connect().unwrap(), server.connect().unwrap());
    assert_eq!(first.thread_number(), Ok(None), "it has no table that says it");
    for session in [&mut first, &mut second] {
        let reported = session.server_thread().unwrap();
        let drive = || (0..300).try_for_each(|_| session.run("SELECT SUM(k) FROM t").map(drop));
        let seen = find_serving_thread(server.pid(), drive).unwrap();
        assert!(reported.is_some() && reported == seen, "{reported:?} {seen:?}");
    }
}

/// Fills two tables; returns the result, checksums, and the number of LOAD DATA statements of the server so far.
fn filled(server: &dyn Server, stop_at: u64) -> (Result<(), OltpError>, Vec<Option<String>>, u64) {
    let tables = Tables { tables: 2, rows: 3000 };
    let dialect = server.dialect();
    let fill = Fill { tables, distribution: Default::default(), seed: 3, sessions: 2, dialect };
    let rows = AtomicU64::new(0);
    let progress = |some| match rows.fetch_add(some, Ordering::SeqCst) + some {
        seen if seen < stop_at => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    let made = oltp::prepare(&fill, &|| server.connect(), &progress);
    let mut session = server.connect().unwrap();
    let sums =
        session.query("CHECKSUM TABLE sbtest1, sbtest2").unwrap().into_iter().map(|row| row[1].clone()).collect();
    let loads = session.query("SHOW GLOBAL STATUS LIKE 'Com_load'").unwrap()[0][1].as_ref().unwrap().parse().unwrap();
    oltp::cleanup(session.as_mut(), &tables).unwrap();
    (made, sums, loads)
}
