//! Suspects below the server's and the kernel's work with their own experiments: the allocator, huge pages, TLB misses,
//! NUMA balancing; and locks of pages and indexes.

use crate::draws::Draws;
use crate::made_up::{of_two_sides, profile, trial};
use crate::modes::environment;
use crate::suspects::{changes, found, plan};
use crate::time::{captures, thread};
use serde_json::json;
use tare_findings::why::{Cause, Expected, Suspect};
use tare_results::Results;
use tare_results::captures::{Captures, WaitKind};
use tare_results::events::{EventCounts, SidesEvents};
use tare_results::schema::{CaptureSample, ThreadClass, TrialRecord};

/// A and B, whose connections spend these microseconds per transaction in user mode, in the kernel and asleep. `more`
/// adds to a trial's record, given its side and transaction time.
fn longer(
    [user, system, asleep]: [[f64; 2]; 3],
    mut more: impl FnMut(usize, f64, &mut TrialRecord, &mut Captures),
) -> Results {
    let mut draws = Draws::new(4177);
    of_two_sides(8, |block, side, name| {
        let mut each = |us: f64| us * (1.0 + 0.01 * draws.normal());
        let (client, user, system, asleep) = (each(50.0), each(user[side]), each(system[side]), each(asleep[side]));
        let us = client + user + system + asleep;
        let mut record = trial(2 * block + side, block, name, 1e6 / us, false);
        let mut threads = vec![
            thread(ThreadClass::Client, client / us, 0.0, 0.0),
            thread(ThreadClass::Connection, user / us, system / us, 0.0),
        ];
        threads.iter_mut().for_each(|thread| thread.voluntary_switches = (1e6 / us) as u64);
        record.samples[0].threads = threads;
        let mut captured = Captures::default();
        more(side, us, &mut record, &mut captured);
        (record, captured)
    })
}

fn of(causes: &[Cause], is: impl Fn(&Suspect) -> bool) -> Option<&Cause> {
    causes.iter().find(|cause| is(&cause.suspect))
}

/// Asserts that the first suspect is this one, shown, with about this many microseconds and this experiment.
fn is_first(results: &Results, suspect: &Suspect, us: f64, experiment: &str) {
    let causes = found(results);
    let first = &causes[0];
    assert_eq!((&first.suspect, first.shown), (suspect, true), "{causes:#?}");
    assert!((first.us / us - 1.0).abs() < 0.1, "{causes:#?}");
    assert_eq!(changes(first), [experiment], "{causes:#?}");
}

/// B works 200 us longer, 150 us of it in the allocator.
#[test]
fn time_in_the_allocator_is_named_before_the_rest_of_the_servers_work() {
    let made = |in_b: f64| {
        longer([[300.0, 500.0], [10.0; 2], [0.0; 2]], |side, _, record, captured| {
            let allocator = [40.0, in_b][side];
            let functions = [
                ("_int_malloc", 0.4 * allocator),
                ("cfree@GLIBC_2.2.5", 0.1 * allocator),
                ("[libjemalloc.so.2]", 0.1 * allocator),
                ("operator delete", 0.4 * allocator),
                ("mallocate", 20.0),
                ("row_search_mvcc", [240.0, 440.0][side] - allocator),
            ];
            captured.profile = Some(profile(record, [310.0, 510.0][side], &functions));
        })
    };
    let mut results = made(190.0);
    is_first(&results, &Suspect::Allocator, 150.0, "process.allocator=jemalloc");
    let causes = found(&results);
    let work = of(&causes, |one| *one == Suspect::ServerWork).unwrap();
    assert!((work.us - 50.0).abs() < 15.0, "{causes:#?}");
    assert_eq!(causes[0].prove.expected, Expected::Faster);
    // If the connections' threads are not known, their work is in no part, and the allocator's is no share of it.
    let mut unknown = made(190.0);
    let threads = unknown.trials.iter_mut().flat_map(|record| &mut record.samples[0].threads);
    let connections = threads.filter(|thread| thread.class == ThreadClass::Connection);
    connections.for_each(|thread| thread.class = ThreadClass::Background);
    let causes = found(&unknown);
    assert!(of(&causes, |one| *one == Suspect::Allocator).is_none(), "{causes:#?}");
    plan(&mut results, &json!({"workload.name": "point_select", "process.allocator": "tcmalloc"}));
    is_first(&results, &Suspect::Allocator, 150.0, "process.allocator=system");
    // A running server keeps its allocator.
    plan(&mut results, &json!({"workload.name": "point_select", "engine.socket": "/run/s"}));
    is_first(&results, &Suspect::Allocator, 150.0, "capture.profile=on");
    // The same time in A and in B, or hardly more: the suspect is other work.
    for in_b in [40.0, 50.0] {
        let results = made(in_b);
        is_first(&results, &Suspect::ServerWork, 200.0, "capture.profile=on");
        assert!(of(&found(&results), |one| *one == Suspect::Allocator).is_none());
    }
}

/// B works 100 us longer, with a different share of its memory in huge pages.
#[test]
fn memory_in_other_pages_is_a_suspect_and_its_experiment_gives_the_slower_side_the_others() {
    let made = |in_huge: [f64; 2]| {
        longer([[200.0, 300.0], [10.0; 2], [0.0; 2]], |side, _, record, _| {
            let covariates = &mut record.samples[0].covariates;
            covariates.insert("server_memory_bytes_node0".to_owned(), 1e9);
            covariates.insert("server_transparent_huge_bytes".to_owned(), 0.25e9 * in_huge[side]);
            covariates.insert("server_huge_pool_bytes".to_owned(), 0.75e9 * in_huge[side]);
            // With one node, later samples do not have them.
            let mut later = record.samples[0].clone();
            later.covariates.retain(|name, _| !name.starts_with("server_"));
            record.samples.push(later);
        })
    };
    let is = |one: &Suspect| matches!(one, Suspect::HugePages { .. });
    for (in_huge, fewer, thp) in [([0.9, 0.1], true, "always"), ([0.1, 0.9], false, "never")] {
        let mut results = made(in_huge);
        let causes = found(&results);
        let pages = of(&causes, is).unwrap();
        assert_eq!((&pages.suspect, pages.shown), (&Suspect::HugePages { fewer }, true), "{causes:#?}");
        assert!(pages.counts.unwrap().iter().zip(in_huge).all(|(a, b)| (a - b).abs() < 1e-9), "{causes:#?}");
        assert_eq!((changes(pages), pages.prove.same), (vec![format!("machine.thp={thp}")], false));
        // If the machine already has this setting, the experiment would change nothing.
        let mut machine = environment("pu:2");
        let setting = "/sys/kernel/mm/transparent_hugepage/enabled".to_owned();
        machine.settings.insert(setting, "always madvise never".replace(thp, &format!("[{thp}]")));
        results.environment = Some(machine);
        assert!(of(&found(&results), is).unwrap().prove.same);
        // PostgreSQL has its own option for its shared memory.
        plan(&mut results, &json!({"workload.name": "point_select", "engine.name": "postgresql"}));
        let option = if fewer { "on" } else { "off" };
        assert_eq!(changes(of(&found(&results), is).unwrap()), [format!("engine.options.huge_pages={option}")]);
    }
    assert!(of(&found(&made([0.5, 0.55])), is).is_none());
}

/// B works 100 us longer; its connections have 6 more TLB misses per thousand instructions, or only need more
/// instructions.
#[test]
fn misses_of_the_tlbs_are_a_suspect_where_there_are_more_for_the_same_work() {
    let made = |instructions: [f64; 2], per_thousand: [f64; 2]| {
        longer([[200.0, 300.0], [10.0; 2], [0.0; 2]], |side, us, record, _| {
            let each = [
                ("instructions", instructions[side]),
                ("dTLB-load-misses", 0.75 * per_thousand[side] * instructions[side] / 1000.0),
                ("iTLB-load-misses", 0.25 * per_thousand[side] * instructions[side] / 1000.0),
            ];
            let transactions = 1e6 / us;
            let counts = each.into_iter().map(|(name, each)| (name.to_owned(), each * transactions));
            let (elapsed_s, cpu_s) = (1.0, 0.5);
            let server = EventCounts { elapsed_s, cpu_s, user_only: false, counts: counts.collect() };
            let events = Some(SidesEvents { client: None, server: Some(server) });
            let tps = transactions;
            record.capture_sample =
                Some(CaptureSample { elapsed_s, tps, tps_ratio: 1.0, events, ..CaptureSample::default() });
        })
    };
    let is = |one: &Suspect| *one == Suspect::TlbMisses;
    let causes = found(&made([500_000.0; 2], [2.0, 8.0]));
    let misses = of(&causes, is).unwrap();
    assert!(misses.shown && (misses.us - 100.0).abs() < 10.0, "{causes:#?}");
    assert!(misses.counts.unwrap().iter().zip([2.0, 8.0]).all(|(a, b)| (a - b).abs() < 1e-6), "{causes:#?}");
    assert_eq!(changes(misses), ["machine.thp=always"]);
    assert!(of(&found(&made([500_000.0, 800_000.0], [5.0; 2])), is).is_none());
}

/// B's kernel works 40 us longer, with these NUMA hint faults per transaction.
#[test]
fn page_faults_that_balance_nodes_are_named_where_they_may_take_the_kernels_time() {
    let of_server = |faults: [f64; 2], own: Option<f64>| {
        longer([[200.0; 2], [20.0, 60.0], [0.0; 2]], |side, us, record, _| {
            let sample = &mut record.samples[0];
            sample.covariates.insert("numa_hint_faults".to_owned(), faults[side] * 1e6 / us);
            sample.metrics.extend(own.map(|own| ("server_minor_faults_per_transaction".to_owned(), own)));
        })
    };
    let made = |faults| of_server(faults, None);
    let results = made([0.0, 8.0]);
    is_first(&results, &Suspect::NumaBalancing, 40.0, "machine.numa_balancing=off");
    let causes = found(&results);
    assert!(causes[0].counts.unwrap().iter().zip([0.0, 8.0]).all(|(a, b)| (a - b).abs() < 1e-9), "{causes:#?}");
    assert!(of(&causes, |one| *one == Suspect::KernelTime).is_none(), "{causes:#?}");
    // One fault in ten transactions cannot take 400 us, and fewer faults cannot take longer.
    for faults in [[0.0, 0.1], [8.0, 0.0], [8.0, 8.0]] {
        let results = made(faults);
        is_first(&results, &Suspect::KernelTime, 40.0, "capture.profile=on");
        assert!(of(&found(&results), |one| *one == Suspect::NumaBalancing).is_none());
    }
    // Those of another program on the same machine.
    is_first(&of_server([0.0, 8.0], Some(0.1)), &Suspect::KernelTime, 40.0, "capture.profile=on");
    is_first(&of_server([0.0, 8.0], Some(9.0)), &Suspect::NumaBalancing, 40.0, "machine.numa_balancing=off");
}

/// B's server works 40 us longer in the kernel, with these page faults per transaction.
#[test]
fn page_faults_are_named_where_they_may_take_the_servers_kernel_time() {
    let made = |faults: [f64; 2]| {
        longer([[200.0; 2], [20.0, 60.0], [0.0; 2]], |side, us, record, _| {
            let each = faults[side] * (1.0 + 1e-5 * us);
            record.samples[0].metrics.insert("server_minor_faults_per_transaction".to_owned(), each);
        })
    };
    let results = made([2.0, 42.0]);
    is_first(&results, &Suspect::PageFaults, 40.0, "process.allocator=jemalloc");
    let causes = found(&results);
    assert!(of(&causes, |one| *one == Suspect::KernelTime).is_none(), "{causes:#?}");
    // One fault cannot take 40 us, and fewer faults cannot take longer.
    for faults in [[2.0, 3.0], [42.0, 2.0], [42.0, 42.0]] {
        let results = made(faults);
        is_first(&results, &Suspect::KernelTime, 40.0, "capture.profile=on");
        assert!(of(&found(&results), |one| *one == Suspect::PageFaults).is_none());
    }
}

/// B's connections wait 300 us longer for one lock, which is of a page, of an index, of a table or of the whole server.
#[test]
fn locks_of_pages_indexes_and_tables_have_experiments_of_their_own() {
    let settings = json!({"workload.name": "update_index", "workload.rows": 1000, "workload.tables": 1});
    let name = || "LWLock/BufferContent".to_owned();
    let of_a_table = || Suspect::TableLock("Lock/relation".to_owned());
    for (kind, suspect, experiment, expected) in [
        (WaitKind::Page, Suspect::PageLock(name()), "workload.rows=100000", Expected::Faster),
        (WaitKind::Index, Suspect::IndexLock(name()), "workload.tables=8", Expected::Faster),
        (WaitKind::Lock, Suspect::GlobalLock(name()), "workload.tables=8", Expected::Unchanged),
        // With more tables than one, fewer threads wait for the lock of each.
        (WaitKind::Lock, of_a_table(), "workload.tables=8", Expected::Faster),
    ] {
        let mut results = longer([[200.0; 2], [10.0; 2], [20.0, 320.0]], |side, us, _, captured| {
            *captured = captures(0.0, &[(&*suspect.name(), [20.0, 320.0][side] / us)]);
            captured.locks.as_mut().unwrap().waits[0].kind = kind;
        });
        plan(&mut results, &settings);
        is_first(&results, &suspect, 300.0, experiment);
        assert_eq!(found(&results)[0].prove.expected, expected);
    }
    // Statements of the user's own do not depend on the number of tables and rows.
    let mut results = longer([[200.0; 2], [10.0; 2], [20.0, 320.0]], |side, us, _, captured| {
        *captured = captures(0.0, &[("a/tree", [20.0, 320.0][side] / us)]);
        captured.locks.as_mut().unwrap().waits[0].kind = WaitKind::Index;
    });
    plan(&mut results, &json!({"workload.name": "sql", "workload.statements": "x"}));
    is_first(&results, &Suspect::IndexLock("a/tree".to_owned()), 300.0, "workload.threads=1");
    let mut results = longer([[200.0; 2], [10.0; 2], [20.0, 320.0]], |side, us, _, captured| {
        *captured = captures(0.0, &[("Lock/relation", [20.0, 320.0][side] / us)]);
    });
    plan(&mut results, &json!({"workload.name": "sql"}));
    is_first(&results, &of_a_table(), 300.0, "workload.threads=1");
}
