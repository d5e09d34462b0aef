//! The embedded engine as a server process, for real.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::engines::support::{PATIENCE, Place, fill, one, prepared, runs, script, wait_until_gone};
use tare::workload::dbt3;
use tare::workload::oltp::{self, Tables};
use tare_engine::{
    Address, Aslr, ConnectTarget, DataDirectory, Engine, EngineError, Param, Positions, PrepareRequest, Server,
    Session, SqlErrorKind, Sqlite, StartRequest, StatementId, StopOutcome, Transport, find_serving_thread,
};

fn tare() -> Option<&'static Path> {
    Some(Path::new(env!("CARGO_BIN_EXE_tare")))
}

fn comm(pid: u32, tid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).unwrap().trim().to_owned()
}

#[test]
fn a_life_from_preparing_to_stopping_leaves_only_cache_and_logs() {
    let place = Place::new();
    let data = prepared(&Sqlite, &place, tare());
    let again = Sqlite.prepare_data(&place.prepare_request(tare()), &mut |_| panic!("made twice")).unwrap();
    assert_eq!(data, again);
    assert_eq!(std::fs::read_dir(&data).unwrap().count(), 1, "the log was written back into the one file");

    let mut server = Sqlite.start(&place.start_request(&data, tare())).unwrap();
    let mut session = server.connect().unwrap();
    assert_eq!(server.version(), one(&mut *session, "SELECT sqlite_version()").unwrap());
    let point = session.prepare("SELECT c FROM t WHERE id=?").unwrap();
    let range = session.prepare("SELECT c FROM t WHERE id BETWEEN ? AND ?").unwrap();
    let update = session.prepare("UPDATE t SET c=? WHERE id=?").unwrap();
    assert_eq!(session.execute(point, &[Param::Int(7)]), Ok(1));
    assert_eq!(session.execute(point, &[Param::Int(7000)]), Ok(0));
    assert_eq!(session.execute(range, &[Param::Int(1), Param::Int(1000)]), Ok(1000), "more than one write");
    assert_eq!(session.execute(update, &[Param::Text("new"), Param::Int(7)]), Ok(1));
    assert_eq!(one(&mut *session, "SELECT c FROM t WHERE id = 7"), Some("new".to_owned()));
    let row = session.query("SELECT NULL, 1, 2.0, 'x', x'79'").unwrap().remove(0);
    assert_eq!(row, [None, Some("1".into()), Some("2.0".into()), Some("x".into()), Some("y".into())]);
    assert_eq!(session.run("CREATE TABLE u (a)"), Ok(0), "not the count of the statement before");

    assert_eq!(server.stop(PATIENCE).unwrap(), StopOutcome::Graceful);
    assert_eq!(session.run("SELECT 1").unwrap_err().kind, SqlErrorKind::Lost);
    assert_eq!(server.stop(PATIENCE).unwrap(), StopOutcome::AlreadyGone);
    drop(server);
    assert_eq!(place.names(), ["cache", "prepare.log", "server.log", "state"]);
    assert_eq!(std::fs::read_dir(place.path("state")).unwrap().count(), 0);
}

#[test]
fn statements_that_are_wrong_leave_the_session_usable() {
    let place = Place::new();
    let data = prepared(&Sqlite, &place, tare());
    let server = Sqlite.start(&place.start_request(&data, tare())).unwrap();
    let mut session = server.connect().unwrap();
    let point = session.prepare("SELECT c FROM t WHERE id=?").unwrap();
    let other = |result: Result<u64, _>| {
        let error: tare_engine::SqlError = result.unwrap_err();
        assert_eq!(error.kind, SqlErrorKind::Other, "{error}");
    };
    other(session.run("SELEC 1"));
    other(session.run("SELECT 1; SELECT 2"));
    other(session.execute(point, &[]));
    other(session.execute(point, &[Param::Int(1), Param::Int(2)]));
    other(session.execute(StatementId(99), &[]));
    other(session.run("INSERT INTO t VALUES (1, 1, 'there already')"));
    assert_eq!(session.execute(point, &[Param::Int(1)]), Ok(1));
}

#[test]
fn busy_is_retry_and_the_transaction_is_rolled_back() {
    let place = Place::new();
    let data = prepared(&Sqlite, &place, tare());
    let server = Sqlite.start(&place.start_request(&data, tare())).unwrap();
    let (mut first, mut second) = (server.connect().unwrap(), server.connect().unwrap());
    first.run("BEGIN").unwrap();
    first.run("UPDATE t SET k=k+1 WHERE id=1").unwrap();
    second.run("BEGIN").unwrap();
    assert_eq!(second.run("UPDATE t SET k=k+1 WHERE id=2").unwrap_err().kind, SqlErrorKind::Retry);
    first.run("COMMIT").unwrap();
    // Nothing is open any more, so beginning works at once, and so does rolling back more often than needed.
    second.run("BEGIN").unwrap();
    second.run("ROLLBACK").unwrap();
    second.run("ROLLBACK").unwrap();
    second.run("BEGIN").unwrap();
    assert_eq!(second.run("UPDATE t SET k=k+1 WHERE id=2"), Ok(1));
    second.run("COMMIT").unwrap();
    assert_eq!(one(&mut *first, "SELECT sum(k) FROM t WHERE id < 3"), Some("5".to_owned()));
}

#[test]
fn each_connection_has_a_named_thread_that_says_its_id() {
    let place = Place::new();
    let data = prepared(&Sqlite, &place, tare());
    let server = Sqlite.start(&place.start_request(&data, tare())).unwrap();
    let mut idle = server.connect().unwrap();
    let mut busy = server.connect().unwrap();
    let (idle_tid, busy_tid) = (idle.server_thread().unwrap().unwrap(), busy.server_thread().unwrap().unwrap());
    assert_ne!(idle_tid, busy_tid);
    assert!(comm(server.pid(), busy_tid.tid.cast_unsigned()).starts_with("tare-conn-"));
    let drive = || (0..300).try_for_each(|_| busy.run("SELECT sum(k) FROM t").map(drop));
    assert_eq!(find_serving_thread(server.pid(), drive).unwrap(), Some(busy_tid));
}

#[test]
fn options_are_set_read_back_and_refused_by_name() {
    let place = Place::new();
    let data = prepared(&Sqlite, &place, tare());
    let with = |name: &str, value: &str| StartRequest {
        options: BTreeMap::from([(name.to_owned(), value.to_owned())]),
        ..place.start_request(&data, tare())
    };
    let server = Sqlite.start(&with("cache_size", "-1234")).unwrap();
    assert_eq!(server.setting("cache_size").unwrap().as_deref(), Some("-1234"));
    assert_eq!(server.setting("journal_mode").unwrap().as_deref(), Some("wal"));
    assert_eq!(server.setting("no_such_pragma").unwrap(), None);
    drop(server);
    // The second one shapes the file, which exists already with another size.
    for (name, value) in [("cash_size", "1"), ("page_size", "8192")] {
        let refused = Sqlite.start(&with(name, value)).err().unwrap();
        assert!(matches!(&refused, EngineError::OptionRefused { option, .. } if option == name), "{refused}");
    }
    assert!(!place.path("run").exists() && !place.path("copy").exists());

    let mut request = place.prepare_request(tare());
    request.options.insert("page_size".to_owned(), "8192".to_owned());
    let other = Sqlite.prepare_data(&request, &mut fill).unwrap();
    assert_ne!(other, data, "page_size is part of the key");
}

#[test]
fn tcp_listens_on_loopback_and_wants_the_password() {
    let place = Place::new();
    let data = prepared(&Sqlite, &place, tare());
    let request = StartRequest { transport: Transport::Tcp, ..place.start_request(&data, tare()) };
    let server = Sqlite.start(&request).unwrap();
    assert!(matches!(server.address(), Address::Tcp(host, _) if host == "127.0.0.1"));
    assert_eq!(server.connect().unwrap().run("SELECT c FROM t WHERE id < 10"), Ok(9));
    assert_eq!(Sqlite.connect(server.target()).unwrap().run("SELECT 1"), Ok(1));
    let intruder = ConnectTarget { password: "guess".to_owned(), ..server.target().clone() };
    assert!(Sqlite.connect(&intruder).err().unwrap().to_string().contains("wrong password"));
}

#[test]
fn a_client_that_speaks_nonsense_is_cut_off_and_harms_nobody() {
    use std::io::{Read, Write};
    let place = Place::new();
    let data = prepared(&Sqlite, &place, tare());
    let server = Sqlite.start(&place.start_request(&data, tare())).unwrap();
    let Address::Socket(socket) = server.address() else { panic!("not a socket") };
    for nonsense in
        [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0, 0, 0, 0], &[1, 0, 0, 0, 5], &[2, 0, 0, 0, 1, 1, 1, 0, 0, 0, 9]]
    {
        let mut stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
        stream.write_all(nonsense).unwrap();
        let mut answer = Vec::new();
        // A reset is as good as an end.
        let _ = stream.read_to_end(&mut answer);
    }
    assert_eq!(server.connect().unwrap().run("SELECT 1"), Ok(1));
}

/// A session in whose database there is no room for more than so many pages: SQLite says that the disk is full.
fn crammed(server: &dyn Server) -> Result<Box<dyn Session>, Box<dyn std::error::Error + Send + Sync>> {
    let mut session = server.connect()?;
    session.run("PRAGMA max_page_count = 100")?;
    Ok(session)
}

#[test]
fn a_disk_that_fills_up_under_a_workloads_own_filling_is_named_as_such() {
    let place = Place::new();
    let everything = |_| ControlFlow::Continue(());
    let mut oltp = |server: &dyn Server| {
        let fill = oltp::Fill {
            tables: Tables { tables: 1, rows: 5000 },
            distribution: Default::default(),
            seed: 1,
            sessions: 1,
            dialect: server.dialect(),
        };
        Ok(oltp::prepare(&fill, &|| crammed(server), &everything)?)
    };
    let mut dbt3 = |server: &dyn Server| {
        let scale = "0.0079".parse()?;
        let fill = dbt3::Fill {
            scale,
            indexes: Default::default(),
            dialect: server.dialect(),
            parallel: 1,
            directory: Path::new(""),
        };
        Ok(dbt3::prepare(&fill, &|| crammed(server), &everything)?)
    };
    let fills: [(&str, &mut tare_engine::Fill<'_>); 2] = [("oltp", &mut oltp), ("dbt3", &mut dbt3)];
    for (dataset, fill) in fills {
        let request = PrepareRequest { dataset: dataset.to_owned(), ..place.prepare_request(tare()) };
        let error = Sqlite.prepare_data(&request, fill).unwrap_err();
        assert!(
            matches!(&error, EngineError::DiskFull { place, .. } if place.starts_with(&request.cache_directory)),
            "{dataset}: {error:?}"
        );
        let text = error.to_string();
        assert!(text.contains("no space left") && text.contains("is full"), "{text}");
    }
}

/// A server that is stopped until this is dropped, as a debugger or an unlucky user stops it.
struct Frozen(rustix::process::Pid);

impl Frozen {
    fn new(server: &dyn Server) -> Self {
        let pid = rustix::process::Pid::from_raw(server.pid().cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        // A thread stops when it next leaves the kernel.
        let process = procfs::process::Process::new(server.pid().cast_signed()).unwrap();
        let is_stopped = |task: &procfs::process::Task| task.stat().is_ok_and(|stat| stat.state == 'T');
        while !process.tasks().unwrap().flatten().all(|task| is_stopped(&task)) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Self(pid)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(self.0, rustix::process::Signal::CONT);
    }
}

#[test]
fn a_server_that_is_stopped_holds_up_nobody_for_ever() {
    let place = Place::new();
    let data = prepared(&Sqlite, &place, tare());
    let server = Sqlite.start(&place.start_request(&data, tare())).unwrap();
    let mut session = server.connect().unwrap();
    session.set_timeout(Some(Duration::from_millis(300))).unwrap();
    let frozen = Frozen::new(server.as_ref());
    let began = Instant::now();
    let error = session.run("SELECT 1").unwrap_err();
    assert!(error.kind == SqlErrorKind::Lost && error.message.contains("did not answer in time"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(5));
    // The kernel accepts connections on its behalf; it never answers.
    let error = server.connect().err().unwrap().to_string();
    assert!(error.contains("did not answer in time") && began.elapsed() < Duration::from_secs(30), "{error}");
    drop(frozen);
    assert_eq!(server.connect().unwrap().run("SELECT 1"), Ok(1));
}

#[test]
fn filling_ends_when_it_is_interrupted_while_the_server_is_stopped() {
    let place = Place::new();
    let data = prepared(&Sqlite, &place, tare());
    let server = Sqlite.start(&place.start_request(&data, tare())).unwrap();
    let (server, interrupted) = (server.as_ref(), AtomicBool::new(false));
    let fill = oltp::Fill {
        tables: Tables { tables: 1, rows: 10_000_000 },
        distribution: Default::default(),
        seed: 1,
        sessions: 1,
        dialect: server.dialect(),
    };
    let go_on = |_| match interrupted.load(Ordering::Relaxed) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let (result, took) = std::thread::scope(|scope| {
        let filling = scope.spawn(|| oltp::prepare(&fill, &|| server.connect(), &go_on));
        std::thread::sleep(Duration::from_millis(300));
        let _frozen = Frozen::new(server);
        let began = Instant::now();
        interrupted.store(true, Ordering::Relaxed);
        (filling.join().unwrap(), began.elapsed())
    });
    assert!(matches!(result, Err(oltp::OltpError::Interrupted)), "{result:?}");
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn stopping_ends_a_statement_that_runs_for_ever() {
    let place = Place::new();
    let data = prepared(&Sqlite, &place, tare());
    let mut server = Sqlite.start(&place.start_request(&data, tare())).unwrap();
    let mut session = server.connect().unwrap();
    let tid = session.server_thread().unwrap().unwrap().tid;
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT count(*) FROM n";
    let client = std::thread::spawn(move || session.run(endless).unwrap_err());
    while !std::fs::read_to_string(format!("/proc/{}/task/{tid}/stat", server.pid())).unwrap().contains(") R ") {
        std::thread::yield_now();
    }
    assert_eq!(server.stop(PATIENCE).unwrap(), StopOutcome::Graceful);
    client.join().unwrap();
}

#[test]
fn dropping_a_server_kills_it_and_removes_its_files() {
    let place = Place::new();
    let data = prepared(&Sqlite, &place, tare());
    let mut server = Sqlite.start(&place.start_request(&data, tare())).unwrap();
    let pid = server.pid();
    assert!(server.is_alive() && runs(pid));
    drop(server);
    wait_until_gone(pid);
    assert!(!place.path("run").exists() && !place.path("copy").exists());
}

#[test]
fn what_cannot_start_says_why() {
    let place = Place::new();
    let empty = place.path("empty");
    std::fs::create_dir(&empty).unwrap();
    let error = Sqlite.start(&place.start_request(&empty, tare())).err().unwrap().to_string();
    assert!(error.contains("no data directory"), "{error}");

    std::fs::write(empty.join("tare.db"), "this is no database, whatever its name says".repeat(100)).unwrap();
    let error = Sqlite.start(&place.start_request(&empty, tare())).err().unwrap().to_string();
    assert!(error.contains("not a database"), "{error}");

    let died = Sqlite.start(&place.start_request(&empty, Some(Path::new("/bin/false")))).err().unwrap();
    assert!(matches!(&died, EngineError::Died { status, .. } if status.contains('1')), "{died}");

    let data = prepared(&Sqlite, &place, tare());
    let deep = place.path(&"d".repeat(100));
    let request = StartRequest { run_directory: deep.clone(), ..place.start_request(&data, tare()) };
    let error = Sqlite.start(&request).err().unwrap();
    assert!(matches!(error, EngineError::SocketPathTooLong { .. }), "{error}");
    assert!(!deep.exists());
}

fn libc_directory() -> std::path::PathBuf {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let libc = maps.lines().filter_map(|line| line.split_whitespace().nth(5)).find(|path| path.ends_with("/libc.so.6"));
    Path::new(libc.unwrap()).parent().unwrap().to_owned()
}

#[test]
fn aslr_and_allocator_are_read_back_from_the_running_server() {
    let place = Place::new();
    let data = prepared(&Sqlite, &place, tare());
    let request = StartRequest { aslr: Some(Aslr::Off), ..place.start_request(&data, tare()) };
    let server = Sqlite.start(&request).unwrap();
    let personality = std::fs::read_to_string(format!("/proc/{}/personality", server.pid())).unwrap();
    assert_eq!(u32::from_str_radix(personality.trim(), 16).unwrap() & 0x0040000, 0x0040000);
    drop(server);
    // Part of every glibc, and nothing that this program uses.
    let library = libc_directory().join("libresolv.so.2");
    let request = StartRequest { allocator_preload: Some(library), ..place.start_request(&data, tare()) };
    drop(Sqlite.start(&request).unwrap());
    let absent = Some("/nonexistent/liballoc.so".into());
    let request = StartRequest { allocator_preload: absent, ..place.start_request(&data, tare()) };
    let error = Sqlite.start(&request).err().unwrap();
    assert!(matches!(error, EngineError::NotInEffect { setting: "allocator", .. }), "{error}");
}

/// Starts with an address space, through `binary`, and says where its parts lie.
fn positions(place: &Place, data: &Path, binary: &Path, aslr: Aslr) -> Positions {
    let request = StartRequest { aslr: Some(aslr), ..place.start_request(data, Some(binary)) };
    let server = Sqlite.start(&request).unwrap();
    Positions::of(server.pid()).unwrap()
}

#[test]
fn layouts_are_repeatable_and_differ_also_behind_a_wrapper_script() {
    let place = Place::new();
    let data = prepared(&Sqlite, &place, tare());
    let tare = tare().unwrap();
    let script = script(&place, &format!("exec {} \"$@\"", tare.display()));
    let third = positions(&place, &data, tare, Aslr::Layout(3));
    assert_eq!(positions(&place, &data, &script, Aslr::Layout(3)).mmap_top, third.mmap_top);
    let tops = [Aslr::Off, Aslr::Layout(4), Aslr::Layout(5)].map(|aslr| positions(&place, &data, tare, aslr).mmap_top);
    let distinct: std::collections::BTreeSet<u64> = tops.into_iter().chain([third.mmap_top]).collect();
    assert_eq!(distinct.len(), 4, "{tops:x?} {third:x?}");
    assert_eq!(positions(&place, &data, tare, Aslr::Off), positions(&place, &data, tare, Aslr::Off));
}

#[test]
fn a_wrapper_script_that_undoes_a_setting_is_found_out() {
    let place = Place::new();
    let data = prepared(&Sqlite, &place, tare());
    let tare = tare().unwrap().display();
    // setarch without -R sets a personality without the flag: exactly what a re-exec may do.
    let undoes = script(&place, &format!("exec setarch $(uname -m) {tare} \"$@\""));
    for aslr in [Aslr::Off, Aslr::Layout(1)] {
        let request = StartRequest { aslr: Some(aslr), ..place.start_request(&data, Some(&undoes)) };
        let error = Sqlite.start(&request).err().unwrap();
        assert!(matches!(error, EngineError::NotInEffect { setting: "aslr", .. }), "{error}");
    }
    let limits = script(&place, &format!("ulimit -S -s 8192; exec {tare} \"$@\""));
    let request = StartRequest { aslr: Some(Aslr::Layout(1)), ..place.start_request(&data, Some(&limits)) };
    let error = Sqlite.start(&request).err().unwrap();
    assert!(matches!(error, EngineError::NotInEffect { setting: "aslr", .. }), "{error}");
    assert!(!place.path("run").exists() && !place.path("copy").exists());
}

#[test]
fn a_wrapper_script_that_stays_has_its_server_verified_and_both_end_together() {
    let place = Place::new();
    let data = prepared(&Sqlite, &place, tare());
    let tare = tare().unwrap().display();
    // One that starts its server again whenever it ends, and one whose server leaves its group.
    let again = format!("trap '' TERM; while :; do {tare} \"$@\"; sleep 0.01; done");
    for line in [again, format!("setsid {tare} \"$@\"; true")] {
        let stays = script(&place, &line);
        let start = || {
            let request = StartRequest { aslr: Some(Aslr::Layout(2)), ..place.start_request(&data, Some(&stays)) };
            Sqlite.start(&request).unwrap()
        };
        let of = |pid: u32| procfs::process::Process::new(pid as i32).unwrap().stat().unwrap();
        for how in ["stopped", "dropped", "killed"] {
            let mut server = start();
            let (pid, wrapper) = (server.pid(), of(server.pid()).ppid as u32);
            assert_eq!(of(wrapper).comm, stays.file_name().unwrap().to_str().unwrap());
            assert!(Aslr::Layout(2).verify(pid).is_ok());
            assert!(server.is_alive() && server.connect().is_ok());
            match how {
                "stopped" => assert_eq!(server.stop(PATIENCE).unwrap(), StopOutcome::Graceful),
                "dropped" => drop(server),
                _ => {
                    let server_pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
                    rustix::process::kill_process(server_pid, rustix::process::Signal::KILL).unwrap();
                    // Whether the script has started another one by then or not: it is not the one that was verified.
                    let deadline = Instant::now() + PATIENCE;
                    while server.is_alive() {
                        assert!(Instant::now() < deadline, "its end was not noticed");
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    drop(server);
                }
            }
            wait_until_gone(pid);
            wait_until_gone(wrapper);
        }
    }
    assert!(!place.path("run").exists() && !place.path("copy").exists());
}

#[test]
fn a_wrapper_script_that_leaves_its_server_behind_is_refused_and_nothing_stays() {
    let place = Place::new();
    let data = prepared(&Sqlite, &place, tare());
    let said = place.path("pid");
    let line = format!("{} \"$@\" & echo $! > {}", tare().unwrap().display(), said.display());
    let leaves = script(&place, &line);
    let error = Sqlite.start(&place.start_request(&data, Some(&leaves))).err().unwrap();
    assert!(matches!(error, EngineError::Died { .. }), "{error}");
    wait_until_gone(std::fs::read_to_string(said).unwrap().trim().parse().unwrap());
    assert!(!place.path("run").exists() && !place.path("copy").exists());
}

#[test]
fn in_place_data_stays_where_it_is() {
    let place = Place::new();
    let data = prepared(&Sqlite, &place, tare());
    let request = StartRequest { data: DataDirectory::InPlace(data.clone()), ..place.start_request(&data, tare()) };
    let mut server = Sqlite.start(&request).unwrap();
    server.connect().unwrap().run("DELETE FROM t WHERE id = 1").unwrap();
    server.stop(PATIENCE).unwrap();
    assert!(data.join("tare.db").exists());
}
