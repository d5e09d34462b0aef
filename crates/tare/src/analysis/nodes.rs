//! Memory by node: where the server's is, and how the nodes' allocators served.

use super::collect::Condition;
use super::summary::NodeSummary;
use std::collections::{BTreeMap, BTreeSet};

/// Covariate of a sample -> figure of a node.
const SERVER: &str = "server_memory_bytes_node";
const HIT: &str = "numa_hit_pages_node";
const MISS: &str = "numa_miss_pages_node";
const OTHER: &str = "numa_other_pages_node";

/// One entry a condition and node; none on a machine with a single node, where there is nothing to tell.
pub(super) fn nodes(conditions: &[Condition<'_>]) -> Vec<NodeSummary> {
    let found: Vec<NodeSummary> = conditions.iter().flat_map(of).collect();
    let numbers: BTreeSet<u32> = found.iter().map(|node| node.node).collect();
    if numbers.len() < 2 { Vec::new() } else { found }
}

fn of(condition: &Condition<'_>) -> Vec<NodeSummary> {
    let samples: Vec<&BTreeMap<String, f64>> =
        condition.ok.iter().flat_map(|trial| &trial.samples).map(|sample| &sample.covariates).collect();
    let of_node = |name: &String| name.strip_prefix(SERVER).or_else(|| name.strip_prefix(HIT))?.parse::<u32>().ok();
    let numbers: BTreeSet<u32> = samples.iter().flat_map(|sample| sample.keys()).filter_map(of_node).collect();
    // A node on which the server has nothing is not in its numa_maps.
    let mean = |prefix: &str, node: u32| {
        let values = samples.iter().map(|sample| sample.get(&format!("{prefix}{node}")).copied().unwrap_or(0.0));
        values.sum::<f64>() / samples.len().max(1) as f64
    };
    let summary = |node| NodeSummary {
        condition: condition.name.to_owned(),
        node,
        server_bytes: mean(SERVER, node),
        hit_pages: mean(HIT, node),
        miss_pages: mean(MISS, node),
        other_pages: mean(OTHER, node),
    };
    numbers.into_iter().map(summary).collect()
}
