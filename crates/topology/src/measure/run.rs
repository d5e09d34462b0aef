//! Executes a measurement plan within its time limits, and summarizes what was measured: medians, ratios of far to
//! near, and sentences.

use super::plan::MeasurePlan;
use super::timing::{self, MeasureError, WorkingSet};
use crate::{Machine, Pairing};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// The results of a plan. Rows and columns of the tables are those of the plan; `None` was not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// OS numbers of the PUs of `line_ns`.
    pub cpus: Vec<u32>,
    /// Nanoseconds for a cache line to move from the row's PU to the column's and back. `None` on the diagonal.
    pub line_ns: Vec<Vec<Option<f64>>>,
    /// OS numbers of the nodes that read: rows of the two tables below.
    pub from_nodes: Vec<u32>,
    /// OS numbers of the nodes whose memory is read: columns of these tables.
    pub to_nodes: Vec<u32>,
    /// Nanoseconds of a load from memory that depends on the previous load.
    pub latency_ns: Vec<Vec<Option<f64>>>,
    /// Bytes per second that the cores of a node read together.
    pub bandwidth_bytes_per_s: Vec<Vec<Option<f64>>>,
    /// Number of threads that read for the bandwidth, by row.
    pub readers: Vec<usize>,
    /// Bytes of memory that were read.
    pub working_set_bytes: usize,
    /// What was left out or makes the figures inexact, as text for the user.
    pub notes: Vec<String>,
    /// How long it took, seconds.
    pub elapsed_s: f64,
}

/// Executes a plan on this machine. `progress` is called with the fraction of the work that is done.
///
/// # Errors
/// When a thread or its memory cannot be bound as planned, or a thread cannot be started.
pub fn measure(plan: &MeasurePlan, progress: &mut dyn FnMut(f64)) -> Result<Measured, MeasureError> {
    let clock = Clock { began: Instant::now(), limit: plan.limit };
    let mut notes = plan.left_out.clone();
    notes.extend(small_pages());
    let mut measured = Measured {
        cpus: plan.cpus.clone(),
        line_ns: vec![vec![None; plan.cpus.len()]; plan.cpus.len()],
        from_nodes: plan.from.iter().map(|reader| reader.node).collect(),
        to_nodes: plan.to.clone(),
        latency_ns: vec![vec![None; plan.to.len()]; plan.from.len()],
        bandwidth_bytes_per_s: vec![vec![None; plan.to.len()]; plan.from.len()],
        readers: plan.from.iter().map(|reader| reader.cpus.len()).collect(),
        working_set_bytes: plan.working_set_bytes,
        notes,
        elapsed_s: 0.0,
    };
    lines(plan, &clock, &mut measured, progress)?;
    memories(plan, &clock, &mut measured, progress)?;
    if clock.is_over() {
        measured.notes.push(format!("stopped at the time limit of {:.0?}", plan.limit));
    }
    measured.elapsed_s = clock.began.elapsed().as_secs_f64();
    Ok(measured)
}

struct Clock {
    began: Instant,
    limit: Duration,
}

impl Clock {
    fn is_over(&self) -> bool {
        self.began.elapsed() >= self.limit
    }
}

fn lines(
    plan: &MeasurePlan,
    clock: &Clock,
    measured: &mut Measured,
    progress: &mut dyn FnMut(f64),
) -> Result<(), MeasureError> {
    let count = plan.cpus.len();
    for (i, first) in plan.cpus.iter().enumerate() {
        progress(0.4 * i as f64 / count as f64);
        for (j, second) in plan.cpus.iter().enumerate().skip(i + 1) {
            if clock.is_over() {
                return Ok(());
            }
            let ns = timing::round_trip_ns(*first, *second, plan.each_pair)?;
            let ns = ns.is_finite().then_some(ns);
            // A round trip is the same in both directions.
            measured.line_ns[i][j] = ns;
            measured.line_ns[j][i] = ns;
        }
    }
    Ok(())
}

fn memories(
    plan: &MeasurePlan,
    clock: &Clock,
    measured: &mut Measured,
    progress: &mut dyn FnMut(f64),
) -> Result<(), MeasureError> {
    for (j, to) in plan.to.iter().enumerate() {
        progress(0.4 + 0.6 * j as f64 / plan.to.len() as f64);
        if clock.is_over() {
            return Ok(());
        }
        let set = WorkingSet::on_node(*to, plan.working_set_bytes)?;
        for (i, reader) in plan.from.iter().enumerate() {
            let Some(cpu) = reader.cpus.first() else { continue };
            if clock.is_over() {
                return Ok(());
            }
            measured.latency_ns[i][j] = Some(timing::latency_ns(&set, *cpu, plan.each_memory)?);
            let bandwidth = timing::bandwidth_bytes_per_s(&set, &reader.cpus, plan.each_memory)?;
            measured.bandwidth_bytes_per_s[i][j] = Some(bandwidth);
        }
    }
    Ok(())
}

/// A note if memory is not in huge pages: the kernel uses them here only if they are always enabled.
fn small_pages() -> Option<String> {
    let enabled = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    (!enabled.contains("[always]")).then(|| {
        "memory was in small pages (transparent huge pages are not always on): latencies include address translation"
            .to_owned()
    })
}

/// The cost of distance on a machine, from medians of a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// Median round trip of a cache line by the relation of the two PUs, nearest first.
    pub line: Vec<Cost>,
    /// Round trip of a cache line between nodes, divided by that between cores of a node. `None` with one node.
    pub line_other_node_ratio: Option<f64>,
    /// Latency of another node's memory, divided by that of the own node's.
    pub latency_other_node_ratio: Option<f64>,
    /// Bandwidth of another node's memory, divided by that of the own node's.
    pub bandwidth_other_node_ratio: Option<f64>,
    /// The costs as text, one sentence each.
    pub sentences: Vec<String>,
}

/// The cost for one relation of two PUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The relation of the two PUs.
    pub pairing: Pairing,
    /// Median round trip, nanoseconds.
    pub median_ns: f64,
    /// Number of pairs of PUs in the median.
    pub pairs: usize,
}

impl Costs {
    /// Summarizes a measurement of this machine.
    pub fn of(machine: &Machine, measured: &Measured) -> Self {
        use Pairing::{OtherCache, OtherNode, SameCache, SameNode, SmtSibling};
        let pairs = line_pairs(machine, measured);
        let of = |wanted: &[Pairing]| -> Vec<f64> {
            pairs.iter().filter(|(near, _)| wanted.contains(near)).map(|(_, ns)| *ns).collect()
        };
        let line = [SmtSibling, SameCache, OtherCache, SameNode, OtherNode].into_iter().filter_map(|pairing| {
            let all = of(&[pairing]);
            Some(Cost { pairing, median_ns: median(all.clone())?, pairs: all.len() })
        });
        let (within, across) = (median(of(&[SameCache, OtherCache, SameNode])), median(of(&[OtherNode])));
        let (own_ns, other_ns) = own_and_other(measured, &measured.latency_ns);
        let (own_rate, other_rate) = own_and_other(measured, &measured.bandwidth_bytes_per_s);
        let ratio = |other: Option<f64>, own: Option<f64>| Some(other? / own.filter(|own| *own > 0.0)?);
        let mut costs = Self {
            line: line.collect(),
            line_other_node_ratio: ratio(across, within),
            latency_other_node_ratio: ratio(other_ns, own_ns),
            bandwidth_other_node_ratio: ratio(other_rate, own_rate),
            sentences: Vec::new(),
        };
        costs.sentences = costs.words([within, across, own_ns, other_ns]);
        costs
    }

    fn words(&self, [within, across, own_ns, other_ns]: [Option<f64>; 4]) -> Vec<String> {
        let mut sentences = Vec::new();
        if let (Some(ratio), Some(within), Some(across)) = (self.line_other_node_ratio, within, across) {
            sentences.push(format!(
                "a cache line to another node takes {ratio:.1}x as long as within a node ({across:.0} ns against \
                 {within:.0} ns there and back)"
            ));
        }
        if let (Some(ratio), Some(own), Some(other)) = (self.latency_other_node_ratio, own_ns, other_ns) {
            sentences.push(format!(
                "another node's memory takes {ratio:.1}x as long to answer as local memory ({other:.0} ns against \
                 {own:.0} ns)"
            ));
        }
        if let Some(ratio) = self.bandwidth_other_node_ratio {
            sentences.push(format!("another node's memory gives {ratio:.2}x the bandwidth of local memory"));
        }
        let near = self.line.first().zip(self.line.last());
        if let (true, Some((near, far))) = (sentences.is_empty(), near) {
            let nodes = "no other node's memory or PUs to compare with here";
            sentences.push(if near == far {
                format!(
                    "{nodes}; a cache line between {} PUs takes {:.0} ns there and back",
                    near.pairing, near.median_ns
                )
            } else {
                format!(
                    "{nodes}; a cache line takes {:.0} ns there and back between {} PUs and {:.0} ns between {} PUs",
                    near.median_ns, near.pairing, far.median_ns, far.pairing
                )
            });
        }
        sentences
    }
}

/// Every measured pair of PUs once: relation and nanoseconds.
fn line_pairs(machine: &Machine, measured: &Measured) -> Vec<(Pairing, f64)> {
    let mut pairs = Vec::new();
    for (i, (first, row)) in measured.cpus.iter().zip(&measured.line_ns).enumerate() {
        for (second, ns) in measured.cpus.iter().zip(row).skip(i + 1) {
            pairs.extend(machine.relation(*first, *second).zip(*ns));
        }
    }
    pairs
}

/// Medians of the values for the own node and of those for other nodes.
fn own_and_other(measured: &Measured, table: &[Vec<Option<f64>>]) -> (Option<f64>, Option<f64>) {
    let (mut own, mut other) = (Vec::new(), Vec::new());
    for (from, row) in measured.from_nodes.iter().zip(table) {
        for (to, value) in measured.to_nodes.iter().zip(row) {
            let side = if from == to { &mut own } else { &mut other };
            side.extend(*value);
        }
    }
    (median(own), median(other))
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
    Some(f64::midpoint(*low, *high))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nodes with two cores each: round trips of 100 ns within and 310 ns between nodes; memory latency of 90 and
    /// 140 ns, bandwidth of 20 and 10 GB/s.
    fn made_up(machine: &Machine) -> Measured {
        let node = |cpu: u32| cpu / 2;
        let cpus: Vec<u32> = (0..4).collect();
        let line = |a: u32, b: u32| (a != b).then_some(if node(a) == node(b) { 100.0 } else { 310.0 });
        let table = |own: f64, other: f64| vec![vec![Some(own), Some(other)], vec![Some(other), Some(own)]];
        assert_eq!(machine.cpus().len(), 4);
        Measured {
            line_ns: cpus.iter().map(|a| cpus.iter().map(|b| line(*a, *b)).collect()).collect(),
            cpus,
            from_nodes: vec![0, 1],
            to_nodes: vec![0, 1],
            latency_ns: table(90.0, 140.0),
            bandwidth_bytes_per_s: table(20e9, 10e9),
            readers: vec![2, 2],
            working_set_bytes: 1 << 20,
            notes: Vec::new(),
            elapsed_s: 1.0,
        }
    }

    #[test]
    fn another_node_costs_what_was_measured() {
        let machine = Machine::synthetic("node:2 core:2 pu:1").unwrap();
        let costs = Costs::of(&machine, &made_up(&machine));
        assert_eq!(costs.line_other_node_ratio, Some(3.1));
        assert_eq!(costs.bandwidth_other_node_ratio, Some(0.5));
        assert_eq!(
            costs.sentences,
            [
                "a cache line to another node takes 3.1x as long as within a node (310 ns against 100 ns there and back)",
                "another node's memory takes 1.6x as long to answer as local memory (140 ns against 90 ns)",
                "another node's memory gives 0.50x the bandwidth of local memory",
            ]
        );
        let shown: Vec<(String, usize)> = costs.line.iter().map(|c| (c.pairing.to_string(), c.pairs)).collect();
        assert_eq!(shown, [("same-node".to_owned(), 2), ("other-node".to_owned(), 4)]);
    }

    #[test]
    fn a_cost_is_the_median_of_its_pairs() {
        assert_eq!((median(vec![]), median(vec![3.0, 1.0]), median(vec![5.0, 1.0, 2.0])), (None, Some(2.0), Some(2.0)));
    }
}
