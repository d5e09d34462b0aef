//! A private MariaDB instance, for real. Needs `sudo apt-get install mariadb-server`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use crate::engines::support::{PATIENCE, Place, one, prepared, runs, script, wait_until_gone};
use tare_engine::{
    Address, Aslr, ConnectTarget, DataDirectory, Engine, EngineError, Mariadb, Param, SqlErrorKind, StartRequest,
    StatementId, StopOutcome, Transport, find_serving_thread,
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
        let made = Arc::new(Prepared { data: prepared(&Mariadb, &place, None), _place: place });
        *shared = Arc::downgrade(&made);
        made
    })
}

#[test]
fn a_life_from_preparing_to_stopping_leaves_only_cache_and_logs() {
    let place = Place::new();
    let data = prepared(&Mariadb, &place, None);
    let again = Mariadb.prepare_data(&place.prepare_request(None), &mut |_| panic!("made twice")).unwrap();
    assert_eq!(data, again);

    let mut server = Mariadb.start(&place.start_request(&data, None)).unwrap();
    let mut session = server.connect().unwrap();
    assert_eq!(server.version(), one(&mut *session, "SELECT VERSION()").unwrap());
    assert_eq!(one(&mut *session, "SELECT DATABASE()").as_deref(), Some("sbtest"));
    assert_eq!(server.setting("skip_networking").unwrap().as_deref(), Some("ON"));
    assert_eq!(server.setting("no_such_variable").unwrap(), None);
    let accounts = "SELECT GROUP_CONCAT(User, '@', Host) FROM mysql.global_priv WHERE User NOT LIKE 'mariadb.%'";
    assert_eq!(one(&mut *session, accounts).as_deref(), Some("root@localhost"));

    assert_eq!(server.stop(PATIENCE).unwrap(), StopOutcome::Graceful);
    assert_eq!(session.run("SELECT 1").unwrap_err().kind, SqlErrorKind::Lost);
    assert!(!server.is_alive());
    drop(server);
    assert_eq!(place.names(), ["cache", "prepare.log", "server.log", "state"]);
    assert_eq!(std::fs::read_dir(place.path("state")).unwrap().count(), 0);
}

#[test]
fn statements_of_every_kind_over_the_wire() {
    let (place, shared) = (Place::new(), shared());
    let server = Mariadb.start(&place.start_request(&shared.data, None)).unwrap();
    let mut session = server.connect().unwrap();
    let point = session.prepare("SELECT c FROM t WHERE id=?").unwrap();
    let range = session.prepare("SELECT c FROM t WHERE id BETWEEN ? AND ?").unwrap();
    let update = session.prepare("UPDATE t SET c=? WHERE id=?").unwrap();
    let begin = session.prepare("BEGIN").unwrap();
    let commit = session.prepare("COMMIT").unwrap();
    for id in 1..50 {
        assert_eq!(session.execute(point, &[Param::Int(id)]), Ok(1));
    }
    assert_eq!(session.execute(point, &[Param::Int(7000)]), Ok(0));
    // Another type for the same parameter: the types are sent again.
    assert_eq!(session.execute(point, &[Param::Text("7")]), Ok(1));
    assert_eq!(session.execute(point, &[Param::Int(7)]), Ok(1));
    assert_eq!(session.execute(range, &[Param::Int(1), Param::Int(1000)]), Ok(1000));
    assert_eq!(session.execute(begin, &[]), Ok(0));
    let long = "n".repeat(110);
    assert_eq!(session.execute(update, &[Param::Text(&long), Param::Int(7)]), Ok(1));
    assert_eq!(session.execute(commit, &[]), Ok(0));
    assert_eq!(one(&mut *session, "SELECT c FROM t WHERE id = 7"), Some(long));
    let row = session.query("SELECT NULL, 1, 2.50, 'x', REPEAT('y', 300), REPEAT('z', 70000)").unwrap().remove(0);
    assert_eq!(row[..4], [None, Some("1".into()), Some("2.50".into()), Some("x".into())]);
    assert_eq!(row[4..].iter().flatten().map(String::len).collect::<Vec<_>>(), [300, 70_000]);

    // The columns of a prepared statement change: MariaDB sends them again.
    let star = session.prepare("SELECT * FROM t WHERE id=?").unwrap();
    assert_eq!(session.execute(star, &[Param::Int(1)]), Ok(1));
    assert_eq!(session.run("ALTER TABLE t ADD COLUMN extra INT"), Ok(0));
    assert_eq!(session.execute(star, &[Param::Int(1)]), Ok(1));
    assert_eq!(session.execute(star, &[Param::Int(1)]), Ok(1));
    session.run("CREATE PROCEDURE two() BEGIN SELECT 1; SELECT 2; END").unwrap();
    assert_eq!(session.query("CALL two()").unwrap().len(), 2);
    assert_eq!(session.run("CALL two()"), Ok(2));
}

#[test]
fn packets_of_sixteen_mebibytes_and_more() {
    let (place, shared) = (Place::new(), shared());
    let options = BTreeMap::from([("max_allowed_packet".to_owned(), "64M".to_owned())]);
    let server = Mariadb.start(&StartRequest { options, ..place.start_request(&shared.data, None) }).unwrap();
    let mut session = server.connect().unwrap();
    // 1 byte command and 17 bytes around the text: one length below a full packet, at it, above it, and at two.
    for payload in [0xff_fffe, 0xff_ffff, 0x100_0000, 2 * 0xff_ffff] {
        let text = "x".repeat(payload - 18);
        let sql = format!("SELECT LENGTH('{text}')");
        assert_eq!(sql.len() + 1, payload);
        assert_eq!(one(&mut *session, &sql), Some(text.len().to_string()));
    }
    // A row of the text protocol: 4 bytes of length, then the text.
    for text in [0xff_ffff - 5, 0xff_ffff - 4, 0xff_ffff] {
        assert_eq!(one(&mut *session, &format!("SELECT REPEAT('x', {text})")).map(|s| s.len()), Some(text));
        assert_eq!(session.run(&format!("SELECT REPEAT('x', {text})")), Ok(1));
    }
}

#[test]
fn errors_say_what_the_caller_can_do_and_leave_the_session_usable() {
    let (place, shared) = (Place::new(), shared());
    let server = Mariadb.start(&place.start_request(&shared.data, None)).unwrap();
    let (mut first, mut second) = (server.connect().unwrap(), server.connect().unwrap());
    let code =
        |result: Result<u64, tare_engine::SqlError>| result.map_err(|error| (error.kind, error.code)).unwrap_err();
    assert_eq!(code(first.run("SELEC 1")), (SqlErrorKind::Other, 1064));
    assert_eq!(code(first.run("INSERT INTO t VALUES (1, 1, 'x')")), (SqlErrorKind::Other, 1062));
    assert_eq!(code(first.execute(StatementId(9), &[])).0, SqlErrorKind::Other);
    let point = first.prepare("SELECT c FROM t WHERE id=?").unwrap();
    assert_eq!(code(first.execute(point, &[])).0, SqlErrorKind::Other);
    assert_eq!(first.execute(point, &[Param::Int(1)]), Ok(1));
    let unsupported = first.prepare("PREPARE s FROM 'SELECT 1'").unwrap_err();
    assert_eq!((unsupported.kind, unsupported.code), (SqlErrorKind::NotPreparable, 1295));

    for session in [&mut first, &mut second] {
        session.run("SET innodb_lock_wait_timeout = 1").unwrap();
        session.run("BEGIN").unwrap();
    }
    first.run("UPDATE t SET k=k+1 WHERE id=1").unwrap();
    assert_eq!(code(second.run("UPDATE t SET k=k+1 WHERE id=1")), (SqlErrorKind::Retry, 1205));

    let id = one(&mut *second, "SELECT CONNECTION_ID()").unwrap();
    first.run(&format!("KILL {id}")).unwrap();
    assert_eq!(second.run("SELECT 1").unwrap_err().kind, SqlErrorKind::Lost);
}

#[test]
fn the_server_thread_is_the_one_that_burns_cpu() {
    let (place, shared) = (Place::new(), shared());
    let server = Mariadb.start(&place.start_request(&shared.data, None)).unwrap();
    let mut idle = server.connect().unwrap();
    let mut busy = server.connect().unwrap();
    let (idle_tid, busy_tid) = (idle.server_thread().unwrap().unwrap(), busy.server_thread().unwrap().unwrap());
    assert_ne!(idle_tid, busy_tid);
    for thread in [idle_tid, busy_tid] {
        assert_eq!(thread.pid, server.pid().cast_signed());
    }
    let drive = || (0..300).try_for_each(|_| busy.run("SELECT SUM(k) FROM t").map(drop));
    assert_eq!(find_serving_thread(server.pid(), drive).unwrap(), Some(busy_tid));
}

#[test]
fn options_are_read_back_and_refused_by_name() {
    let (place, shared) = (Place::new(), shared());
    let with = |name: &str, value: &str| StartRequest {
        options: BTreeMap::from([(name.to_owned(), value.to_owned())]),
        ..place.start_request(&shared.data, None)
    };
    let server = Mariadb.start(&with("innodb-buffer-pool-size", "64M")).unwrap();
    assert_eq!(server.setting("innodb_buffer_pool_size").unwrap().as_deref(), Some("67108864"));
    drop(server);
    for (name, value) in [
        ("innodb_bufer_pool_size", "64M"), // unknown
        ("table_open_cache", "1"),         // adjusted, with a warning in the log only
        ("innodb_flush_method", "fast"),   // no such value
        ("datadir", "/elsewhere"),         // reserved
    ] {
        let refused = Mariadb.start(&with(name, value)).err().unwrap();
        assert!(matches!(&refused, EngineError::OptionRefused { option, .. } if option == name), "{name}: {refused}");
    }
    assert!(!place.path("run").exists() && !place.path("copy").exists());
}

#[test]
fn tcp_listens_on_loopback_and_wants_the_password() {
    let (place, shared) = (Place::new(), shared());
    let request = StartRequest { transport: Transport::Tcp, ..place.start_request(&shared.data, None) };
    let server = Mariadb.start(&request).unwrap();
    assert!(matches!(server.address(), Address::Tcp(host, _) if host == "127.0.0.1"));
    assert_eq!(server.setting("bind_address").unwrap().as_deref(), Some("127.0.0.1"));
    assert_eq!(server.connect().unwrap().run("SELECT c FROM t WHERE id < 10"), Ok(9));
    for (user, password) in [("tare", "guess"), ("tare", ""), ("root", "")] {
        let intruder =
            ConnectTarget { user: user.to_owned(), password: password.to_owned(), ..server.target().clone() };
        assert!(Mariadb.connect(&intruder).err().unwrap().to_string().contains("1045"), "{user}");
    }
}

#[test]
fn aslr_and_allocator_are_as_asked_in_the_running_server() {
    let (place, shared) = (Place::new(), shared());
    let base_of = |aslr| {
        let request = StartRequest { aslr: Some(aslr), ..place.start_request(&shared.data, None) };
        let server = Mariadb.start(&request).unwrap();
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", server.pid())).unwrap();
        maps.split('-').next().unwrap().to_owned()
    };
    assert_eq!(base_of(Aslr::Off), base_of(Aslr::Off));
    assert_ne!(base_of(Aslr::On), base_of(Aslr::On));
    // Through a wrapper script that execs, as packages have them: what counts is the process that answers.
    let script = script(&place, "exec mariadbd \"$@\"");
    let request =
        StartRequest { binary: Some(script), aslr: Some(Aslr::Layout(5)), ..place.start_request(&shared.data, None) };
    let server = Mariadb.start(&request).unwrap();
    let name = std::fs::read_to_string(format!("/proc/{}/comm", server.pid())).unwrap();
    assert_eq!(name.trim(), "mariadbd");
    assert!(Aslr::Layout(5).verify(server.pid()).is_ok() && Aslr::Layout(6).verify(server.pid()).is_err());
    drop(server);
    let request = StartRequest {
        allocator_preload: Some("/nonexistent/liballoc.so".into()),
        ..place.start_request(&shared.data, None)
    };
    let error = Mariadb.start(&request).err().unwrap();
    assert!(matches!(error, EngineError::NotInEffect { setting: "allocator", .. }), "{error}");
}

#[test]
fn mariadbs_own_script_that_stays_is_started_verified_and_stopped() {
    let (place, shared) = (Place::new(), shared());
    let found = std::process::Command::new("sh").args(["-c", "command -v mariadbd-safe"]).output().unwrap();
    let safe = PathBuf::from(String::from_utf8(found.stdout).unwrap().trim());
    assert!(safe.is_file(), "sudo apt-get install mariadb-server");
    let request = || StartRequest {
        binary: Some(safe.clone()),
        aslr: Some(Aslr::Off),
        options: BTreeMap::from([("innodb_adaptive_hash_index".to_owned(), "ON".to_owned())]),
        ..place.start_request(&shared.data, None)
    };
    let mut server = Mariadb.start(&request()).unwrap();
    let pid = server.pid();
    assert_eq!(std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap().trim(), "mariadbd");
    let script = procfs::process::Process::new(pid as i32).unwrap().stat().unwrap().ppid as u32;
    assert!(std::fs::read_to_string(format!("/proc/{script}/cmdline")).unwrap().contains("mariadbd-safe"));
    assert!(Aslr::Off.verify(pid).is_ok());
    assert!(server.log_tail(20).iter().any(|line| line.contains("ready for connections")), "{:?}", server.log_tail(20));
    assert_eq!(server.stop(PATIENCE).unwrap(), StopOutcome::Graceful);
    wait_until_gone(pid);
    wait_until_gone(script);
    let server = Mariadb.start(&request()).unwrap();
    let pid = server.pid();
    drop(server);
    wait_until_gone(pid);
    // Options that it refuses are named, as without the script.
    let options = BTreeMap::from([("no_such_option".to_owned(), "1".to_owned())]);
    let error = Mariadb.start(&StartRequest { options, ..request() }).err().unwrap();
    assert!(error.to_string().contains("no_such_option"), "{error}");
    assert!(!place.path("run").exists() && !place.path("copy").exists());
}

#[test]
fn what_cannot_start_says_why() {
    let (place, shared) = (Place::new(), shared());
    let missing =
        StartRequest { binary: Some("/nonexistent/mariadbd".into()), ..place.start_request(&shared.data, None) };
    let error = Mariadb.start(&missing).err().unwrap();
    assert!(matches!(error, EngineError::BinaryMissing { .. }), "{error}");
    assert!(error.to_string().contains("sudo apt-get install mariadb-server"), "{error}");

    let nothing = place.path("nothing");
    std::fs::create_dir(&nothing).unwrap();
    let empty = StartRequest { data: DataDirectory::InPlace(nothing.clone()), ..place.start_request(&nothing, None) };
    let died = Mariadb.start(&empty).err().unwrap();
    assert!(matches!(&died, EngineError::Died { tail, .. } if !tail.is_empty()), "{died}");

    std::fs::write(nothing.join("mysql_upgrade_info"), "12.7.1-MariaDB").unwrap();
    let newer = Mariadb.start(&empty).err().unwrap();
    assert!(matches!(&newer, EngineError::OtherVersion { found, .. } if found == "12.7.1-MariaDB"), "{newer}");

    let hasty = StartRequest { start_timeout: Duration::ZERO, ..place.start_request(&shared.data, None) };
    let late = Mariadb.start(&hasty).err().unwrap();
    assert!(matches!(late, EngineError::NotReady { .. }), "{late}");
    assert!(!place.path("run").exists() && !place.path("copy").exists());
}

#[test]
fn dropping_a_server_kills_it_and_removes_its_files() {
    let (place, shared) = (Place::new(), shared());
    let server = Mariadb.start(&place.start_request(&shared.data, None)).unwrap();
    let pid = server.pid();
    assert!(runs(pid));
    drop(server);
    wait_until_gone(pid);
    assert!(!place.path("run").exists() && !place.path("copy").exists());
}

#[test]
fn a_failed_filling_leaves_nothing_in_the_cache() {
    let place = Place::new();
    let error = Mariadb.prepare_data(&place.prepare_request(None), &mut |_| Err("no rows today".into())).unwrap_err();
    assert!(error.to_string().contains("no rows today"), "{error}");
    let kept: Vec<_> = std::fs::read_dir(place.path("cache")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(kept.iter().all(|path| path.extension().is_some_and(|end| end == "lock")), "{kept:?}");
    assert!(!place.path("prepare-run").exists());
}

#[test]
fn temporary_tables_of_other_servers_are_left_alone() {
    // A server deletes what looks like its own leftovers from its directory for temporary tables.
    let decoy = std::env::temp_dir().join(format!("#sql-temptable-tare-{}.MAD", std::process::id()));
    std::fs::write(&decoy, "of another server").unwrap();
    let place = Place::new();
    let data = prepared(&Mariadb, &place, None);
    let kept_by_preparing = decoy.exists();
    drop(Mariadb.start(&place.start_request(&data, None)).unwrap());
    let kept = decoy.exists();
    let _ = std::fs::remove_file(&decoy);
    assert!(kept_by_preparing && kept);
}
