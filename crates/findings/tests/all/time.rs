//! Transaction time: the parts of every trial add up to the whole, and planted differences are found.

use crate::draws::Draws;
use crate::made_up::{differ, of_two_sides, trial, worked};
use crate::modes::environment;
use std::collections::BTreeMap;
use tare_findings::compare::{JoinedBy, Options, Side, Verdict, compare};
use tare_findings::differences::What;
use tare_findings::time::{Missing, Part, TrialTime};
use tare_findings::why::{Suspect, why};
use tare_results::captures::{Captures, LockShare, LocksFile, StatusFile, WaitKind};
use tare_results::schema::{Environment, Outcome, SCHEMA, ScheduleRecord, ThreadClass, ThreadRecord, TrialRecord};
use tare_results::server::{ServerRecord, Setting};
use tare_results::waits::{CallerShare, StackSamples, ThreadsTime, TimePart, TimeUse, WaitsFile};

/// A thread with these seconds of a second on a CPU (user, kernel) and waiting for one.
pub fn thread(class: ThreadClass, user_s: f64, system_s: f64, waited_s: f64) -> ThreadRecord {
    let ran_s = user_s + system_s;
    let schedule = Some(ScheduleRecord { ran_s, waited_s, slept_s: 1.0 - ran_s - waited_s });
    ThreadRecord { voluntary_switches: 1000, system_s, schedule, ..worked(class, user_s) }
}

pub fn captures(row_lock_ms: f64, locks: &[(&str, f64)]) -> Captures {
    let differences =
        BTreeMap::from([("Innodb_row_lock_time".to_owned(), row_lock_ms), ("Innodb_rows_read".to_owned(), 9.0)]);
    let waits = locks.iter().map(|(name, wait_fraction)| LockShare {
        kind: Default::default(),
        name: (*name).to_owned(),
        count: 1,
        wait_ms: 1000.0 * wait_fraction,
        wait_fraction: *wait_fraction,
    });
    Captures {
        status: Some(StatusFile { schema: SCHEMA, elapsed_s: 1.0, differences }),
        locks: Some(LocksFile {
            schema: SCHEMA,
            source: String::new(),
            elapsed_s: 1.0,
            threads: 1,
            waits: waits.collect(),
        }),
        ..Captures::default()
    }
}

/// What threads of connections did, as shares of their time.
pub fn waits(parts: &[(TimeUse, f64)]) -> WaitsFile {
    let parts = parts.iter().map(|(time, fraction)| TimePart {
        time: *time,
        on: None,
        operation: None,
        caller: None,
        addresses: 0,
        threads: 1,
        fraction: *fraction,
    });
    let connections = ThreadsTime { threads: 1, samples: 1, running_samples: 0, exact: true, parts: parts.collect() };
    let background = ThreadsTime::default();
    WaitsFile { schema: SCHEMA, elapsed_s: 1.0, looks: 1, looking_cpu_s: 0.0, connections, background, stacks: None }
}

#[test]
fn a_time_that_no_thread_can_have_is_no_part_of_a_transaction() {
    for (client_s, server_s) in [(-1e308, 0.1), (0.1, 1e308), (0.1, f64::INFINITY)] {
        let mut record = trial(0, 0, "threads=1", 1000.0, false);
        record.samples[0].threads =
            vec![thread(ThreadClass::Client, client_s, 0.1, 0.0), thread(ThreadClass::Connection, server_s, 0.1, 0.0)];
        assert_eq!(TrialTime::of(&record, None), None);
    }
}

/// Of the 250 us that a client is awake it spins for 150: waiting for the server, and for the answer on its way back.
#[test]
fn time_that_clients_spin_is_in_no_part_of_the_transaction() {
    let mut record = trial(0, 0, "threads=1", 1000.0, false);
    record.samples[0].threads =
        vec![thread(ThreadClass::Client, 0.1, 0.1, 0.05), thread(ThreadClass::Connection, 0.3, 0.1, 0.05)];
    record.samples[0].covariates.insert("client_spun_s".to_owned(), 0.15);
    let mut seen = captures(0.0, &[]);
    seen.waits = Some(waits(&[(TimeUse::Client, 0.4)]));
    let spun = TrialTime::of(&record, Some(&seen)).unwrap();
    // The server sleeps for 400 us; during 80 of these its client works, and during 20 the client waits for a CPU.
    for (part, us) in [(Part::ClientUser, 40.0), (Part::ClientWaited, 20.0), (Part::Way, 300.0)] {
        assert!((spun.part(&part) - us).abs() < 1e-9, "{part:?}: {spun:?}");
    }
    assert!((spun.spun_us.unwrap() - 120.0).abs() < 1e-9, "{spun:?}");
}

#[test]
fn a_transaction_is_divided_as_its_threads_were_seen() {
    let mut record = trial(0, 0, "threads=1", 1000.0, false);
    record.samples[0].threads =
        vec![thread(ThreadClass::Client, 0.1, 0.1, 0.05), thread(ThreadClass::Connection, 0.3, 0.1, 0.05)];
    record.samples[0].threads.push(thread(ThreadClass::Background, 0.02, 0.0, 0.0));
    let found = TrialTime::of(&record, Some(&captures(100.0, &[("a/lock", 0.05)]))).unwrap();
    let expected = [
        (Part::ClientUser, 100.0),
        (Part::ClientSystem, 100.0),
        (Part::ClientWaited, 50.0),
        (Part::ServerUser, 300.0),
        (Part::ServerSystem, 100.0),
        (Part::ServerWaited, 50.0),
        (Part::RowLock, 100.0),
        (Part::Lock("a/lock".into()), 50.0),
        (Part::NotExplained, 150.0),
    ];
    assert!((found.us - 1000.0).abs() < 1e-9);
    for (part, us) in expected {
        assert!((found.part(&part) - us).abs() < 1e-9, "{part:?}: {found:?}");
    }
    assert!((found.background_us - 20.0).abs() < 1e-9 && found.overlap_us == 0.0 && found.spun_us.is_none());
    assert_eq!(found.missing.into_iter().collect::<Vec<_>>(), [Missing::Sleeps]);

    // Another program used a CPU for half a second. While the client waited, one of these ran: the server (0.4 s), the
    // background threads (0.02 s) or the other program. While the server waited, the client (0.2 s) or the other
    // program did.
    record.samples[0].covariates.insert("foreign_cpu_s".to_owned(), 0.5);
    let disturbed = TrialTime::of(&record, Some(&captures(100.0, &[("a/lock", 0.05)]))).unwrap();
    let strangers = 50.0 * (0.5 / 0.92 + 0.5 / 0.72);
    assert!((disturbed.part(&Part::OtherPrograms) - strangers).abs() < 1e-9, "{disturbed:?}");
    let own = disturbed.part(&Part::ClientWaited) + disturbed.part(&Part::ServerWaited);
    assert!((own + strangers - 100.0).abs() < 1e-9, "{disturbed:?}");
    record.samples[0].covariates.clear();

    // Observed sleeps: futexes beyond the locks that the server names are unnamed.
    let mut seen = captures(100.0, &[("a/lock", 0.05)]);
    seen.waits = Some(waits(&[(TimeUse::Flush, 0.02), (TimeUse::OwnFutex, 0.16), (TimeUse::Client, 0.4)]));
    let asleep = TrialTime::of(&record, Some(&seen)).unwrap();
    let parts = [(Part::Flush, 20.0), (Part::Asleep, 10.0), (Part::RowLock, 100.0), (Part::Way, 120.0)];
    for (part, us) in parts {
        assert!((asleep.part(&part) - us).abs() < 1e-9, "{part:?}: {asleep:?}");
    }
    assert!(asleep.missing.is_empty());
    // A wait is counted when it ends, including the part before the sample: it is limited to the time that threads
    // slept outside other locks.
    let counted = seen.status.as_mut().unwrap();
    counted.differences.insert("Innodb_row_lock_time".to_owned(), 1400.0);
    let long = TrialTime::of(&record, Some(&seen)).unwrap();
    assert!((long.part(&Part::RowLock) - 110.0).abs() < 1e-9, "{long:?}");

    // Both on one CPU: the time that the server waited while the client ran is in no part.
    record.samples[0].threads[1] = thread(ThreadClass::Connection, 0.3, 0.45, 0.2);
    let shared = TrialTime::of(&record, None).unwrap();
    assert!((shared.overlap_us - 200.0).abs() < 1e-9, "{shared:?}");
    assert!(shared.part(&Part::NotExplained).abs() < 1e-9, "{shared:?}");
    assert_eq!(shared.missing.into_iter().collect::<Vec<_>>(), [Missing::RowLocks, Missing::Locks, Missing::Sleeps]);

    // A lock that clients retry for: the CPU time of the retries must not count as other work.
    record.samples[0].threads =
        vec![thread(ThreadClass::Client, 0.1, 0.1, 0.1), thread(ThreadClass::Connection, 0.2, 0.2, 0.1)];
    let mut tried = captures(0.0, &[("busy", 0.7)]);
    assert!((TrialTime::of(&record, Some(&tried)).unwrap().part(&Part::NotExplained) + 300.0).abs() < 1e-9);
    tried.locks.as_mut().unwrap().waits[0].kind = WaitKind::Retried;
    let retried = TrialTime::of(&record, Some(&tried)).unwrap();
    for (part, us) in [(Part::ClientUser, 50.0), (Part::ServerSystem, 100.0), (Part::Lock("busy".into()), 700.0)] {
        assert!((retried.part(&part) - us).abs() < 1e-9, "{part:?}: {retried:?}");
    }
    tried.status = None;
    assert!(!TrialTime::of(&record, Some(&tried)).unwrap().missing.contains(&Missing::RowLocks), "SQLite has none");
    assert!((retried.retries_us - 300.0).abs() < 1e-9 && (retried.overlap_us - 200.0).abs() < 1e-9, "{retried:?}");
    // At most the time that was waited for this lock.
    let waits = &mut tried.locks.as_mut().unwrap().waits;
    waits[0].wait_fraction = 0.1;
    let other = LockShare { kind: WaitKind::Lock, name: "other".into(), wait_fraction: 0.6, ..waits[0].clone() };
    waits.push(other);
    assert!((TrialTime::of(&record, Some(&tried)).unwrap().retries_us - 100.0).abs() < 1e-9);

    // An older record, of a server without observed threads.
    record.samples[0].threads.truncate(1);
    record.samples[0].threads[0].schedule = None;
    let old = TrialTime::of(&record, None).unwrap();
    assert!(old.missing.contains(&Missing::WaitsForCpu) && old.missing.contains(&Missing::ServerThreads));
    assert!((old.part(&Part::NotExplained) - 800.0).abs() < 1e-9, "{old:?}");
    record.samples[0].threads.clear();
    assert!(TrialTime::of(&record, None).is_none());
}

/// Of a pool no thread serves one connection: the server's threads count together, and none is counted twice.
#[test]
fn the_threads_of_a_pool_are_the_servers_part_together() {
    let mut record = trial(0, 0, "threads=1", 1000.0, false);
    let [client, background] = [ThreadClass::Client, ThreadClass::Background];
    record.samples[0].threads =
        vec![thread(client, 0.1, 0.1, 0.05), thread(background, 0.2, 0.1, 0.04), thread(background, 0.1, 0.0, 0.01)];
    let of = |record: &TrialRecord| {
        let found = TrialTime::of(record, None).unwrap();
        let parts = [Part::ServerUser, Part::ServerSystem, Part::ServerWaited, Part::NotExplained];
        let us = parts.map(|part| found.part(&part).round());
        assert!((found.parts.values().sum::<f64>() - found.us).abs() < 1e-9, "{found:?}");
        (us, found.background_us.round(), found.missing.contains(&Missing::ServerThreads), found.has_pool)
    };
    assert_eq!(of(&record), ([0.0, 0.0, 0.0, 750.0], 400.0, true, false));
    let mut with = |handling: &str| {
        let setting = Setting { value: handling.to_owned(), default: None, source: None, unit: None };
        let changed = BTreeMap::from([("thread_handling".to_owned(), setting)]);
        record.server = Some(ServerRecord { changed, ..ServerRecord::default() });
        of(&record)
    };
    assert_eq!(with("one-thread-per-connection").0, [0.0, 0.0, 0.0, 750.0]);
    let of_pool = ([300.0, 100.0, 50.0, 300.0], 0.0, false, true);
    assert_eq!(with("pool-of-threads"), of_pool, "an older record");
    // The engine's word counts, whatever its settings are called.
    let mut said = |thread_pool| {
        record.server = Some(ServerRecord { thread_pool, ..record.server.take().unwrap() });
        of(&record)
    };
    assert_eq!((said(Some(false)).0, said(Some(true))), ([0.0, 0.0, 0.0, 750.0], of_pool));
}

#[test]
fn parts_add_up_to_the_whole_in_every_trial() {
    let mut draws = Draws(7);
    let mut draw = |most: f64| most * draws.uniform();
    for number in 0..2000 {
        let clients = 1 + number % 7;
        let tps = 1.0 + draw(1e5);
        let mut record = trial(0, 0, "threads=1", tps, false);
        for class in [ThreadClass::Client, ThreadClass::Connection] {
            for _ in 0..clients {
                let (user_s, system_s, waited_s) = (draw(0.5), draw(0.5), draw(0.5));
                record.samples[0].threads.push(thread(class, user_s, system_s, waited_s));
            }
        }
        let [asleep, flushed, waited] = [draw(0.5), draw(0.2), draw(0.2)];
        let callers = vec![CallerShare { chain: "log_write_up_to;syscall".to_owned(), fraction: draw(0.5) }];
        let stacks = Some(StackSamples { read: 100, whole: 100, callers });
        let uses = [(TimeUse::OwnFutex, asleep), (TimeUse::Flush, flushed), (TimeUse::WaitedForCpu, waited)];
        let waits = Some(WaitsFile { stacks, ..waits(&uses) });
        let mut captures = Captures { waits, ..captures(draw(900.0), &[("a", draw(0.4))]) };
        let shares = &mut captures.locks.as_mut().unwrap().waits;
        for (kind, name) in [(WaitKind::Log, "IO/WALSync"), (WaitKind::Pause, "Timeout/PgSleep")] {
            let (name, wait_fraction) = (name.into(), draw(1.2));
            shares.push(LockShare { kind, name, wait_fraction, ..shares[0].clone() });
        }
        let found = TrialTime::of(&record, (number % 2 == 0).then_some(&captures)).unwrap();
        // No sleep is counted twice; the time of a row lock and of the log may include the wait for a CPU after it.
        let slept: f64 =
            [Part::Flush, Part::RowLock, Part::Pause, Part::Asleep].iter().map(|part| found.part(part)).sum();
        assert!(slept <= (asleep + flushed + waited) * found.us * (1.0 + 1e-9), "{slept} {found:?}");
        let whole = 1e6 * clients as f64 / tps;
        assert!((found.us / whole - 1.0).abs() < 1e-9, "{found:?}");
        let sum: f64 = found.parts.values().sum();
        assert!((sum / whole - 1.0).abs() < 1e-9, "{sum} {whole} {found:?}");
        let mut named = found.parts.iter().filter(|(part, _)| **part != Part::NotExplained);
        assert!(named.all(|(_, us)| *us >= 0.0), "{found:?}");
        // Waits for a CPU are removed first, before the unexplained part may be negative.
        let waits = found.part(&Part::ClientWaited) + found.part(&Part::ServerWaited);
        assert!(found.part(&Part::NotExplained) >= -1e-6 * whole || waits <= 1e-6 * whole, "{found:?}");
    }
}

/// PostgreSQL's `pg_sleep` sleeps in `epoll_wait`; its wait event lasts until the process has a CPU again.
#[test]
fn a_sleep_that_only_the_server_names_is_a_pause_or_what_a_statement_asks_for() {
    let mut record = trial(0, 0, "threads=1", 1000.0, false);
    record.samples[0].threads = vec![thread(ThreadClass::Client, 0.1, 0.1, 0.0)];
    for (kind, us) in [(WaitKind::Pause, [300.0, 0.0, 120.0]), (WaitKind::Sleep, [20.0, 300.0, 100.0])] {
        let mut captures = captures(0.0, &[("Timeout/PgSleep", 0.35)]);
        captures.locks.as_mut().unwrap().waits[0].kind = kind;
        captures.waits = Some(waits(&[(TimeUse::WakeUp, 0.4), (TimeUse::Pause, 0.02), (TimeUse::WaitedForCpu, 0.05)]));
        let found = TrialTime::of(&record, Some(&captures)).unwrap();
        let parts = [Part::Pause, Part::StatementSleep, Part::Asleep];
        assert_eq!(parts.map(|part| found.part(&part).round()), us, "{found:?}");
    }
}

/// Files are named by what threads were seen in; where that is not known, by what the server counts.
#[test]
fn temporary_files_are_told_from_the_others() {
    let mut record = trial(0, 0, "threads=1", 1000.0, false);
    record.samples[0].threads = vec![thread(ThreadClass::Client, 0.1, 0.1, 0.0)];
    for (name, us) in [
        (Some("pgsql_tmp77.0"), [200.0, 100.0]),
        (Some("#sql-temptable-1-2.MAD"), [200.0, 100.0]),
        (Some("#4711"), [200.0, 100.0]),
        (Some("#ib_redo8"), [50.0, 250.0]),
        (None, [50.0, 250.0]),
    ] {
        let mut captures = captures(0.0, &[("IO/BufFileRead", 0.05)]);
        captures.locks.as_mut().unwrap().waits[0].kind = WaitKind::TemporaryFile;
        let mut seen = waits(&[(TimeUse::Read, 0.2), (TimeUse::Write, 0.1)]);
        seen.connections.parts[0].on = name.map(str::to_owned);
        captures.waits = Some(seen);
        let found = TrialTime::of(&record, Some(&captures)).unwrap();
        let parts = [Part::TemporaryFiles, Part::Io].map(|part| found.part(&part).round());
        assert_eq!(parts, us, "{name:?} {found:?}");
        captures.waits = None;
        let found = TrialTime::of(&record, Some(&captures)).unwrap();
        assert_eq!(found.part(&Part::TemporaryFiles).round(), 50.0, "{found:?}");
    }
}

/// 100 waits with a counted total of 100 ms took 144 ms: each was truncated to whole milliseconds.
#[test]
fn truncation_of_row_lock_waits_to_milliseconds_is_corrected() {
    let mut record = trial(0, 0, "threads=1", 1000.0, false);
    record.samples[0].threads = vec![thread(ThreadClass::Client, 0.1, 0.1, 0.0)];
    let mut counted = captures(100.0, &[]);
    counted.status.as_mut().unwrap().differences.insert("Innodb_row_lock_waits".to_owned(), 100.0);
    for (version, us) in [
        ("9.7.4", 100.0),
        ("10.5.9-MariaDB", 100.0),
        ("11.4.2-MariaDB", 100.0 / 2f64.ln()),
        ("10.11.6-MariaDB-0", 100.0 / 2f64.ln()),
    ] {
        record.server_version = Some(version.to_owned());
        let found = TrialTime::of(&record, Some(&counted)).unwrap();
        assert!((found.part(&Part::RowLock) - us).abs() < 1e-9, "{found:?}");
    }
    // Short waits that were all truncated to 0 are not corrected.
    counted.status.as_mut().unwrap().differences.remove("Innodb_row_lock_time");
    assert!(TrialTime::of(&record, Some(&counted)).unwrap().part(&Part::RowLock).abs() < 1e-9);
}

/// Six blocks of A and B, B with this many more microseconds of server time and of row-lock time per transaction (of
/// 1000).
pub fn two_sides(server_us: f64, row_lock_us: f64) -> tare_results::Results {
    of_two_sides(6, |block, side, name| {
        let (server_us, row_lock_us) = (side as f64 * server_us, side as f64 * row_lock_us);
        let of_block = 0.01 * ((block * 7 % 5) as f64 - 2.0);
        let luck = of_block + 0.004 * ((block * 3 + side * 5) % 7) as f64 - 0.012;
        let us = 1000.0 * (1.0 + luck) + server_us + row_lock_us;
        let mut record = trial(2 * block + side, block, name, 1e6 / us, false);
        let seconds = |us_of_one: f64| us_of_one / us;
        record.samples[0].threads = vec![
            thread(ThreadClass::Client, seconds(100.0 * (1.0 + luck)), seconds(100.0), 0.0),
            thread(ThreadClass::Connection, seconds(300.0 + server_us), seconds(200.0), 0.0),
        ];
        (record, captures(1000.0 * seconds(row_lock_us), &[]))
    })
}

#[test]
fn the_part_that_was_made_larger_is_named_and_nothing_else() {
    let more_work = two_sides(200.0, 0.0);
    let found = differ(&more_work);
    assert!(found.difference.shown && found.paired, "{found:#?}");
    let shown: Vec<&Part> = found.parts.iter().filter(|part| part.shown).map(|part| &part.part).collect();
    assert_eq!(shown, [&Part::ServerUser], "{found:#?}");
    let part = found.parts.iter().find(|part| part.part == Part::ServerUser).unwrap();
    assert!((part.us - 200.0).abs() < 20.0, "{part:?}");
    assert!(part.share.is_some_and(|share| (share - 1.0).abs() < 0.2), "{part:?}");
    assert!(found.causes[0].share.is_some_and(|share| (share - 1.0).abs() < 0.2), "{:?}", found.causes);
    assert_eq!((&found.causes[0].suspect, found.causes[0].shown), (&Suspect::ServerWork, true));
    let sum: f64 = found.parts.iter().map(|part| part.us).sum::<f64>() + found.not_explained.us;
    assert!((sum - found.difference.us).abs() < 1e-6, "{sum}");

    let mut hot_row = two_sides(0.0, 300.0);
    hot_row.trials[1].outcome = Outcome::Failed;
    let found = differ(&hot_row);
    assert_eq!((found.lost, found.sides[1].trials), ([0, 1], 5), "a trial of B has no result");
    assert_eq!((&found.causes[0].suspect, found.causes[0].shown), (&Suspect::RowLock, true), "{found:#?}");
    assert!((found.causes[0].us - 300.0).abs() < 30.0, "{found:#?}");
    assert!(found.causes[0].prove.arguments.iter().any(|word| word.contains("rows=100000")), "{found:#?}");
}

#[test]
fn of_two_runs_it_is_known_in_what_their_machines_and_loads_differ() {
    let [mut one, mut other] = [two_sides(0.0, 0.0), two_sides(0.0, 0.0)];
    one.environment = Some(environment("node:1 core:2 pu:1"));
    other.environment = Some(Environment { cpu_model: "Xeon".to_owned(), ..environment("node:1 core:2 pu:1") });
    one.study_toml = Some("[workload]\nthreads = 4\n[sampling]\ntrials = 3\n".to_owned().into());
    other.study_toml = Some("[workload]\nthreads = 8\n[sampling]\ntrials = 5\n".to_owned().into());
    let side = |results| Side { results, condition: Some("side=a") };
    let apart = why(side(&one), side(&other)).unwrap().made_apart;
    let load = What::Study("workload.threads".to_owned());
    assert_eq!(apart.iter().map(|one| &one.what).collect::<Vec<_>>(), [&What::Machine("CPU".into()), &load]);
    assert!(differ(&one).made_apart.is_empty());
    // One program on one machine: nothing distinguishes the sides in one study.
    let joined_by = |programs: [&str; 2]| {
        let [a, b] = programs.map(|program| {
            let mut results = two_sides(0.0, 0.0);
            for record in &mut results.trials {
                (record.server_version, record.server_program) = (Some("1".to_owned()), Some(program.to_owned()));
            }
            results
        });
        let [a, b] = [&a, &b].map(|results| Side { results, condition: Some("side=a") });
        why(a, b).unwrap().joined_by
    };
    assert_eq!([["p", "p"], ["p", "q"]].map(joined_by), [JoinedBy::Nothing, JoinedBy::Binary]);
}

/// The trials of each run become faster by 1% one after the other, and the second run is 7% slower.
#[test]
fn a_drift_within_two_runs_is_no_difference_between_them() {
    let [one, other] = [1.0, 0.93].map(|level| {
        let mut run = two_sides(0.0, 0.0);
        for record in &mut run.trials {
            let tps = record.samples[0].metrics.get_mut("tps").unwrap();
            *tps *= level * (1.0 + 0.01 * record.trial as f64);
        }
        run
    });
    let side = |results| Side { results, condition: Some("side=a") };
    let found = why(side(&one), side(&other)).unwrap();
    assert!((50.0..100.0).contains(&found.difference.us) && !found.difference.shown, "{:#?}", found.difference);
    let verdict = compare(side(&one), side(&other), &Options::default()).unwrap().metrics[0].verdict;
    assert_eq!(verdict, Verdict::Inconclusive);
}

/// Of each transaction of A and of B, 150 us are waits for row locks and 50 us waits for another lock.
#[test]
fn what_only_some_trials_recorded_is_no_difference() {
    let mut results = two_sides(0.0, 0.0);
    for record in &results.trials {
        let seen = captures(150.0, &[("a/lock", 0.05)]);
        results.captures.insert((record.trial, 1), seen);
    }
    let of_a: Vec<usize> = results.trials.iter().filter(|r| r.condition == "side=a").map(|r| r.trial).collect();
    let us = |results: &tare_results::Results, parts: &[Part]| {
        let found = differ(results);
        assert!(found.parts.iter().chain([&found.not_explained]).all(|part| !part.shown), "{found:#?}");
        let times = found.sides.map(|side| {
            let all = side.parts.iter().chain([&side.not_explained]);
            all.filter(|part| parts.contains(&part.part)).map(|part| part.us).sum::<f64>()
        });
        times.map(|us| (us / 10.0).round() * 10.0)
    };
    let locks = [Part::RowLock, Part::Lock("a/lock".into())];
    assert_eq!(us(&results, &locks), [200.0; 2]);
    for trial in &of_a {
        results.captures.insert((*trial, 1), Captures::default());
    }
    assert_eq!([us(&results, &locks), us(&results, &[Part::NotExplained])], [[0.0; 2], [300.0; 2]]);
    // The sleeps of both are recorded: waits for locks are among them.
    for seen in results.captures.values_mut() {
        seen.waits = Some(waits(&[(TimeUse::OwnFutex, 0.25)]));
    }
    assert_eq!([us(&results, &locks), us(&results, &[Part::Asleep])], [[0.0; 2], [250.0; 2]]);
    // Those of A alone.
    for (trial, _) in results.captures.keys().copied().collect::<Vec<_>>() {
        if !of_a.contains(&trial) {
            results.captures.insert((trial, 1), Captures::default());
        }
    }
    assert_eq!([us(&results, &[Part::Asleep]), us(&results, &[Part::NotExplained])], [[0.0; 2], [300.0; 2]]);
}

/// B takes 60 us more of server time, and other programs took 300 us of each transaction of A and 100 us of each of B:
/// the whole is shorter, and the cause is still named.
#[test]
fn cpu_time_of_other_programs_neither_becomes_nor_hides_a_cause() {
    let mut results = two_sides(60.0, 0.0);
    for record in &mut results.trials {
        let b = record.condition == "side=b";
        let strangers_us = (if b { 100.0 } else { 300.0 }) * (1.0 + 0.2 * (record.block % 3) as f64);
        let sample = &mut record.samples[0];
        let us = 1e6 / sample.metrics["tps"];
        let slower = us / (us + strangers_us);
        sample.metrics.insert("tps".to_owned(), 1e6 / (us + strangers_us));
        for thread in &mut sample.threads {
            thread.user_s *= slower;
            thread.system_s *= slower;
            let schedule = thread.schedule.as_mut().unwrap();
            schedule.ran_s *= slower;
            schedule.waited_s = 0.5 * strangers_us / (us + strangers_us);
        }
        // So much that nearly all waits are due to other programs.
        sample.covariates.insert("foreign_cpu_s".to_owned(), 200.0);
    }
    let found = differ(&results);
    assert!(found.difference.us < 0.0, "{found:#?}");
    let own = found.undisturbed.unwrap();
    assert!(own.shown && (own.us - 60.0).abs() < 20.0, "{own:?}");
    assert_eq!((&found.causes[0].suspect, found.causes[0].shown), (&Suspect::ServerWork, true), "{:#?}", found.causes);
    assert!((found.causes[0].us - 60.0).abs() < 20.0, "{:#?}", found.causes);
}

#[test]
fn nothing_is_named_where_nothing_differs() {
    let same = two_sides(0.0, 0.0);
    let found = differ(&same);
    assert!(!found.difference.shown && found.causes.iter().all(|cause| !cause.shown), "{found:#?}");
    assert!(found.parts.iter().all(|part| !part.shown), "{found:#?}");
    // There is no share of a difference that is not shown.
    assert!(found.parts.iter().chain([&found.not_explained]).all(|part| part.share.is_none()), "{found:#?}");
    assert!(!found.causes.is_empty() && found.causes.iter().all(|cause| cause.share.is_none()), "{found:#?}");
    assert!(found.difference.smallest_us.is_some_and(|us| us > 0.0 && us < 100.0), "{:?}", found.difference);
}
