//! Functions that connections sleep in, by caller: a chain that takes longer is found, and none is found if nothing
//! differs.

use crate::draws::Draws;
use crate::made_up::{differ, of_two_sides, trial, worked};
use crate::time::{captures as counted, waits};
use tare_findings::time::{Part, TrialTime};
use tare_findings::why::Suspect;
use tare_results::Results;
use tare_results::captures::Captures;
use tare_results::schema::{SCHEMA, ThreadClass, ThreadRecord};
use tare_results::waits::{CallerShare, StackSamples, TimeUse, WaitsFile, WakesFile};

const BLOCKS: usize = 8;
/// Number of chains of sleeps that are equal in A and B, and their total time, microseconds per transaction.
const CHAINS: usize = 20;
const ALIKE_US: f64 = 400.0;
/// Deeper than the part that identifies a chain: threads with different start functions sleep in the same chain.
const PLANTED: &str = "serve;statement;step;planted_mutex;pthread_mutex_lock;__lll_lock_wait";

/// Trials with a transaction time of 1000 us ± 4%, of which 400 us are asleep in chains, ± 5% each; in B, `more_us`
/// longer in one chain that threads of two kinds have.
fn made(seed: u64, more_us: f64) -> Results {
    let mut draws = Draws::new(seed);
    of_two_sides(BLOCKS, |block, side, name| {
        let us = 1000.0 * (1.0 + 0.04 * draws.normal()) + side as f64 * more_us;
        let mut record = trial(2 * block + side, block, name, 1e6 / us, false);
        record.samples[0].threads = vec![worked(ThreadClass::Client, 100.0 / us)];
        let mut callers: Vec<CallerShare> = (0..CHAINS)
            .map(|number| {
                let us = ALIKE_US / CHAINS as f64 * (1.0 + 0.05 * draws.normal());
                CallerShare { chain: format!("serve;wait_{number};poll"), fraction: us }
            })
            .collect();
        callers.extend(["main", "clone;start_thread"].map(|beginning| CallerShare {
            chain: format!("{beginning};{PLANTED}"),
            fraction: (10.0 + side as f64 * more_us) / 2.0 * (1.0 + 0.05 * draws.normal()),
        }));
        callers.iter_mut().for_each(|one| one.fraction /= us);
        let wakes = WakesFile {
            schema: SCHEMA,
            elapsed_s: 1.0,
            threads: 1,
            events: 1000,
            cut: false,
            slept_fraction: callers.iter().map(|one| one.fraction).sum(),
            woken_by: Vec::new(),
            charged: Vec::new(),
            callers,
        };
        (record, Captures { wakes: Some(wakes), ..Captures::default() })
    })
}

#[test]
fn a_chain_that_is_slept_in_longer_is_named_whatever_its_threads_began_in() {
    let found = differ(&made(3001, 5.0));
    let planted = &found.sleeps.shown[0];
    assert_eq!((planted.name.as_str(), found.sleeps.tested), (PLANTED, CHAINS + 1));
    assert!((planted.a_us - 10.0).abs() < 1.0 && (planted.us - 5.0).abs() < 1.0, "{planted:?}");
    // A trial without chains: the other trials are not compared either.
    let mut results = made(3001, 5.0);
    results.captures.values_mut().take(1).for_each(|captures| captures.wakes = None);
    results.trials[0].captures_missing.insert("wakes".to_owned(), "perf is not installed".to_owned());
    let found = differ(&results);
    assert_eq!((found.sleeps.tested, found.missing["wakes"].as_str()), (0, "perf is not installed"));
}

/// The two sources see different functions, so their names would appear as the difference.
#[test]
fn chains_of_stacks_are_compared_with_each_other_and_not_with_those_of_tracepoints() {
    let mut results = made(3001, 5.0);
    let of_stacks = |captures: &mut Captures| {
        let callers = captures.wakes.take().map(|wakes| wakes.callers).unwrap_or_default();
        let stacks = Some(StackSamples { read: 100, whole: 100, callers });
        captures.waits = Some(WaitsFile { stacks, ..waits(&[(TimeUse::OwnFutex, 1.0)]) });
    };
    results.captures.values_mut().take(1).for_each(of_stacks);
    assert_eq!(differ(&results).sleeps.tested, 0);
    results.captures.values_mut().for_each(|captures| {
        if captures.waits.is_none() {
            of_stacks(captures);
        }
    });
    let found = differ(&results);
    assert_eq!((found.sleeps.shown[0].name.as_str(), found.sleeps.tested), (PLANTED, CHAINS + 1));
}

/// B's connections wait 300 us longer for a lock that the server does not count, of a page, a table or a user, and are
/// woken more often; a page read from a file is not a lock wait.
#[test]
fn waits_for_locks_without_an_instrument_are_named_by_the_functions_that_take_them() {
    let taken = |page: &str, lock: &str| format!("main;row_ins_step;{page};{lock};futex_wait");
    let [page, none] = ["page_lock innodb/buffer_pool_page", "unnamed_waits unnamed_waits"];
    for (page, lock, expected) in [
        ("buf_page_get_gen(page_id_t)", "rw_lock_x_lock_func(rw_lock_t*)", page),
        ("buf_page_get_low;mtr_t::page_lock(buf_block_t*)", "ssux_lock_impl<true>::wr_wait(unsigned int)", page),
        ("buf_page_get_gen(page_id_t)", "os_file_read(int)", none),
        ("btr_cur_search_to_nth_level(dict_index_t*)", "rw_lock_x_lock_func(rw_lock_t*)", none),
        ("mysql_lock_tables(THD*)", "thr_multi_lock;pthread_cond_timedwait", "table_lock sql/table_lock"),
        ("open_table(THD*)", "MDL_context::acquire_lock(MDL_request*)", "table_lock sql/metadata_lock"),
        ("Item_func_get_lock::val_int()", "MDL_context::acquire_lock(MDL_request*)", "global_lock sql/user_lock"),
    ] {
        let named = expected != none;
        let mut draws = Draws::new(3301);
        let results = of_two_sides(BLOCKS, |block, side, name| {
            let us = 1000.0 * (1.0 + 0.01 * draws.normal()) + 300.0 * side as f64;
            let mut record = trial(2 * block + side, block, name, 1e6 / us, false);
            let woken = if named { 4.0 * side as f64 } else { 0.0 };
            let client = worked(ThreadClass::Client, 100.0 / us);
            let switches = ((1.0 + woken) * 1e6 / us) as u64;
            let woken_s = (20.0 + 5.0 * woken) / us;
            record.samples[0].threads =
                vec![ThreadRecord { system_s: woken_s, voluntary_switches: switches, ..client }];
            let slept = (20.0 + 300.0 * side as f64) * (1.0 + 0.01 * draws.normal()) / us;
            let callers = vec![CallerShare { chain: taken(page, lock), fraction: slept }];
            let stacks = Some(StackSamples { read: 100, whole: 100, callers });
            let waits = WaitsFile { stacks, ..waits(&[(TimeUse::SharedFutex, slept), (TimeUse::Client, 600.0 / us)]) };
            (record, Captures { waits: Some(waits), ..Captures::default() })
        });
        let first = &differ(&results).causes[0];
        let found = format!("{} {}", first.suspect.kind(), first.suspect.name());
        assert_eq!((found.as_str(), first.shown), (expected, true), "{page} {lock}: {first:#?}");
        assert!((first.us - 300.0).abs() < 20.0, "{first:#?}");
    }
}

/// B's statements call `SLEEP()` of MariaDB or MySQL, or `pg_sleep`, 300 us longer.
#[test]
fn a_sleep_below_the_function_that_a_statement_calls_is_what_it_asks_for() {
    for (inner, named) in [
        ("Item_func_sleep::val_int();[mariadbd];pthread_cond_timedwait", true),
        ("pg_sleep;WaitLatch;epoll_wait", true),
        ("Item_func_plus::val_int();[mariadbd];pthread_cond_timedwait", false),
    ] {
        let results = of_two_sides(BLOCKS, |block, side, name| {
            let us = 1000.0 + 300.0 * side as f64 + ((2 * block + side) * 7 % 5) as f64;
            let mut record = trial(2 * block + side, block, name, 1e6 / us, false);
            record.samples[0].threads = vec![worked(ThreadClass::Client, 100.0 / us)];
            let slept = (20.0 + 300.0 * side as f64) / us;
            let callers = vec![CallerShare { chain: format!("main;{inner}"), fraction: slept }];
            let stacks = Some(StackSamples { read: 100, whole: 100, callers });
            let waits = WaitsFile { stacks, ..waits(&[(TimeUse::OwnFutex, slept), (TimeUse::Client, 600.0 / us)]) };
            (record, Captures { waits: Some(waits), ..Captures::default() })
        });
        let found = differ(&results);
        let first = &found.causes[0];
        let expected = if named { Suspect::StatementSleep } else { Suspect::Unnamed };
        assert_eq!((&first.suspect, first.shown), (&expected, true), "{inner}: {first:#?}");
        let part = found.parts.iter().find(|change| change.part == Part::StatementSleep);
        assert_eq!(part.is_some_and(|part| (part.us - 300.0).abs() < 10.0), named, "{inner}: {:#?}", found.parts);
        // Nothing that tare can change.
        assert!(!named || first.prove.same, "{first:#?}");
    }
}

/// Of 300 us on futexes 200 are below this chain; 100 more are in flushes of the connection itself.
#[test]
fn a_commit_that_sleeps_until_another_has_flushed_waits_for_the_log() {
    let mut record = trial(0, 0, "threads=1", 1000.0, false);
    record.samples[0].threads = vec![worked(ThreadClass::Client, 0.1)];
    for (inner, for_the_log) in [
        // Without symbols only exported functions have names.
        ("ha_commit_one_phase;[mariadbd];[mariadbd];syscall", true),
        ("Protocol::net_send_ok;net_flush;net_real_write;pthread_cond_wait;__futex_abstimed_wait_common", true),
        ("trx_flush_log_if_needed;log_write_up_to;group_commit_lock::acquire;syscall", true),
        ("log_write_up_to;[mysqld];os_event_wait_low;pthread_cond_wait;[libc.so.6];[libc.so.6]", true),
        ("XLogFlush;LWLockAcquireOrWait;PGSemaphoreLock;sem_wait;[libc.so.6]", true),
        ("ha_commit_trans;ha_commit_one_phase;[mariadbd];fdatasync", false),
        ("log_write_up_to;[mysqld];os_file_flush_func;[mysqld];fdatasync;[libc.so.6];[libc.so.6]", false),
        ("ha_commit_trans;Query_cache::invalidate;[mariadbd];pthread_cond_timedwait", false),
        ("ha_commit_one_phase;trx_t::commit_in_memory;srw_lock_impl::rd_wait;syscall", false),
        ("handler::ha_update_row;[mariadbd];pthread_cond_wait", false),
    ] {
        let callers = vec![CallerShare { chain: format!("start_thread;{inner}"), fraction: 0.2 }];
        let seen = waits(&[(TimeUse::OwnFutex, 0.3), (TimeUse::Flush, 0.1), (TimeUse::Client, 0.4)]);
        let waits = WaitsFile { stacks: Some(StackSamples { read: 100, whole: 100, callers }), ..seen };
        let captures = Captures { waits: Some(waits), ..Captures::default() };
        let found = TrialTime::of(&record, Some(&captures)).unwrap();
        let us = [Part::Flush, Part::Asleep].map(|part| found.part(&part).round());
        assert_eq!(us, if for_the_log { [300.0, 100.0] } else { [100.0, 300.0] }, "{inner}");
        // A server that counts more row-lock time than there are other sleeps does not take it from the commits.
        let found = TrialTime::of(&record, Some(&Captures { status: counted(600.0, &[]).status, ..captures })).unwrap();
        let us = [Part::Flush, Part::RowLock, Part::Asleep].map(|part| found.part(&part).round());
        assert_eq!(us, if for_the_log { [300.0, 100.0, 0.0] } else { [100.0, 300.0, 0.0] }, "{inner}");
    }
}

/// Seeds 3100 to 3199, without differences. In 5% of studies any chain may be named.
#[test]
fn of_chains_that_are_alike_none_is_named_but_in_one_study_of_twenty() {
    let named = (3100..3200).filter(|seed| !differ(&made(*seed, 0.0)).sleeps.shown.is_empty()).count();
    assert!(named <= 11, "{named} of 100: more than 11 have a chance of 1% at 5%");
}
