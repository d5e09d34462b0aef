//! Parts of a transaction's time and suspects, in cases where a simple count would be wrong.

use crate::made_up::{differ, of_two_sides, trial};
use crate::suspects::{found, plan};
use crate::time::{captures, thread, two_sides, waits};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tare_findings::captures::Unnamed;
use tare_findings::summarize;
use tare_findings::time::{Part, TrialTime};
use tare_findings::why::Suspect;
use tare_results::captures::{Captures, LockShare, WaitKind};
use tare_results::schema::{CaptureSample, Outcome, PlannedCondition, ThreadClass, TrialRecord};
use tare_results::waits::{CallerShare, FutexOperation, StackSamples, TimePart, TimeUse};

fn planned(settings: &Value) -> PlannedCondition {
    let planned = json!({"name": "all", "levels": {}, "realizable": true, "reason": null, "placement": null,
                         "settings": settings});
    serde_json::from_value(planned).unwrap()
}

/// Sysbench has a main thread and others without a connection; one thread of pgbench may serve eight connections.
#[test]
fn the_clients_of_a_program_are_its_connections_and_not_its_threads() {
    let with = |clients: usize, paired: bool| {
        let mut record = trial(0, 0, "all", 1000.0, false);
        record.server_version = Some("15.1".to_owned());
        let threads = &mut record.samples[0].threads;
        for number in 0..clients {
            let mut client = thread(ThreadClass::Client, 0.1, 0.0, 0.0);
            client.pair = (paired && number == 0).then_some(0);
            threads.push(client);
        }
        threads.push(thread(ThreadClass::Connection, 0.4, 0.0, 0.0));
        record
    };
    let us = |record: &TrialRecord, planned: Option<&PlannedCondition>| {
        let time = TrialTime::of_planned(record, None, planned).unwrap();
        assert!((time.us - 1000.0 * time.clients as f64).abs() < 1e-6, "{time:?}");
        time.clients
    };
    let threads = |threads: u32| planned(&json!({"workload.name": "sysbench", "workload.threads": threads}));
    assert_eq!(us(&with(3, true), Some(&threads(1))), 1);
    assert_eq!(us(&with(1, false), Some(&threads(8))), 8);
    // Without a plan, threads without a connection do not count if others have one.
    assert_eq!([us(&with(3, true), None), us(&with(3, false), None)], [1, 3]);
    // A program without a server: its threads are what is observed.
    let mut alone = with(3, false);
    alone.server_version = None;
    alone.samples[0].threads.pop();
    assert_eq!(us(&alone, Some(&threads(1))), 3);
    // And in a comparison, with the plan of the results.
    let mut both = two_sides(20.0, 0.0);
    for record in &mut both.trials {
        record.samples[0].threads.push(thread(ThreadClass::Client, 0.0, 0.0, 0.0));
    }
    plan(&mut both, &json!({"workload.name": "sysbench", "workload.threads": 1}));
    assert!(
        differ(&both).sides.iter().all(|side| side.clients == 1 && (900.0..1100.0).contains(&side.us_per_transaction))
    );
}

fn futex(on: &str, caller: Option<&str>, operation: FutexOperation, fraction: f64) -> TimePart {
    TimePart {
        time: TimeUse::SharedFutex,
        on: Some(on.to_owned()),
        operation: Some(operation),
        caller: caller.map(str::to_owned),
        addresses: 1,
        threads: 8,
        fraction,
    }
}

#[test]
fn a_shared_futex_with_a_name_is_a_lock_unless_the_server_names_it() {
    use FutexOperation::{Wait, WaitBitset};
    let mut record = trial(0, 0, "all", 1000.0, false);
    record.samples[0].threads = vec![thread(ThreadClass::Client, 0.1, 0.0, 0.0)];
    let mut seen = waits(&[(TimeUse::OwnFutex, 0.1)]);
    seen.connections.parts.extend([
        futex("dict_sys+0x40", None, Wait, 0.3),
        futex("dict_sys+0x40", None, WaitBitset, 0.1),
        futex("heap", Some("row_lock"), Wait, 0.2),
        // Neither has a name that says what is waited for.
        futex("heap", Some("[mariadbd]"), Wait, 0.01),
        futex("[mariadbd]", Some("do_command"), WaitBitset, 0.02),
    ]);
    let mut captured = Captures { waits: Some(seen), ..Captures::default() };
    let time = TrialTime::of(&record, Some(&captured)).unwrap();
    let of = |time: &TrialTime<'_>, name: &str| time.part(&Part::Futex(name.to_owned())).round();
    assert_eq!([of(&time, "dict_sys+0x40"), of(&time, "row_lock (caller)")], [400.0, 200.0], "{time:?}");
    assert_eq!(time.part(&Part::Asleep).round(), 130.0, "{time:?}");
    // The server counts the same waits.
    captured.locks = captures(0.0, &[("wait/synch/mutex/innodb/dict_sys_mutex", 0.6)]).locks;
    let time = TrialTime::of(&record, Some(&captured)).unwrap();
    let lock = Part::Lock("wait/synch/mutex/innodb/dict_sys_mutex".to_owned());
    assert_eq!([of(&time, "dict_sys+0x40"), of(&time, "row_lock (caller)")], [0.0, 0.0], "{time:?}");
    assert_eq!([time.part(&lock).round(), time.part(&Part::Asleep).round()], [600.0, 130.0], "{time:?}");
}

/// Locks of the Rust library sleep like condition variables; the chains tell them apart.
#[test]
fn a_futex_below_a_function_that_locks_a_mutex_is_a_lock() {
    let mut record = trial(0, 0, "all", 1000.0, false);
    record.samples[0].threads = vec![thread(ThreadClass::Client, 0.1, 0.0, 0.0)];
    let mut seen = waits(&[(TimeUse::Client, 0.1)]);
    let of = |caller, fraction| futex("heap", Some(caller), FutexOperation::WaitBitset, fraction);
    seen.connections.parts.extend([of("planted", 0.5), of("queue", 0.3)]);
    let chains = ["main;planted;std::sys::sync::mutex::futex::Mutex::lock_contended;syscall", "main;queue;syscall"];
    let callers = chains.map(|chain| CallerShare { chain: chain.to_owned(), fraction: 0.4 }).to_vec();
    seen.stacks = Some(StackSamples { read: 9, whole: 9, callers });
    let captured = Captures { waits: Some(seen), ..Captures::default() };
    let time = TrialTime::of(&record, Some(&captured)).unwrap();
    let lock = Part::Futex("planted (caller)".to_owned());
    assert_eq!([time.part(&lock).round(), time.part(&Part::Asleep).round()], [500.0, 300.0], "{time:?}");
}

/// Of two equal sides, only A recorded what the server reports.
#[test]
fn a_lock_that_only_one_side_names_is_no_difference() {
    let mut both = two_sides(0.0, 0.0);
    for record in &both.trials {
        let mut seen = waits(&[(TimeUse::Client, 0.2)]);
        seen.connections.parts.push(futex("dict_sys+0x40", None, FutexOperation::Wait, 0.4));
        let locks = captures(0.0, &[("dict_sys_mutex", 0.4)]).locks.filter(|_| record.condition == "side=a");
        both.captures.insert((record.trial, 1), Captures { waits: Some(seen), locks, ..Captures::default() });
    }
    let found = differ(&both);
    assert!(!found.parts.iter().any(|change| change.part.is_lock()), "{:#?}", found.parts);
    let asleep = found.parts.iter().find(|change| change.part == Part::Asleep).unwrap();
    assert!(!asleep.shown && asleep.a_us > 0.0, "{asleep:?}");
}

/// B waits 300 us longer for a lock that the server does not report.
#[test]
fn a_lock_that_only_its_futex_names_is_the_first_suspect() {
    let mut both = two_sides(0.0, 300.0);
    for record in &both.trials {
        let us = 1e6 / record.samples[0].metrics["tps"];
        let fraction = if record.condition == "side=b" { 300.0 / us } else { 1.0 / us };
        let mut seen = waits(&[(TimeUse::Client, 0.2)]);
        seen.connections.parts.push(futex("dict_sys+0x40", None, FutexOperation::Wait, fraction));
        both.captures.insert((record.trial, 1), Captures { waits: Some(seen), ..Captures::default() });
    }
    let causes = found(&both);
    assert_eq!((&causes[0].suspect, causes[0].shown), (&Suspect::GlobalLock("dict_sys+0x40".to_owned()), true));
    assert!((causes[0].us - 300.0).abs() < 30.0, "{causes:#?}");
}

/// A leader that waits for its parallel workers waits for no lock.
#[test]
fn a_wait_for_another_process_is_a_sleep_and_no_lock() {
    let mut record = trial(0, 0, "all", 1000.0, false);
    record.samples[0].threads = vec![thread(ThreadClass::Client, 0.1, 0.0, 0.0)];
    let mut captured = captures(0.0, &[("IPC/ExecuteGather", 0.4)]);
    captured.status = None;
    let waits: &mut Vec<LockShare> = &mut captured.locks.as_mut().unwrap().waits;
    waits[0].kind = WaitKind::Process;
    let time = TrialTime::of(&record, Some(&captured)).unwrap();
    assert_eq!(time.part(&Part::Asleep).round(), 400.0, "{time:?}");
    assert!(!time.parts.keys().any(Part::is_lock), "{time:?}");
}

/// Of a profile by an ordinary user, 30% are kernel functions whose names are hidden.
#[test]
fn hidden_names_of_the_kernel_are_no_missing_symbols_of_the_server() {
    let unnamed = |symbols: &[(&str, f64)]| {
        let mut both = of_two_sides(2, |block, side, name| {
            let mut record = trial(2 * block + side, block, name, 1000.0, false);
            let profile = crate::made_up::profile(&mut record, 1.0, symbols);
            (record, Captures { profile: Some(profile), ..Captures::default() })
        });
        both.study_toml = None;
        summarize(&both).captures.remove(0).unnamed
    };
    let of = |object: &str, kernel, fraction| Some(Unnamed { object: object.to_owned(), kernel, fraction });
    assert_eq!(unnamed(&[("[unknown]_[k]", 0.25), ("main", 0.75)]), of("kernel", true, 0.25));
    assert_eq!(
        unnamed(&[("[mariadbd]", 0.25), ("[unknown]_[k]", 0.125), ("main", 0.625)]),
        of("mariadbd", false, 0.25)
    );
    assert_eq!(unnamed(&[("[unknown]_[k]", 0.125), ("[mariadbd]", 0.125), ("main", 0.75)]), None);
}

/// B flushes the log in every transaction, 200 us, and is reached through a proxy, 3 ms. Both sides of PostgreSQL.
#[test]
fn a_slow_way_to_the_server_is_named_although_there_are_more_log_writes() {
    let made = |version: &'static str, counter: &'static str| {
        of_two_sides(6, |block, side, name| {
            let far = side as f64;
            let us = 400.0 + ((2 * block + side) * 7 % 5) as f64 + 3200.0 * far;
            let mut record = trial(2 * block + side, block, name, 1e6 / us, false);
            record.server_version = Some(version.to_owned());
            let mut server = thread(ThreadClass::Connection, 100.0 / us, 50.0 / us, 0.0);
            server.voluntary_switches = ((1.0 + far) * 1e6 / us) as u64;
            record.samples[0].threads = vec![thread(ThreadClass::Client, 100.0 / us, 20.0 / us, 0.0), server];
            record.capture_sample =
                Some(CaptureSample { tps: 1e6 / us, tps_ratio: 1.0, elapsed_s: 1.0, ..CaptureSample::default() });
            let mut seen = captures(0.0, &[]);
            let status = &mut seen.status.as_mut().unwrap().differences;
            *status = BTreeMap::from([("database.xact_commit".to_owned(), 1e6 / us)]);
            if side == 1 {
                status.insert(counter.to_owned(), 1e6 / us);
            }
            let client = (us - 150.0 - 200.0 * far) / us;
            seen.waits = Some(waits(&[(TimeUse::Flush, 200.0 * far / us), (TimeUse::Client, client)]));
            (record, seen)
        })
    };
    let causes = found(&made("15.18 (Debian)", "wal.wal_sync"));
    assert_eq!((&causes[0].suspect, causes[0].shown), (&Suspect::Network, true), "{causes:#?}");
    assert!((causes[0].us - 3000.0).abs() < 100.0, "{causes:#?}");
    let commit = causes.iter().find(|cause| cause.suspect == Suspect::Commit).unwrap();
    assert!(commit.shown && commit.counts.is_some() && (commit.us - 200.0).abs() < 20.0, "{causes:#?}");
    // PostgreSQL 18 counts the flushes in another view. Without it, none on one side may mean unknown.
    let mut newer = made("18.1", "io.wal_fsyncs");
    for captured in newer.captures.values_mut() {
        captured.status.as_mut().unwrap().differences.entry("io.wal_fsyncs".to_owned()).or_insert(0.0);
    }
    let counted =
        |both| found(&both).into_iter().any(|cause| cause.suspect == Suspect::Commit && cause.counts.is_some());
    assert!(counted(newer) && !counted(made("18.1", "io.wal_fsyncs")));
}

#[test]
fn means_of_both_sides_differ_by_their_difference_though_a_trial_failed() {
    let mut both = two_sides(200.0, 0.0);
    // The block in which B has no result was much slower.
    let tps = both.trials[4].samples[0].metrics.get_mut("tps").unwrap();
    *tps /= 2.0;
    both.trials[5].outcome = Outcome::Failed;
    let found = differ(&both);
    let [a, b] = found.sides.each_ref().map(|side| side.us_per_transaction);
    assert!((b - a - found.difference.us).abs() < 1e-6, "{a} {b} {:?}", found.difference);
    for part in &found.parts {
        assert!((part.b_us - part.a_us - part.us).abs() < 1e-6, "{part:?}");
    }
    assert_eq!(found.lost, [0, 1]);
}

/// The study varies the key that the experiment changes: a run with one level alone would compare nothing.
#[test]
fn an_experiment_with_a_factor_has_the_condition_as_it_is_and_changed() {
    let mut both = two_sides(20.0, 300.0);
    plan(&mut both, &json!({"workload.name": "update_index", "workload.rows": 2}));
    let plan = both.plan.as_mut().unwrap();
    plan.estimated_s = 600.0;
    for (number, planned) in plan.conditions.iter_mut().enumerate() {
        planned.levels.insert("rows".to_owned(), ["20000", "2"][number].to_owned());
    }
    let mut third = plan.conditions[0].clone();
    third.name = "side=c".to_owned();
    third.levels.insert("rows".to_owned(), "200".to_owned());
    plan.conditions.push(third);
    for record in &mut both.trials {
        let rows = if record.condition == "side=b" { "2" } else { "20000" };
        record.levels.insert("rows".to_owned(), rows.to_owned());
    }
    let causes = found(&both);
    let prove = &causes.iter().find(|cause| cause.suspect == Suspect::RowLock).unwrap().prove;
    assert_eq!(prove.arguments[1..], ["--set", "factors.rows=2,100000"].map(str::to_owned));
    assert_eq!(prove.estimated_s, Some(400), "two of three conditions");
}
