//! Summarizes a measurement of distances: medians, ratios of far to near, and sentences.

use super::run::Measured;
use crate::{Machine, Pairing};
use serde::{Deserialize, Serialize};

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
