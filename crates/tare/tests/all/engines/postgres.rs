//! Tests of PostgreSQL only. Needs `sudo apt-get install postgresql-15`.

use std::io::Write;

use crate::engines::support::{Place, one, prepared, wait_until_gone};
use tare_drive::sut::SystemUnderTest;
use tare_engine::{Engine, Param, Postgresql, Server, SqlErrorKind};

#[test]
fn postgresql_loads_rows_by_copy_counts_work_and_leaves_no_shared_memory() {
    let place = Place::new();
    let data = prepared(&Postgresql, &place, None);
    let server = Postgresql.start(&place.start_request(&data, None)).unwrap();
    rows_are_copied_in(&*server);
    it_counts_what_it_does_and_says_how_it_times_waits(&*server);

    let session = server.connect().unwrap();
    let all = SystemUnderTest::started(&*server).processes();
    assert!(all.len() > 5, "checkpointer, writers and others: {all:?}");
    // A killed server cannot leave this shared memory behind.
    let own = |pid: u32| std::fs::read_link(format!("/proc/{pid}/ns/ipc")).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(own(server.pid()) != own(std::process::id()), is_root);
    let kind = server.setting("dynamic_shared_memory_type").unwrap();
    assert_eq!(kind.as_deref(), Some(if is_root { "sysv" } else { "mmap" }));
    drop((server, session));
    all.into_iter().for_each(|pid| wait_until_gone(pid.cast_unsigned()));
}

fn rows_are_copied_in(server: &dyn Server) {
    let mut session = server.connect().unwrap();
    let point = session.prepare("SELECT c FROM t WHERE id=$1").unwrap();
    let too_large = session.execute(point, &[Param::Int(1 << 40)]).unwrap_err();
    assert_eq!(too_large.kind, SqlErrorKind::Other, "{too_large}");
    assert_eq!(session.execute(point, &[Param::Int(1)]), Ok(1), "the session goes on");
    assert_eq!(session.run("SELECT 1; SELECT 2").unwrap(), 2);
    session.run("CREATE TABLE copied (a INTEGER, b TEXT)").unwrap();
    let mut feed = |server: &mut dyn Write| (0..30_000).try_for_each(|row| writeln!(server, "{row}|text {row}"));
    assert_eq!(session.load("COPY copied FROM STDIN WITH (DELIMITER '|')", &mut feed), Ok(30_000));
    let refused = session.load("COPY copied FROM STDIN", &mut |server| writeln!(server, "no number")).unwrap_err();
    assert!(refused.to_string().contains("22P02"), "{refused}");
    assert_eq!(one(&mut *session, "SELECT COUNT(*) FROM copied").as_deref(), Some("30000"));
}

fn it_counts_what_it_does_and_says_how_it_times_waits(server: &dyn Server) {
    let mut diagnostics = server.diagnostics().unwrap();
    let counters = diagnostics.counters().unwrap();
    assert!(counters.contains_key("database.xact_commit") && counters.contains_key("wal.wal_bytes"), "{counters:?}");
    assert!(diagnostics.watch_locks().unwrap().contains("wait_event"));
}
