//! Tests of the workload of the study: totals, errors before allocation, hooks.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, too, fail by panicking")]

use std::sync::Mutex;
use std::time::Instant;
use tare_counters_study::strategies::Strategy;
use tare_counters_study::workload::{Config, Error, Hooks, MemoryScope, Mode, Outcome, Padding, memory_bytes, run};

fn small(strategy: Strategy) -> Config<'static> {
    Config { threads: 4, rounds: 40, data_blocks: 203, ..Config::article(strategy) }
}

/// Runs a strategy; fails with the error of a missing library where the strategy needs one.
fn outcome(config: &Config<'_>) -> Outcome {
    run(config).unwrap_or_else(|error| panic!("{}: {error}", config.strategy))
}

#[test]
fn every_exact_strategy_counts_every_increment_in_both_modes() {
    for strategy in Strategy::ALL.iter().copied().filter(|strategy| *strategy != Strategy::Fuzzy) {
        for mode in [Mode::Faithful, Mode::Corrected] {
            let found = outcome(&Config { mode, ..small(strategy) });
            assert_eq!(found.expected, 4 * 40 * 160);
            assert_eq!(found.counted, found.expected, "{strategy} {mode}");
            assert_eq!(found.local_expected, 4 * 40 * 96);
            assert_eq!(found.local_counted, found.local_expected, "{strategy} {mode}: blocks' own counters");
            assert!(found.elapsed_s > 0.0 && found.rounds_per_s > 0.0 && found.full_read_ns > 0.0, "{found:?}");
            assert_eq!(found.generator_share.is_some(), mode == Mode::Faithful);
        }
    }
}

#[test]
fn the_fuzzy_strategy_reports_its_loss_and_never_counts_too_much() {
    let found = outcome(&Config { rounds: 400, ..small(Strategy::Fuzzy) });
    assert!(found.counted <= found.expected && found.counted > 0, "{found:?}");
    let lost = (found.expected - found.counted) as f64 / found.expected as f64;
    assert!((found.loss() - lost).abs() < 1e-12);
}

#[test]
fn without_data_work_only_global_counters_are_incremented() {
    let found = outcome(&Config { data_work: false, data_blocks: 0, ..small(Strategy::CounterSet) });
    assert_eq!((found.counted, found.local_expected, found.local_counted), (4 * 40 * 160, 0, 0));
}

#[test]
fn bytes_per_counter_follow_from_the_design_of_each_strategy() {
    // In the faithful mode: 24 shards (and the empty slot of fuzzy) and 2 nodes, as in the original program.
    let expected = [
        (Strategy::PthreadMutex, 48.0),
        (Strategy::StdMutex, 16.0),
        (Strategy::Atomic, 8.0),
        (Strategy::Fuzzy, 1600.0),
        (Strategy::ShardIndex, 1536.0),
        (Strategy::ShardCpu, 1536.0),
        (Strategy::ShardNodeCached, 128.0),
    ];
    for (strategy, bytes) in expected {
        assert_eq!(outcome(&small(strategy)).bytes_per_counter, bytes, "{strategy}");
    }
    let set = tare_counters::CounterSet::new(1).unwrap();
    assert_eq!(outcome(&small(Strategy::CounterSet)).bytes_per_counter, set.bytes_per_counter() as f64);
}

#[test]
fn two_hundred_and_fifty_six_threads_on_few_cpus_finish_with_exact_totals() {
    for strategy in
        [Strategy::CounterSet, Strategy::Atomic, Strategy::StdMutex, Strategy::ThreadRow, Strategy::Adaptive]
    {
        let config = Config { threads: 256, rounds: 4, mode: Mode::Corrected, ..small(strategy) };
        let found = outcome(&config);
        assert_eq!((found.counted, found.local_counted), (256 * 4 * 160, 256 * 4 * 96), "{strategy}");
    }
    let found = outcome(&Config { threads: 256, rounds: 4, ..small(Strategy::PthreadMutex) });
    assert_eq!(found.counted, found.expected);
}

#[test]
fn each_thread_is_bound_once_before_it_works() {
    let bound = Mutex::new(Vec::new());
    let bind = |thread| bound.lock().unwrap().push(thread);
    outcome(&Config { hooks: Hooks { bind: &bind, ..Hooks::NONE }, ..small(Strategy::Atomic) });
    let mut threads = bound.into_inner().unwrap();
    threads.sort_unstable();
    assert_eq!(threads, [0, 1, 2, 3]);
}

#[test]
fn a_hook_that_fails_ends_the_run_with_an_error() {
    let bind = |thread| assert_ne!(thread, 2, "no such CPU");
    let error = run(&Config { hooks: Hooks { bind: &bind, ..Hooks::NONE }, ..small(Strategy::Atomic) }).unwrap_err();
    assert!(matches!(error, Error::Thread), "{error}");
}

/// The events of a run, in order: the policy set, the threads ready, the rounds done.
fn reported(
    memory_scope: MemoryScope,
    refuse: &str,
) -> (Vec<(&'static str, std::thread::ThreadId)>, Result<Outcome, Error>) {
    let reported = Mutex::new(Vec::new());
    let report = |what| reported.lock().unwrap().push((what, std::thread::current().id()));
    let answer = |what: &str| if what == refuse { Err(format!("no {what}")) } else { Ok(()) };
    let bind = |thread| {
        if thread == 3 {
            report("bind");
        }
    };
    let memory = || {
        report("memory");
        answer("memory")
    };
    let ready = || {
        report("ready");
        answer("ready")
    };
    let hooks = Hooks { bind: &bind, memory: Some(&memory), ready: &ready, done: &|| report("done"), ..Hooks::NONE };
    let outcome = run(&Config { hooks, memory_scope, ..small(Strategy::Atomic) });
    (reported.into_inner().unwrap(), outcome)
}

#[test]
fn hooks_are_called_in_order_and_the_policy_is_of_a_thread_that_ends() {
    let here = std::thread::current().id();
    for (scope, around) in [(MemoryScope::Payload, true), (MemoryScope::Process, false)] {
        let (reported, outcome) = reported(scope, "");
        assert_eq!(outcome.unwrap().counted, 4 * 40 * 160);
        let what: Vec<&str> = reported.iter().map(|(what, _)| *what).collect();
        assert_eq!(what, ["memory", "bind", "ready", "done"], "{scope}");
        // With the scope payload the policy ended before the threads start; with the scope process the threads inherit
        // it.
        assert_eq!(reported[2].1 == reported[3].1 && reported[2].1 == here, around, "{scope}");
        assert_ne!(reported[0].1, here, "this thread keeps its own policy: {scope}");
        assert_eq!(reported[0].1 == reported[2].1, !around, "{scope}");
    }
}

#[test]
fn a_policy_or_a_watcher_that_fails_ends_the_run_with_its_reason() {
    for scope in [MemoryScope::Payload, MemoryScope::Process] {
        let (reports, outcome) = reported(scope, "memory");
        assert!(outcome.unwrap_err().to_string().ends_with("no memory"));
        assert_eq!(reports.len(), 1, "nothing is allocated or started then");
        let (reports, outcome) = reported(scope, "ready");
        assert_eq!(outcome.unwrap_err().to_string(), "no ready");
        assert!(reports.iter().all(|(what, _)| *what != "done"));
    }
}

#[test]
fn pages_of_counters_and_data_are_reported_by_node() {
    for strategy in Strategy::ALL.iter().copied() {
        let found = outcome(&small(strategy));
        // A container may forbid the query.
        if !found.data_pages.is_empty() {
            let pages = found.data_pages.values().sum::<u64>();
            assert!((203 * 16 / 64..=203 * 5).contains(&pages), "{strategy}: {pages}");
            assert!(found.counter_pages.values().sum::<u64>() > 0, "{strategy}: {found:?}");
        }
    }
}

#[test]
fn padding_sets_the_bytes_per_counter_and_steps_set_the_increments() {
    let of = |padding, strategy| outcome(&Config { padding, ..small(strategy) }).bytes_per_counter;
    for padding in Padding::ALL {
        let bytes = padding.bytes() as f64;
        assert_eq!(of(padding, Strategy::ShardThread), 24.0 * bytes);
        assert_eq!(of(padding, Strategy::ShardNodeCached), 2.0 * bytes);
        assert_eq!(of(padding, Strategy::Fuzzy), 25.0 * bytes);
        assert_eq!(of(padding, Strategy::Atomic), 8.0, "one that has no shards is as it is");
        assert_eq!(Padding::of(padding.bytes()), Some(padding));
        let found = outcome(&Config { padding, ..small(Strategy::ShardCpu) });
        assert_eq!((found.counted, found.local_counted), (4 * 40 * 160, 4 * 40 * 96), "{padding:?}");
    }
    assert_eq!(Padding::of(32), None);
    let found = outcome(&Config { steps: 3, ..small(Strategy::CounterSet) });
    assert_eq!((found.counted, found.local_counted), (4 * 40 * 30, 4 * 40 * 18));
}

#[test]
fn a_setting_of_zero_is_refused_by_its_name() {
    let base = small(Strategy::Atomic);
    let wrong = [
        (Config { threads: 0, ..base }, "threads"),
        (Config { rounds: 0, ..base }, "rounds"),
        (Config { counter_blocks: 0, ..base }, "counter_blocks"),
        (Config { counters_per_block: 0, ..base }, "counters_per_block"),
        (Config { data_blocks: 0, ..base }, "data_blocks"),
        (Config { steps: 0, ..base }, "steps"),
    ];
    for (config, what) in wrong {
        let message = run(&config).unwrap_err().to_string();
        assert!(message.starts_with(what), "{message}");
    }
}

#[test]
fn a_run_larger_than_the_memory_is_refused_with_the_memory_needed() {
    let begin = Instant::now();
    for strategy in Strategy::ALL.iter().copied() {
        let config = Config { data_blocks: 1 << 40, available_bytes: 1 << 30, ..small(strategy) };
        let Err(Error::Memory { needed_bytes, available_bytes, .. }) = run(&config) else {
            panic!("{strategy} was not refused for its memory")
        };
        assert!(needed_bytes > 1 << 54 && needed_bytes > available_bytes, "{strategy}: {needed_bytes}");
        for overflow in [Config { data_blocks: usize::MAX, ..config }, Config { threads: usize::MAX, ..config }] {
            assert!(matches!(run(&overflow), Err(Error::Memory { .. })), "{strategy}");
        }
        assert!(matches!(
            run(&Config { counter_blocks: usize::MAX, counters_per_block: 3, ..config }),
            Err(Error::Memory { .. })
        ));
    }
    assert!(resident_kib() < 4 << 20, "nothing may be allocated; {:?}", begin.elapsed());
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn the_memory_of_the_articles_run_is_the_sum_of_its_blocks() {
    let article = Config::article(Strategy::ShardCpu);
    assert_eq!(memory_bytes(&article), 1_000_000 * (16 * 1024 + 1536) + 1000 * 1536);
    assert_eq!(memory_bytes(&Config { strategy: Strategy::Atomic, ..article }), 1_000_000 * (16 * 1024 + 8) + 1000 * 8);
}

#[test]
fn strategy_names_parse_back_and_an_unknown_one_lists_the_known() {
    for strategy in Strategy::ALL.iter().copied() {
        assert_eq!(strategy.name().parse::<Strategy>().unwrap(), strategy);
    }
    let message = "shard-magic".parse::<Strategy>().unwrap_err().to_string();
    assert!(message.contains("shard-magic") && message.contains("counter-set"), "{message}");
    assert_eq!("corrected".parse::<Mode>().unwrap(), Mode::Corrected);
    assert!("fast".parse::<Mode>().unwrap_err().to_string().contains("faithful"));
}

#[test]
fn a_strategy_that_cannot_work_here_says_what_is_missing() {
    for strategy in Strategy::ALL.iter().copied() {
        match strategy.available() {
            Ok(()) => {}
            Err(Error::Unavailable { strategy: name, reason }) => {
                panic!("{name} cannot be tested here: {reason}");
            }
            Err(other) => panic!("{other}"),
        }
    }
}
