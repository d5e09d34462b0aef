//! Tests of the embedded engine only, and of wrapper scripts, with the server that starts fastest.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::engines::support::{PATIENCE, Place, fill, one, prepared, prepared_here, script, wait_until_gone};
use crate::support::{send, wait_until};
use rustix::process::Signal;
use tare_drive::workload::dbt3;
use tare_drive::workload::oltp::{self, Tables};
use tare_engine::{
    Address, Aslr, DataDirectory, Engine, EngineError, Positions, PrepareRequest, Server, Session, SqlErrorKind,
    Sqlite, StartRequest, StopOutcome,
};
use tare_results::captures::WaitKind;

fn tare() -> Option<&'static Path> {
    Some(Path::new(env!("CARGO_BIN_EXE_tare")))
}

#[test]
fn prepared_data_is_one_permanent_file_and_its_page_size_is_part_of_the_cache_key() {
    let place = Place::new();
    let data = prepared_here(&Sqlite, &place, tare());
    assert_eq!(std::fs::read_dir(&data).unwrap().count(), 1, "the log was written back into the one file");
    let mut request = place.prepare_request(tare());
    request.options.insert("page_size".to_owned(), "8192".to_owned());
    let other = Sqlite.prepare_data(&request, &mut fill).unwrap();
    assert_ne!(other, data, "page_size is part of the key");
    let request = StartRequest { data: DataDirectory::InPlace(data.clone()), ..place.start_request(&data, tare()) };
    let mut server = Sqlite.start(&request).unwrap();
    server.connect().unwrap().run("DELETE FROM t WHERE id = 1").unwrap();
    server.stop(PATIENCE).unwrap();
    assert!(data.join("tare.db").exists());
}

#[test]
fn a_busy_error_rolls_the_transaction_back_and_threads_are_named_by_connection() {
    let place = Place::new();
    let data = prepared(&Sqlite, &place, tare());
    let server = Sqlite.start(&place.start_request(&data, tare())).unwrap();
    assert_eq!(server.setting("journal_mode").unwrap().as_deref(), Some("wal"));
    let (mut first, mut second) = (server.connect().unwrap(), server.connect().unwrap());
    let mut reported = server.diagnostics().unwrap();
    reported.watch_locks().unwrap();
    first.run("BEGIN").unwrap();
    first.run("UPDATE t SET k=k+1 WHERE id=1").unwrap();
    second.run("BEGIN").unwrap();
    assert_eq!(second.run("UPDATE t SET k=k+1 WHERE id=2").unwrap_err().kind, SqlErrorKind::Retry);
    let waits = Duration::from_millis(60);
    std::thread::sleep(waits);
    first.run("COMMIT").unwrap();
    // No transaction is open any more, so a new one can begin at once, and an extra rollback is no error.
    second.run("BEGIN").unwrap();
    second.run("ROLLBACK").unwrap();
    second.run("ROLLBACK").unwrap();
    second.run("BEGIN").unwrap();
    assert_eq!(second.run("UPDATE t SET k=k+1 WHERE id=2"), Ok(1));
    second.run("COMMIT").unwrap();
    let busy = reported.lock_waits().unwrap().into_iter().find(|wait| wait.name == "sqlite/busy").unwrap();
    assert!(busy.count == 1 && busy.wait_s >= waits.as_secs_f64(), "until it was done, not until BEGIN was: {busy:?}");
    assert_eq!(busy.kind, WaitKind::Retried, "its CPU time is other time than that of a lock that is slept for");
    assert_eq!(one(&mut *first, "SELECT sum(k) FROM t WHERE id < 3"), Some("5".to_owned()));

    assert_eq!(one(&mut *first, "SELECT x'79'").as_deref(), Some("y"));
    assert_eq!(first.run("SELECT 1; SELECT 2").unwrap_err().kind, SqlErrorKind::Other);
    let tid = first.server_thread().unwrap().unwrap().tid;
    let name = std::fs::read_to_string(format!("/proc/{}/task/{tid}/comm", server.pid())).unwrap();
    assert!(name.starts_with("tare-conn-"), "{name}");
}

#[test]
fn a_client_that_sends_garbage_is_disconnected_and_others_are_served() {
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
        // A reset of the connection is acceptable too.
        let _ = stream.read_to_end(&mut answer);
    }
    assert_eq!(server.connect().unwrap().run("SELECT 1"), Ok(1));
}

/// A session whose database may have only 100 pages: SQLite then reports a full disk.
fn crammed(server: &dyn Server) -> Result<Box<dyn Session>, Box<dyn std::error::Error + Send + Sync>> {
    let mut session = server.connect()?;
    session.run("PRAGMA max_page_count = 100")?;
    Ok(session)
}

#[test]
fn a_full_disk_while_a_workload_fills_its_tables_is_reported_as_such() {
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

/// A server that is stopped until this is dropped, as by a debugger.
struct Frozen(u32);

impl Frozen {
    fn new(server: &dyn Server) -> Self {
        assert!(send(server.pid(), Signal::STOP));
        // A thread stops when it next leaves the kernel.
        let process = procfs::process::Process::new(server.pid().cast_signed()).unwrap();
        let is_stopped = |task: &procfs::process::Task| task.stat().is_ok_and(|stat| stat.state == 'T');
        while !process.tasks().unwrap().flatten().all(|task| is_stopped(&task)) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Self(server.pid())
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        send(self.0, Signal::CONT);
    }
}

#[test]
fn a_stopped_server_does_not_block_its_clients_forever() {
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
    // The kernel accepts connections for the stopped server, which never answers.
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
fn stopping_the_server_ends_an_endless_statement() {
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

/// Starts the server with an address space layout, through `binary`, and returns the positions of its parts.
fn positions(place: &Place, data: &Path, binary: &Path, aslr: Aslr) -> Positions {
    let request = StartRequest { aslr: Some(aslr), ..place.start_request(data, Some(binary)) };
    let server = Sqlite.start(&request).unwrap();
    Positions::of(server.pid()).unwrap()
}

#[test]
fn address_space_layouts_are_repeatable_and_distinct_even_behind_a_wrapper_script() {
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
fn a_wrapper_script_that_undoes_a_process_setting_is_detected() {
    let place = Place::new();
    let data = prepared(&Sqlite, &place, tare());
    let tare = tare().unwrap().display();
    // setarch without -R sets a personality without the flag, as a re-exec may do.
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
fn a_server_behind_a_running_wrapper_script_is_verified_and_both_end_together() {
    let place = Place::new();
    let data = prepared(&Sqlite, &place, tare());
    let tare = tare().unwrap().display();
    // One script starts its server again whenever it ends; in the other, the server leaves its process group.
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
                    assert!(send(pid, Signal::KILL));
                    // Even if the script has started another server by then, it is not the verified one.
                    wait_until("its end is noticed", PATIENCE.as_secs(), || !server.is_alive());
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
fn a_wrapper_script_that_abandons_its_server_is_refused_and_leaves_nothing() {
    let place = Place::new();
    let data = prepared(&Sqlite, &place, tare());
    let pid_file = place.path("pid");
    let line = format!("{} \"$@\" & echo $! > {}", tare().unwrap().display(), pid_file.display());
    let leaves = script(&place, &line);
    let error = Sqlite.start(&place.start_request(&data, Some(&leaves))).err().unwrap();
    assert!(matches!(error, EngineError::Died { .. }), "{error}");
    wait_until_gone(std::fs::read_to_string(pid_file).unwrap().trim().parse().unwrap());
    assert!(!place.path("run").exists() && !place.path("copy").exists());
}
