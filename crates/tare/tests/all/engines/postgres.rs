//! A private PostgreSQL cluster, for real. Needs `sudo apt-get install postgresql-15`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use crate::engines::support::{PATIENCE, Place, one, prepared, wait_until_gone};
use tare::subject::Subject;
use tare_engine::{
    Address, Aslr, ConnectTarget, Engine, EngineError, Param, Postgresql, SqlErrorKind, StartRequest, StopOutcome,
    Transport,
};
use tare_topology::{CpuSet, bind};

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
        let made = Arc::new(Prepared { data: prepared(&Postgresql, &place, None), _place: place });
        *shared = Arc::downgrade(&made);
        made
    })
}

#[test]
fn a_life_from_preparing_to_stopping_leaves_only_cache_and_logs() {
    let place = Place::new();
    let data = prepared(&Postgresql, &place, None);
    let again = Postgresql.prepare_data(&place.prepare_request(None), &mut |_| panic!("made twice")).unwrap();
    assert_eq!(data, again);
    let mut server = Postgresql.start(&place.start_request(&data, None)).unwrap();
    let mut session = server.connect().unwrap();
    assert_eq!(server.version(), one(&mut *session, "SHOW server_version").unwrap());
    assert_eq!(one(&mut *session, "SELECT current_database()").as_deref(), Some("sbtest"));
    assert_eq!(server.setting("listen_addresses").unwrap().as_deref(), Some(""));
    assert_eq!(server.setting("no_such_setting").unwrap(), None);
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
    let server = Postgresql.start(&place.start_request(&shared.data, None)).unwrap();
    let mut session = server.connect().unwrap();
    let point = session.prepare("SELECT c FROM t WHERE id=$1").unwrap();
    let range = session.prepare("SELECT c FROM t WHERE id BETWEEN $1 AND $2").unwrap();
    let update = session.prepare("UPDATE t SET c=$1 WHERE id=$2").unwrap();
    let begin = session.prepare("BEGIN").unwrap();
    let commit = session.prepare("COMMIT").unwrap();
    for id in 1..50 {
        assert_eq!(session.execute(point, &[Param::Int(id)]), Ok(1));
    }
    assert_eq!(session.execute(point, &[Param::Int(7000)]), Ok(0));
    assert_eq!(session.execute(point, &[Param::Text("7")]), Ok(1), "a number as text");
    assert_eq!(session.execute(range, &[Param::Int(1), Param::Int(1000)]), Ok(1000));
    assert_eq!(session.execute(begin, &[]), Ok(0));
    let long = "n".repeat(110);
    assert_eq!(session.execute(update, &[Param::Text(&long), Param::Int(7)]), Ok(1));
    assert_eq!(session.execute(commit, &[]), Ok(0));
    assert_eq!(one(&mut *session, "SELECT c FROM t WHERE id = 7"), Some(long), "CHAR without its blanks");
    let row = session.query("SELECT NULL, 1, 2.50, 'x ', REPEAT('y', 70000)").unwrap().remove(0);
    assert_eq!(row[..4], [None, Some("1".into()), Some("2.50".into()), Some("x ".into())]);
    assert_eq!(row[4].as_ref().map(String::len), Some(70_000));
    assert_eq!(session.execute(point, &[Param::Int(1 << 40)]).unwrap_err().kind, SqlErrorKind::Other);
    assert_eq!(session.execute(point, &[]).unwrap_err().kind, SqlErrorKind::Other);
    assert_eq!(session.execute(point, &[Param::Int(1)]), Ok(1), "the session goes on");
    assert_eq!(session.run("SELECT 1; SELECT 2").unwrap(), 2);
    session.run("CREATE TABLE copied (a INTEGER, b TEXT)").unwrap();
    let mut feed = |server: &mut dyn Write| (0..30_000).try_for_each(|row| writeln!(server, "{row}|text {row}"));
    assert_eq!(session.load("COPY copied FROM STDIN WITH (DELIMITER '|')", &mut feed), Ok(30_000));
    let refused = session.load("COPY copied FROM STDIN", &mut |server| writeln!(server, "no number")).unwrap_err();
    assert!(refused.message.contains("22P02"), "{refused}");
    assert_eq!(one(&mut *session, "SELECT COUNT(*) FROM copied").as_deref(), Some("30000"));
}

#[test]
fn errors_say_what_the_caller_can_do_and_leave_the_session_usable() {
    let (place, shared) = (Place::new(), shared());
    let server = Postgresql.start(&place.start_request(&shared.data, None)).unwrap();
    let (mut first, mut second) = (server.connect().unwrap(), server.connect().unwrap());
    let wrong = first.run("SELEC 1").unwrap_err();
    assert!(wrong.kind == SqlErrorKind::Other && wrong.message.starts_with("42601: syntax error"), "{wrong}");
    assert!(first.run("INSERT INTO t VALUES (1, 1, 'x')").unwrap_err().message.contains("23505"));
    for session in [&mut first, &mut second] {
        session.run("SET lock_timeout = '300ms'").unwrap();
        session.run("BEGIN").unwrap();
    }
    first.run("UPDATE t SET k=k+1 WHERE id=1").unwrap();
    assert_eq!(second.run("UPDATE t SET k=k+1 WHERE id=1").unwrap_err().kind, SqlErrorKind::Retry);
    second.run("ROLLBACK").unwrap();
    let pid = second.server_thread().unwrap().unwrap().pid;
    first.run(&format!("SELECT pg_terminate_backend({pid})")).unwrap();
    assert_eq!(second.run("SELECT 1").unwrap_err().kind, SqlErrorKind::Lost);
    assert_eq!(first.run("COMMIT"), Ok(0));
}

#[test]
fn each_connection_has_a_process_that_can_be_bound_like_a_thread() {
    let (place, shared) = (Place::new(), shared());
    let server = Postgresql.start(&place.start_request(&shared.data, None)).unwrap();
    let mut idle = server.connect().unwrap();
    let mut busy = server.connect().unwrap();
    let (idle_thread, busy_thread) = (idle.server_thread().unwrap().unwrap(), busy.server_thread().unwrap().unwrap());
    assert!(idle_thread.pid != busy_thread.pid && busy_thread.tid == busy_thread.pid);
    assert_eq!(one(&mut *busy, "SELECT pg_backend_pid()"), Some(busy_thread.pid.to_string()));
    let processes = Subject::started(&*server).processes();
    assert_eq!(processes[0], server.pid().cast_signed());
    assert!(processes.contains(&idle_thread.pid) && processes.contains(&busy_thread.pid), "{processes:?}");
    assert!(processes.len() > 5, "checkpointer, writers and others: {processes:?}");
    let cpu = CpuSet::from_iter([0u32]);
    bind::bind_thread(busy_thread, &cpu).unwrap();
    assert_eq!(bind::affinity_of(busy_thread).unwrap(), cpu);
    // It works: the one that was driven has burnt more than the other.
    let ran = |pid| procfs::process::Process::new(pid).unwrap().schedstat().unwrap().sum_exec_runtime;
    (0..300).try_for_each(|_| busy.run("SELECT SUM(k) FROM t").map(drop)).unwrap();
    assert!(ran(busy_thread.pid) > 2 * ran(idle_thread.pid));
}

#[test]
fn options_are_read_back_and_refused_by_name() {
    let (place, shared) = (Place::new(), shared());
    let with = |name: &str, value: &str| StartRequest {
        options: BTreeMap::from([(name.to_owned(), value.to_owned())]),
        ..place.start_request(&shared.data, None)
    };
    let server = Postgresql.start(&with("shared_buffers", "64MB")).unwrap();
    assert_eq!(server.setting("shared_buffers").unwrap().as_deref(), Some("64MB"));
    drop(server);
    for (name, value) in [
        ("shared_bufers", "64MB"), // unknown
        ("wal_level", "much"),     // no such value
        ("port", "5433"),          // reserved
    ] {
        let refused = Postgresql.start(&with(name, value)).err().unwrap();
        assert!(matches!(&refused, EngineError::OptionRefused { option, .. } if option == name), "{name}: {refused}");
    }
    assert!(!place.path("run").exists() && !place.path("copy").exists());
}

#[test]
fn tcp_listens_on_loopback_and_wants_the_password() {
    let (place, shared) = (Place::new(), shared());
    let request = StartRequest { transport: Transport::Tcp, ..place.start_request(&shared.data, None) };
    let server = Postgresql.start(&request).unwrap();
    assert!(matches!(server.address(), Address::Tcp(host, _) if host == "127.0.0.1"));
    assert_eq!(server.connect().unwrap().run("SELECT c FROM t WHERE id < 10"), Ok(9));
    for (user, password) in [("tare", "guess"), ("tare", ""), ("postgres", "")] {
        let intruder =
            ConnectTarget { user: user.to_owned(), password: password.to_owned(), ..server.target().clone() };
        let error = Postgresql.connect(&intruder).err().unwrap().to_string();
        assert!(error.contains("28P01") || error.contains("password"), "{user}: {error}");
    }
}

#[test]
fn it_is_placed_and_killed_like_any_server() {
    let (place, shared) = (Place::new(), shared());
    let request = StartRequest { aslr: Some(Aslr::Off), ..place.start_request(&shared.data, None) };
    let server = Postgresql.start(&request).unwrap();
    let mut session = server.connect().unwrap();
    let backend = session.server_thread().unwrap().unwrap().pid;
    let all = Subject::started(&*server).processes();
    // Shared memory that a killed server cannot leave behind.
    let own = |pid: u32| std::fs::read_link(format!("/proc/{pid}/ns/ipc")).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(own(server.pid()) != own(std::process::id()), is_root);
    let kind = server.setting("dynamic_shared_memory_type").unwrap();
    assert_eq!(kind.as_deref(), Some(if is_root { "sysv" } else { "mmap" }));
    assert!(Aslr::Off.verify(backend.cast_unsigned()).is_ok());
    drop(server);
    all.into_iter().for_each(|pid| wait_until_gone(pid.cast_unsigned()));
    assert!(!place.path("run").exists() && !place.path("copy").exists());
    session.set_timeout(Some(Duration::from_secs(5))).unwrap();
    let began = Instant::now();
    assert_eq!(session.run("SELECT 1").unwrap_err().kind, SqlErrorKind::Lost);
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn it_counts_what_it_does_and_says_that_it_times_no_locks() {
    let (place, shared) = (Place::new(), shared());
    let server = Postgresql.start(&place.start_request(&shared.data, None)).unwrap();
    let mut diagnostics = server.diagnostics().unwrap();
    let counters = diagnostics.counters().unwrap();
    assert!(counters.contains_key("database.xact_commit") && counters.contains_key("wal.wal_bytes"), "{counters:?}");
    assert!(diagnostics.watch_locks().unwrap_err().to_string().contains("does not tell"));
}

#[test]
fn data_of_another_version_is_refused_before_a_start() {
    let place = Place::new();
    let other = place.path("other");
    std::fs::create_dir(&other).unwrap();
    let binary = Postgresql.binary(None).unwrap();
    let refused = Postgresql.check_data(&other, &binary).unwrap_err().to_string();
    assert!(refused.contains("PG_VERSION"), "{refused}");
    std::fs::write(other.join("PG_VERSION"), "9\n").unwrap();
    let refused = Postgresql.check_data(&other, &binary).unwrap_err().to_string();
    assert!(refused.contains("made by version 9"), "{refused}");
}
