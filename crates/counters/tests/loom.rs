//! Checks every interleaving of the atomic fallback with loom: `RUSTFLAGS="--cfg loom" cargo test -p tare-counters
//! --release --test loom`.
#![cfg(loom)]
#![allow(clippy::disallowed_methods)]

use loom::sync::Arc;
use loom::thread;
use tare_counters::{Backend, CounterSet};

/// Under loom the backend is the fallback on every machine.
fn set() -> Arc<CounterSet> {
    assert_eq!(Backend::current().unwrap(), Backend::Striped);
    Arc::new(CounterSet::new(1).unwrap())
}

fn adder(set: &Arc<CounterSet>, times: u64) -> thread::JoinHandle<()> {
    let set = Arc::clone(set);
    thread::spawn(move || (0..times).for_each(|_| set.add(0, 1)))
}

#[test]
fn exact_after_join_even_when_threads_share_a_stripe() {
    loom::model(|| {
        // Three threads on two stripes: two of them share one.
        let set = set();
        let adders = [adder(&set, 1), adder(&set, 1)];
        set.add(0, 1);
        adders.into_iter().for_each(|adder| adder.join().unwrap());
        assert_eq!(set.sum(0), 3);
    });
}

#[test]
fn successive_sums_never_fall_and_see_no_more_than_was_added() {
    loom::model(|| {
        let set = set();
        let adders = [adder(&set, 1), adder(&set, 1)];
        let (first, second) = (set.sum(0), set.sum(0));
        assert!(first <= second && second <= 2, "{first} then {second}");
        adders.into_iter().for_each(|adder| adder.join().unwrap());
        assert_eq!(set.sum(0), 2);
    });
}
