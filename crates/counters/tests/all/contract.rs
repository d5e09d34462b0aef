//! The guarantees in the crate documentation: what a sum may return, and that baselines and breakdowns add up.

use proptest::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use tare_counters::{Backend, Counter, CounterSet, Error, UpDownCounter};

const ADDS: u64 = if cfg!(miri) { 60 } else { 200_000 };

fn backends() -> impl Iterator<Item = Backend> {
    let usable: Vec<Backend> = Backend::ALL.into_iter().filter(|backend| backend.available().is_ok()).collect();
    assert!(usable.contains(&Backend::Striped), "the fallback works everywhere");
    usable.into_iter()
}

#[test]
fn sums_never_decrease_stay_between_begun_and_done_and_are_exact_after_join() {
    for backend in backends() {
        let set = CounterSet::with_backend(1, backend).unwrap();
        let (begun, done, stop) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut last = 0;
                while !stop.load(Ordering::Acquire) {
                    // Sequentially consistent bookkeeping around the relaxed adds gives a lower and an upper limit.
                    let least = done.load(Ordering::SeqCst);
                    let sum = set.sum(0);
                    let most = begun.load(Ordering::SeqCst);
                    assert!(least <= sum && sum <= most, "{backend}: {least} <= {sum} <= {most}");
                    assert!(last <= sum, "{backend}: {sum} after {last}");
                    last = sum;
                }
            });
            let adders: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        for _ in 0..ADDS {
                            begun.fetch_add(3, Ordering::SeqCst);
                            set.add(0, 3);
                            done.fetch_add(3, Ordering::SeqCst);
                        }
                    })
                })
                .collect();
            adders.into_iter().for_each(|adder| adder.join().unwrap());
            stop.store(true, Ordering::Release);
            reader.join().unwrap();
        });
        assert_eq!(set.sum(0), 2 * 3 * ADDS, "{backend}");
    }
}

#[test]
fn parts_by_cpu_and_by_node_add_up() {
    for backend in backends() {
        let set = CounterSet::with_backend(3, backend).unwrap();
        thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(|| (0..10).for_each(|_| set.add(2, 5))))));
        let (cpus, nodes) = (set.per_cpu(2), set.per_node(2));
        assert_eq!(cpus.cpus.iter().sum::<u64>() + cpus.unattributed, 200, "{backend}");
        assert_eq!(nodes.nodes.iter().map(|(_, part)| part).sum::<u64>() + nodes.unattributed, 200, "{backend}");
        assert_eq!(cpus.unattributed == 200, backend == Backend::Striped, "{backend}: {cpus:?}");
        assert_eq!((set.sum(0), set.sum(1)), (0, 0), "{backend}: a neighbour was touched");
        assert_eq!(set.bytes_per_counter(), 8 * cpus.cpus.len());
    }
}

#[test]
fn a_baseline_of_another_set_is_refused() {
    let (two, three) = (CounterSet::new(2).unwrap(), CounterSet::new(3).unwrap());
    assert!(matches!(two.delta_since(&three.snapshot()), Err(Error::OtherSet { expected: 2, found: 3 })));
}

#[test]
fn an_index_beyond_the_end_panics_and_writes_nothing() {
    for backend in backends() {
        let set = CounterSet::with_backend(2, backend).unwrap();
        for beyond in [2, usize::MAX] {
            assert!(thread::scope(|scope| scope.spawn(|| set.increment(beyond)).join()).is_err());
            assert!(thread::scope(|scope| scope.spawn(|| set.add(beyond, 1)).join()).is_err());
            assert!(thread::scope(|scope| scope.spawn(|| set.sum(beyond)).join()).is_err());
        }
        assert_eq!(set.snapshot().sums(), [0, 0]);
    }
}

#[test]
fn the_reused_slot_of_a_dropped_counter_starts_at_zero() {
    for backend in backends() {
        for round in 1..=20 {
            let counter = Counter::with_backend(backend).unwrap();
            assert_eq!(counter.sum(), 0, "{backend} round {round}");
            counter.add(round);
            assert_eq!(counter.sum(), round);
            let parts = counter.per_cpu();
            assert_eq!(parts.cpus.iter().sum::<u64>() + parts.unattributed, round, "{backend}");
        }
    }
}

#[test]
fn many_single_counters_do_not_disturb_each_other() {
    let counters: Vec<Counter> = (0..if cfg!(miri) { 5 } else { 1300 }).map(|_| Counter::new()).collect();
    counters.iter().enumerate().for_each(|(number, counter)| counter.add(number as u64));
    assert!(counters.iter().enumerate().all(|(number, counter)| counter.sum() == number as u64));
}

#[test]
fn an_up_down_counter_sums_increments_and_decrements_of_all_threads() {
    for backend in backends() {
        let open = UpDownCounter::with_backend(backend).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| (0..100).for_each(|_| open.increment()));
            scope.spawn(|| (0..130).for_each(|_| open.decrement()));
        });
        assert_eq!(open.sum(), -30, "{backend}");
        assert_eq!(open.delta_since(-20), -10);
        let nodes = open.per_node();
        assert_eq!(nodes.nodes.iter().map(|(_, part)| part).sum::<i64>() + nodes.unattributed, -30);
        open.add(i64::MIN);
        open.add(i64::MIN);
        assert_eq!(open.sum(), -30, "{backend}: wraps");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 4 } else { 64 }, failure_persistence: None, ..ProptestConfig::default() })]

    /// Compared with a plain vector, in one thread.
    #[test]
    fn any_sequence_of_adds_agrees_with_a_plain_vector(adds in proptest::collection::vec((0usize..7, any::<u64>()), 0..80)) {
        for backend in backends() {
            let set = CounterSet::with_backend(7, backend).unwrap();
            let mut model = [0u64; 7];
            let half = adds.len() / 2;
            let apply = |model: &mut [u64; 7], adds: &[(usize, u64)]| for &(counter, n) in adds {
                set.add(counter, n);
                model[counter] = model[counter].wrapping_add(n);
            };
            apply(&mut model, &adds[..half]);
            let (baseline, at_half) = (set.snapshot(), model);
            apply(&mut model, &adds[half..]);
            let delta = set.delta_since(&baseline).unwrap();
            let now = set.snapshot();
            prop_assert_eq!(now.sums(), model);
            for counter in 0..7 {
                prop_assert_eq!(set.sum(counter), model[counter]);
                prop_assert_eq!(delta.get(counter), Some(model[counter].wrapping_sub(at_half[counter])));
            }
            prop_assert_eq!(delta.get(7), None);
        }
    }
}
