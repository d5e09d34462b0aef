//! Sessions on every server: statements of every kind, errors, and the serving thread.

use super::serving::find_serving_thread;
use super::table::Differs;
use crate::engines::support::one;
use tare_cpuset::{CpuSet, ThreadRef, affinity_of, bind_thread};
use tare_drive::sut::SystemUnderTest;
use tare_engine::{Param, Server, Session, SqlError, SqlErrorKind, StatementId};

/// Statements of every kind, prepared and as text.
pub fn statements(server: &dyn Server) {
    let mut session = server.connect().unwrap();
    let (first, second) = (server.dialect().placeholder(1), server.dialect().placeholder(2));
    let point = session.prepare(&format!("SELECT c FROM t WHERE id={first}")).unwrap();
    let range = session.prepare(&format!("SELECT c FROM t WHERE id BETWEEN {first} AND {second}")).unwrap();
    let update = session.prepare(&format!("UPDATE t SET c={first} WHERE id={second}")).unwrap();
    for id in 1..50 {
        assert_eq!(session.execute(point, &[Param::Int(id)]), Ok(1));
    }
    assert_eq!(session.execute(point, &[Param::Int(7000)]), Ok(0));
    // The same parameter with another type, and back.
    assert_eq!(session.execute(point, &[Param::Text("7")]), Ok(1));
    assert_eq!(session.execute(point, &[Param::Int(7)]), Ok(1));
    assert_eq!(session.execute(range, &[Param::Int(1), Param::Int(1000)]), Ok(1000), "more than one write");
    transaction_control(&mut *session, "BEGIN");
    let long = "n".repeat(110);
    assert_eq!(session.execute(update, &[Param::Text(&long), Param::Int(7)]), Ok(1));
    transaction_control(&mut *session, "COMMIT");
    assert_eq!(
        one(&mut *session, "SELECT c FROM t WHERE id = 7").as_deref(),
        Some(long.as_str()),
        "no blanks behind it"
    );
    assert_eq!(session.fetch(point, &[Param::Int(7)]), Ok(vec![vec![Some(long)]]));

    let (middle, large) = ("y".repeat(300), "z".repeat(70_000));
    let row = session.query(&format!("SELECT NULL, 1, 2.5, 'x ', '{middle}', '{large}'")).unwrap().remove(0);
    assert_eq!(row[..4], [None, Some("1".into()), Some("2.5".into()), Some("x ".into())]);
    assert_eq!(row[4..], [Some(middle), Some(large)]);
    assert_eq!(session.run("UPDATE t SET k = k + 1 WHERE id > 990"), Ok(10));
    assert_eq!(session.run("CREATE TABLE u (a INTEGER)"), Ok(0), "not the count of the statement before");
    assert_eq!(session.run("INSERT INTO u VALUES (1), (2), (3)"), Ok(3));
    assert_eq!(session.query("SELECT a FROM u WHERE a > 3"), Ok(Vec::new()));
    assert_eq!(session.run("DROP TABLE u"), Ok(0));
}

/// Runs the statement prepared if the server can prepare it, else as text: MySQL reports that it cannot.
fn transaction_control(session: &mut dyn Session, sql: &str) {
    let done = match session.prepare(sql) {
        Ok(statement) => session.execute(statement, &[]),
        Err(error) if error.kind == SqlErrorKind::NotPreparable => session.run(sql),
        Err(error) => Err(error),
    };
    assert_eq!(done, Ok(0), "{sql}");
}

/// Errors tell the caller what to do, and leave the session usable.
pub fn errors(differs: &Differs, server: &dyn Server) {
    let (mut first, mut second) = (server.connect().unwrap(), server.connect().unwrap());
    let wrong = |error: SqlError, words: &str| {
        assert!(error.kind == SqlErrorKind::Other && error.to_string().contains(words), "{error:?}, not {words}");
    };
    let point = first.prepare(&format!("SELECT c FROM t WHERE id={}", server.dialect().placeholder(1))).unwrap();
    wrong(first.run("SELEC 1").unwrap_err(), differs.syntax);
    wrong(first.prepare("SELEC 1").unwrap_err(), differs.syntax);
    wrong(first.query("SELECT a FROM nowhere").unwrap_err(), "nowhere");
    let there_already = first.run("INSERT INTO t VALUES (1, 1, 'x')").unwrap_err();
    assert!(server.dialect().is_duplicate(&there_already), "{there_already:?}");
    wrong(there_already, differs.duplicate);
    wrong(first.execute(StatementId(99), &[]).unwrap_err(), "");
    wrong(first.execute(point, &[]).unwrap_err(), "");
    wrong(first.execute(point, &[Param::Int(1), Param::Int(2)]).unwrap_err(), "");
    if let Some(sql) = differs.not_preparable {
        assert_eq!(first.prepare(sql).unwrap_err().kind, SqlErrorKind::NotPreparable);
    }
    assert_eq!(first.execute(point, &[Param::Int(1)]), Ok(1));

    // The second session waits in vain for the first, starts again, and nothing of its first attempt remains.
    for session in [&mut first, &mut second] {
        if let Some(sql) = differs.impatient {
            session.run(sql).unwrap();
        }
        session.run("BEGIN").unwrap();
    }
    let raise = "UPDATE t SET k=k+1 WHERE id=1";
    assert_eq!(first.run(raise), Ok(1));
    assert_eq!(second.run(raise).unwrap_err().kind, SqlErrorKind::Retry);
    second.run("ROLLBACK").unwrap();
    assert_eq!(first.run("COMMIT"), Ok(0));
    second.run("BEGIN").unwrap();
    assert_eq!(second.run(raise), Ok(1));
    second.run("COMMIT").unwrap();
    assert_eq!(one(&mut *first, "SELECT k FROM t WHERE id = 1").as_deref(), Some("3"));

    if let Some((number, end)) = differs.ends_session {
        let number = one(&mut *second, number).unwrap();
        first.run(&end.replace('#', &number)).unwrap();
        assert_eq!(second.run("SELECT 1").unwrap_err().kind, SqlErrorKind::Lost);
        assert_eq!(first.run("SELECT 1"), Ok(1));
    }
}

/// The thread or process that a session reports is the one that works for it, and can be bound.
pub fn threads(differs: &Differs, server: &dyn Server) {
    let (mut idle, mut busy) = (server.connect().unwrap(), server.connect().unwrap());
    let (idle_thread, busy_thread) = (idle.server_thread().unwrap().unwrap(), busy.server_thread().unwrap().unwrap());
    assert_ne!(idle_thread, busy_thread);
    assert_eq!(busy.thread_number().unwrap(), Some(busy_thread.tid));
    let processes = SystemUnderTest::started(server).processes();
    assert_eq!(processes[0], server.pid().cast_signed());
    for thread in [idle_thread, busy_thread] {
        assert_eq!(thread.pid != processes[0], differs.has_processes);
        assert_eq!(thread.pid == thread.tid, differs.has_processes);
        assert!(processes.contains(&thread.pid), "{thread} is not among {processes:?}");
    }
    let mut drive = || (0..300).try_for_each(|_| busy.run("SELECT SUM(k) FROM t").map(drop));
    if differs.has_processes {
        drive().unwrap();
    } else {
        assert_eq!(find_serving_thread(server.pid(), drive).unwrap(), Some(busy_thread));
    }
    assert!(run_time_ns(busy_thread) > 2 * run_time_ns(idle_thread));
    let cpu = CpuSet::from_iter([0u32]);
    bind_thread(busy_thread, &cpu).unwrap();
    assert_eq!(affinity_of(busy_thread).unwrap(), cpu);
}

fn run_time_ns(thread: ThreadRef) -> u64 {
    let process = procfs::process::Process::new(thread.pid).unwrap();
    process.task_from_tid(thread.tid).unwrap().schedstat().unwrap().sum_exec_runtime
}
