//! Events of processors and kernel: counts per transaction are those of the capture sample, however long they were
//! counted.

use crate::draws::Draws;
use crate::made_up::{differ, of_two_sides, trial, worked};
use tare_findings::compare::Side;
use tare_findings::time::{Counted, EventSide};
use tare_findings::why::{EventChange, Why, times};
use tare_results::Results;
use tare_results::captures::Captures;
use tare_results::events::{EventCounts, SidesEvents};
use tare_results::schema::{CaptureSample, ThreadClass};

const BLOCKS: usize = 8;
/// Per transaction: CPU time of the client and of its connection, and the connection's events.
const CLIENT_US: f64 = 30.0;
const SERVER_US: f64 = 600.0;
const CAPTURED_TPS: f64 = 900.0;
const INSTRUCTIONS: f64 = 1_200_000.0;
const CYCLES: f64 = 1_500_000.0;

fn counted(transactions: f64, cpu_us: f64, per_transaction: &[(&str, f64)]) -> EventCounts {
    let counts = per_transaction.iter().map(|(name, each)| ((*name).to_owned(), each * transactions)).collect();
    let elapsed_s = transactions / CAPTURED_TPS;
    EventCounts { elapsed_s, cpu_s: transactions * cpu_us / 1e6, user_only: false, counts }
}

/// A and B with equal transaction times; B needs `more` instructions in the server, as a fraction of A's.
fn made(seed: u64, more: f64) -> Results {
    let mut draws = Draws(seed);
    of_two_sides(BLOCKS, |block, side, name| {
        let us = 1000.0 * (1.0 + 0.02 * draws.normal());
        let mut record = trial(2 * block + side, block, name, 1e6 / us, false);
        let transactions = 1e6 / us;
        let thread = |class, cpu_us: f64| worked(class, transactions * cpu_us / 1e6);
        record.samples[0].threads =
            vec![thread(ThreadClass::Client, CLIENT_US), thread(ThreadClass::Connection, SERVER_US)];
        // Counted for a different time, which must not matter.
        let seen = 500.0 + 100.0 * block as f64;
        let mut about = |value: f64| value * (1.0 + 0.01 * draws.normal());
        let instructions = about(INSTRUCTIONS) * if side == 1 { 1.0 + more } else { 1.0 };
        let server = [
            ("instructions", instructions),
            ("cycles", about(CYCLES)),
            ("cache-misses", about(900.0)),
            ("page-faults", 0.0),
        ];
        let events = SidesEvents {
            client: Some(counted(seen, CLIENT_US, &[("context-switches", about(1.0))])),
            server: Some(counted(seen, SERVER_US, &server)),
        };
        record.capture_sample = Some(CaptureSample {
            elapsed_s: 1.0,
            tps: CAPTURED_TPS,
            tps_ratio: 0.9,
            events: Some(events),
            ..Default::default()
        });
        (record, Captures::default())
    })
}

fn shown(found: &Why) -> Vec<(EventSide, &Counted)> {
    let shown = found.events.iter().filter(|change| change.shown);
    shown.map(|change| (change.event.side, &change.event.what)).collect()
}

#[test]
fn a_transaction_has_the_events_of_the_capture_sample_and_what_differs_is_named() {
    let results = made(7, 0.05);
    let found = differ(&results);
    let change = |what: &Counted| -> &EventChange {
        found.events.iter().find(|change| change.event.what == *what).unwrap_or_else(|| panic!("{:#?}", found.events))
    };
    let instructions = Counted::PerTransaction("instructions".to_owned());
    let near = |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 0.02, "{value} for {expected}");
    near(change(&instructions).a, INSTRUCTIONS);
    near(change(&instructions).b, 1.05 * INSTRUCTIONS);
    near(change(&Counted::InstructionsPerCycle).a, INSTRUCTIONS / CYCLES);
    near(change(&Counted::PerTransaction("cache-misses".to_owned())).a, 900.0);
    assert_eq!(
        shown(&found),
        [(EventSide::Server, &Counted::InstructionsPerCycle), (EventSide::Server, &instructions)],
        "{:#?}",
        found.events
    );
    let reported = &times(Side { results: &results, condition: None }).unwrap().conditions[0].events;
    let switches = reported.iter().find(|mean| mean.event.side == EventSide::Client).unwrap();
    near(switches.value, 1.0);
}

#[test]
fn of_two_alike_no_event_is_named_and_one_trial_without_counts_ends_the_comparison() {
    let named: usize = (0..100).map(|seed| usize::from(!shown(&differ(&made(1000 + seed, 0.0))).is_empty())).sum();
    assert!(named <= 11, "{named} of 100 name an event");
    let mut results = made(3, 0.05);
    results.trials[4].capture_sample = None;
    assert_eq!(differ(&results).events, Vec::new());
}
