//! The counters that the benchmark compares with are correct: one that loses adds, or writes elsewhere, would make
//! tare-counters look better than they are.

use crate::contenders::{self, Amount, Atomics, Contender, NoOps, Plain, Rotate, Rseq, Sharded, Walk};

const ADDS: u64 = 10_000;

/// Runs every walk with both amounts, and returns the expected sum.
fn walked(contender: &dyn Contender) -> u64 {
    let walks = [Walk::Same, Walk::Aliased, Walk::Rotate(Rotate::MASK), Walk::Random];
    for walk in walks {
        contender.run(walk, Amount::One, ADDS, 7);
        contender.run(walk, Amount::Given(3), ADDS, 7);
    }
    walks.len() as u64 * ADDS * (1 + 3)
}

#[test]
fn every_contender_counts_each_add_of_each_walk() {
    let rseq = Rseq::new(contenders::MANY);
    assert_eq!(walked(&rseq), rseq.read_all());
    let sharded = Sharded::new(contenders::MANY);
    assert_eq!(walked(&sharded), sharded.read_all());
    let mut plain = Plain::new(contenders::MANY);
    assert_eq!(walked(&plain), plain.read_all());
    let atomics = Atomics::new(contenders::MANY);
    assert_eq!(walked(&atomics), atomics.read_all());
    walked(&NoOps);
}
