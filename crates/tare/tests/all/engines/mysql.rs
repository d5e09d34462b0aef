//! A private MySQL instance, for real. `scripts/setup test` gets the server.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use crate::engines::support::{PATIENCE, Place, binary_of, one, prepared, wait_until_gone};
use tare::workload::oltp::{self, Fill, OltpError, Tables};
use tare_engine::{
    Address, ConnectTarget, DataDirectory, Engine, EngineError, Mariadb, Mysql, Param, Server, SqlErrorKind,
    StartRequest, StopOutcome, Transport, find_serving_thread,
};

/// A prepared directory that the tests running now share: making it takes seconds. The last one removes it.
struct Prepared {
    data: PathBuf,
    _place: Place,
}

fn shared() -> Arc<Prepared> {
    static SHARED: Mutex<Weak<Prepared>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    shared.upgrade().unwrap_or_else(|| {
        let place = Place::new();
        let data = prepared(&Mysql, &place, binary_of(&Mysql).as_deref());
        let made = Arc::new(Prepared { data, _place: place });
        *shared = Arc::downgrade(&made);
        made
    })
}

fn request(place: &Place, shared: &Prepared) -> StartRequest {
    place.start_request(&shared.data, binary_of(&Mysql).as_deref())
}

#[test]
fn a_life_from_preparing_to_stopping_leaves_only_cache_and_logs() {
    let place = Place::new();
    let binary = binary_of(&Mysql);
    let data = prepared(&Mysql, &place, binary.as_deref());
    let mut server = Mysql.start(&place.start_request(&data, binary.as_deref())).unwrap();
    let mut session = server.connect().unwrap();
    assert_eq!(server.version(), one(&mut *session, "SELECT VERSION()").unwrap());
    assert!(Mysql.binary(binary.as_deref()).unwrap().version.starts_with("9."));
    assert_eq!(one(&mut *session, "SELECT DATABASE()").as_deref(), Some("sbtest"));
    assert_eq!(server.setting("skip_networking").unwrap().as_deref(), Some("ON"));
    assert_eq!(server.setting("no_such_variable").unwrap(), None);
    // All that it has, and which of it is not its own.
    let told = server.self_report().unwrap();
    assert!(told.settings.len() > 400, "{}", told.settings.len());
    assert!(told.settings["innodb_buffer_pool_size"].is_changed() && !told.settings["innodb_page_size"].is_changed());
    assert_eq!(told.buffer_pool_bytes, told.settings["innodb_buffer_pool_size"].value.parse().ok());
    // No second protocol: nothing but the one socket, and no port at all.
    let plugin =
        "SELECT COUNT(*) FROM information_schema.PLUGINS WHERE PLUGIN_NAME = 'mysqlx' AND PLUGIN_STATUS = 'ACTIVE'";
    assert_eq!(one(&mut *session, plugin).as_deref(), Some("0"));
    let point = session.prepare("SELECT c FROM t WHERE id=?").unwrap();
    assert_eq!(session.execute(point, &[Param::Int(7)]), Ok(1));
    assert_eq!(session.execute(point, &[Param::Int(7000)]), Ok(0));
    assert_eq!(session.run("INSERT INTO t VALUES (1, 1, 'x')").unwrap_err().code, 1062);
    assert_eq!(server.stop(PATIENCE).unwrap(), StopOutcome::Graceful);
    assert_eq!(session.run("SELECT 1").unwrap_err().kind, SqlErrorKind::Lost);
    drop(server);
    assert_eq!(place.names(), ["cache", "prepare.log", "server.log", "state"]);
}

#[test]
fn the_server_thread_is_the_one_that_burns_cpu() {
    let (place, shared) = (Place::new(), shared());
    let server = Mysql.start(&request(&place, &shared)).unwrap();
    let mut idle = server.connect().unwrap();
    let mut busy = server.connect().unwrap();
    let (idle_thread, busy_thread) = (idle.server_thread().unwrap().unwrap(), busy.server_thread().unwrap().unwrap());
    assert_ne!(idle_thread, busy_thread);
    assert_eq!(busy_thread.pid, server.pid().cast_signed());
    let drive = || (0..300).try_for_each(|_| busy.run("SELECT SUM(k) FROM t").map(drop));
    assert_eq!(find_serving_thread(server.pid(), drive).unwrap(), Some(busy_thread));
}

#[test]
fn data_that_were_filled_without_a_redo_log_survive_a_crash_afterwards() {
    let (place, shared) = (Place::new(), shared());
    let first = request(&place, &shared);
    let again = StartRequest { data: DataDirectory::InPlace(place.path("mine")), ..first };
    let copied = Command::new("cp").arg("-r").arg(&shared.data).arg(place.path("mine")).status().unwrap();
    assert!(copied.success());
    let logged = "SELECT VARIABLE_VALUE FROM performance_schema.global_status \
                  WHERE VARIABLE_NAME = 'Innodb_redo_log_enabled'";
    let server = Mysql.start(&again).unwrap();
    let mut session = server.connect().unwrap();
    assert_eq!(one(&mut *session, logged).as_deref(), Some("ON"));
    assert_eq!(server.setting("local_infile").unwrap().as_deref(), Some("OFF"), "as every server has it");
    session.run("UPDATE t SET k = k + 1000000").unwrap();
    let pid = server.pid();
    let killed = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(killed, rustix::process::Signal::KILL).unwrap();
    wait_until_gone(pid);
    drop((session, server));
    let server = Mysql.start(&again).unwrap();
    let mut session = server.connect().unwrap();
    assert_eq!(one(&mut *session, "SELECT COUNT(*) FROM t WHERE k > 1000000").as_deref(), Some("1000"));
    assert_eq!(one(&mut *session, "SELECT SUM(LENGTH(c)) FROM t").as_deref(), Some("119000"));
}

/// What a filling of two tables leaves, and how many LOAD DATA the server has seen by then.
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

#[test]
fn a_server_that_allows_it_takes_a_stream_with_the_same_rows_and_another_inserts() {
    let (place, shared) = (Place::new(), shared());
    let server = Mysql.start(&request(&place, &shared)).unwrap();
    let (made, inserted, loads) = filled(server.as_ref(), u64::MAX);
    assert!(made.is_ok() && loads == 0 && inserted.iter().all(Option::is_some), "{made:?} {loads} {inserted:?}");
    let mut session = server.connect().unwrap();
    session.run("SET GLOBAL local_infile = ON").unwrap();
    let (made, streamed, loads) = filled(server.as_ref(), u64::MAX);
    assert!(made.is_ok() && loads == 2, "{made:?} {loads}");
    assert_eq!(streamed, inserted);
    let (made, sums, _) = filled(server.as_ref(), 1000);
    assert!(matches!(made, Err(OltpError::Interrupted)) && sums == [None, None], "{made:?} {sums:?}");
    // What the server had to change, or left out, is no success.
    session.run("CREATE TABLE narrow (id INTEGER PRIMARY KEY, c CHAR(2))").unwrap();
    for (rows, code) in [("1|abc\n", 1265), ("1|a\n1|b\n", 1062)] {
        let sql = server.dialect().load_through_session("narrow");
        let error = session.load(&sql, &mut |server| server.write_all(rows.as_bytes())).unwrap_err();
        assert_eq!(error.code, code, "{error}");
        session.run("TRUNCATE narrow").unwrap();
    }
}

#[test]
fn options_are_read_back_and_refused_by_name() {
    let (place, shared) = (Place::new(), shared());
    let with = |name: &str, value: &str| StartRequest {
        options: BTreeMap::from([(name.to_owned(), value.to_owned())]),
        ..request(&place, &shared)
    };
    let server = Mysql.start(&with("innodb-buffer-pool-size", "64M")).unwrap();
    assert_eq!(server.setting("innodb_buffer_pool_size").unwrap().as_deref(), Some("67108864"));
    drop(server);
    for (name, value) in [
        ("innodb_bufer_pool_size", "64M"), // unknown
        ("max_connections", "0"),          // adjusted, with a warning in the log only
        ("mysqlx", "ON"),                  // reserved
    ] {
        let refused = Mysql.start(&with(name, value)).err().unwrap();
        assert!(matches!(&refused, EngineError::OptionRefused { option, .. } if option == name), "{name}: {refused}");
    }
}

#[test]
fn passwords_are_proved_the_long_way_and_then_the_short_one() {
    let (place, shared) = (Place::new(), shared());
    let request = StartRequest { transport: Transport::Tcp, ..request(&place, &shared) };
    let server = Mysql.start(&request).unwrap();
    assert!(matches!(server.address(), Address::Tcp(host, _) if host == "127.0.0.1"));
    // The server's start has logged in once: from now on it knows a hash of the password.
    let mut session = server.connect().unwrap();
    assert_eq!(session.run("SELECT c FROM t WHERE id < 10"), Ok(9));
    // It forgets: the password goes over TCP, encrypted, and the next time is the short way again.
    for _ in 0..2 {
        session.run("FLUSH PRIVILEGES").unwrap();
        assert_eq!(server.connect().unwrap().run("SELECT 1"), Ok(1));
        assert_eq!(server.connect().unwrap().run("SELECT 1"), Ok(1));
    }
    for (user, password) in [("tare", "guess"), ("tare", ""), ("root", "")] {
        let intruder =
            ConnectTarget { user: user.to_owned(), password: password.to_owned(), ..server.target().clone() };
        let error = Mysql.connect(&intruder).err().unwrap().to_string();
        // Of an account that is not there MySQL pretends that it has some other method.
        assert!(error.contains("1045") || user == "root", "{user}: {error}");
    }
}

#[test]
fn a_password_over_the_socket_needs_no_key() {
    let (place, shared) = (Place::new(), shared());
    let server = Mysql.start(&request(&place, &shared)).unwrap();
    let mut session = server.connect().unwrap();
    session.run("CREATE USER 'me'@'localhost' IDENTIFIED BY 'a secret'").unwrap();
    session.run("GRANT ALL ON *.* TO 'me'@'localhost'").unwrap();
    let me = ConnectTarget { user: "me".into(), password: "a secret".into(), ..server.target().clone() };
    // The long way, then the short one.
    for _ in 0..2 {
        assert_eq!(Mysql.connect(&me).unwrap().run("SELECT 1"), Ok(1));
    }
    let wrong = ConnectTarget { password: "no secret".into(), ..me };
    assert!(Mysql.connect(&wrong).err().unwrap().to_string().contains("1045"));
}

#[test]
fn lock_waits_are_counted_only_when_the_server_was_started_for_it() {
    let (place, shared) = (Place::new(), shared());
    let server = Mysql.start(&StartRequest { lock_waits: true, ..request(&place, &shared) }).unwrap();
    let mut diagnostics = server.diagnostics().unwrap();
    assert!(diagnostics.watch_locks().unwrap().contains("instruments of locks on"));
    server.connect().unwrap().run("UPDATE t SET k = k + 1").unwrap();
    assert!(!diagnostics.lock_waits().unwrap().is_empty());
    assert!(diagnostics.counters().unwrap().contains_key("Com_update"));
    assert_eq!(diagnostics.report().unwrap().0, "innodb-status.txt");
}

#[test]
fn data_of_the_other_kind_is_refused_before_a_start() {
    let (place, shared) = (Place::new(), shared());
    let mariadb = Mariadb.binary(None).unwrap();
    let refused = Mariadb.check_data(&shared.data, &mariadb).unwrap_err().to_string();
    assert!(refused.contains("made by version MySQL 8.0 or newer"), "{refused}");
    let other = place.path("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("aria_log_control"), "").unwrap();
    let mysql = Mysql.binary(binary_of(&Mysql).as_deref()).unwrap();
    let refused = Mysql.check_data(&other, &mysql).unwrap_err().to_string();
    assert!(refused.contains("made by version MariaDB"), "{refused}");
}
