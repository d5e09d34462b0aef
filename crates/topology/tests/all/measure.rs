//! Tests of measured distances on this machine: the shape and plausibility of the results, not their values.

use std::time::Duration;
use tare_topology::Machine;
use tare_topology::measure::{Costs, MeasurePlan, measure};

/// A plan for this machine with a small working set, which is created quickly.
fn small_plan() -> MeasurePlan {
    let machine = Machine::this().unwrap();
    MeasurePlan { working_set_bytes: 8 << 20, ..MeasurePlan::new(&machine, Duration::from_secs(20)) }
}

#[test]
fn every_pair_and_every_node_has_a_figure() {
    let machine = Machine::this().unwrap();
    let plan = small_plan();
    let mut received = Vec::new();
    let measured = measure(&plan, &mut |done| received.push(done)).unwrap();
    assert!(received.iter().all(|done| (0.0..=1.0).contains(done)) && received.is_sorted(), "{received:?}");
    assert_eq!(measured.cpus, plan.cpus);
    for (i, row) in measured.line_ns.iter().enumerate() {
        for (j, ns) in row.iter().enumerate() {
            assert_eq!(ns.is_some_and(|ns| ns > 0.0 && ns.is_finite()), i != j, "{i} to {j}: {ns:?}");
            assert_eq!(*ns, measured.line_ns[j][i]);
        }
    }
    for table in [&measured.latency_ns, &measured.bandwidth_bytes_per_s] {
        assert_eq!((table.len(), table[0].len()), (plan.from.len(), plan.to.len()));
        assert!(table.iter().flatten().all(|value| value.is_some_and(|v| v > 0.0 && v.is_finite())), "{table:?}");
    }
    // Every round trip takes longer than a load that hits the cache, else nothing was measured.
    assert!(measured.line_ns.iter().flatten().flatten().all(|ns| *ns > 2.0), "{:?}", measured.line_ns);
    let costs = Costs::of(&machine, &measured);
    let pairs: usize = costs.line.iter().map(|cost| cost.pairs).sum();
    assert_eq!(pairs, plan.cpus.len() * (plan.cpus.len() - 1) / 2);
    assert_eq!(costs.sentences.is_empty(), plan.cpus.len() < 2);
}

#[test]
fn nothing_begins_after_the_limit() {
    let plan = MeasurePlan { limit: Duration::ZERO, ..small_plan() };
    let measured = measure(&plan, &mut |_| ()).unwrap();
    assert!(measured.line_ns.iter().flatten().all(Option::is_none));
    assert!(measured.latency_ns.iter().flatten().all(Option::is_none));
    assert!(measured.notes.iter().any(|note| note.contains("time limit")), "{:?}", measured.notes);
}
