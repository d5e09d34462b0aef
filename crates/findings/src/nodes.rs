//! Memory by NUMA node: where the server's memory is, and the allocation counters of the nodes.

use super::collect::ConditionTrials;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use tare_results::covariate::{Covariate, NUMA_HIT, NUMA_MISS, NUMA_OTHER, SERVER_MEMORY};

/// Memory of one node under one condition, means over samples.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeSummary {
    pub condition: String,
    pub node: u32,
    pub server_bytes: f64,
    /// Pages allocated on this node as intended, whole machine (numa_hit).
    pub hit_pages: f64,
    /// Pages allocated on this node because another node was full, whole machine (numa_miss).
    pub miss_pages: f64,
    /// Pages allocated on this node for a thread that ran on another node, whole machine (other_node).
    pub other_pages: f64,
}

/// One entry per condition and node; empty on a machine with a single node.
pub(super) fn nodes(conditions: &[ConditionTrials<'_>]) -> Vec<NodeSummary> {
    let found: Vec<NodeSummary> = conditions.iter().flat_map(of).collect();
    let numbers: BTreeSet<u32> = found.iter().map(|node| node.node).collect();
    if numbers.len() < 2 { Vec::new() } else { found }
}

fn of(condition: &ConditionTrials<'_>) -> Vec<NodeSummary> {
    let samples: Vec<&BTreeMap<String, f64>> =
        condition.ok.iter().flat_map(|trial| &trial.samples).map(|sample| &sample.covariates).collect();
    let of_node = |name: &String| SERVER_MEMORY.node(name).or_else(|| NUMA_HIT.node(name));
    let numbers: BTreeSet<u32> = samples.iter().flat_map(|sample| sample.keys()).filter_map(of_node).collect();
    // A node without memory of the server does not appear in its numa_maps.
    let mean = |covariate: Covariate, node: u32| {
        let name = covariate.name_at(node);
        let values = samples.iter().map(|sample| sample.get(&name).copied().unwrap_or(0.0));
        values.sum::<f64>() / samples.len().max(1) as f64
    };
    let summary = |node| NodeSummary {
        condition: condition.name.to_owned(),
        node,
        server_bytes: mean(SERVER_MEMORY, node),
        hit_pages: mean(NUMA_HIT, node),
        miss_pages: mean(NUMA_MISS, node),
        other_pages: mean(NUMA_OTHER, node),
    };
    numbers.into_iter().map(summary).collect()
}
