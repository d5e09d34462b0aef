//! Compares requested placements with those in the records.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::numa::machine::Evidence;
use serde_json::Value;

pub type Cpus = BTreeSet<u64>;

/// The last record of each trial in `trials.jsonl` of a results directory; every trial must have a result. An emulated
/// machine stands still while its host is busy, which disturbs a trial and misplaces nothing.
pub fn trials(results: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(results.join("trials.jsonl"))
        .unwrap_or_else(|e| panic!("{}: {e}", results.join("trials.jsonl").display()));
    let mut trials: Vec<Value> = Vec::new();
    for line in text.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let has_result = record["outcome"] == "ok" || record["outcome"] == "disturbed";
        assert!(has_result, "{}: {}", record["condition"], record["reason"]);
        trials.retain(|earlier| earlier["trial"] != record["trial"]);
        trials.push(record);
    }
    trials
}

/// The trials of one condition, at least one.
pub fn of_condition<'a>(trials: &'a [Value], condition: &str) -> Vec<&'a Value> {
    let found: Vec<&Value> = trials.iter().filter(|t| t["condition"] == condition).collect();
    assert!(!found.is_empty(), "no trial of {condition}");
    found
}

/// Parses a set of CPUs such as "0-3,8".
pub fn cpus(list: &str) -> Cpus {
    let number = |text: &str| text.parse::<u64>().unwrap_or_else(|e| panic!("{list:?}: {e}"));
    let parts = list.split(',').filter(|part| !part.is_empty());
    parts
        .flat_map(|part| match part.split_once('-') {
            Some((first, last)) => number(first)..=number(last),
            None => number(part)..=number(part),
        })
        .collect()
}

/// Threads of a role in a trial's samples.
pub fn threads<'a>(trial: &'a Value, role: &str) -> Vec<&'a Value> {
    let samples = trial["samples"].as_array().unwrap();
    let all = samples.iter().flat_map(|sample| sample["threads"].as_array().unwrap());
    all.filter(|thread| thread["role"] == role).collect()
}

/// CPUs on which a thread was seen; at least one.
pub fn seen(thread: &Value) -> Cpus {
    let seen: Cpus = thread["seen_cpus"].as_object().unwrap().keys().map(|cpu| cpu.parse().unwrap()).collect();
    assert!(!seen.is_empty(), "never seen: {thread}");
    seen
}

/// Checks that a role has `count` threads, that each may run on exactly `requested`, and that none was seen elsewhere.
pub fn kept_to(trial: &Value, role: &str, requested: &Cpus, count: usize) {
    let threads = threads(trial, role);
    assert_eq!(threads.len(), count, "{} {role} threads", trial["condition"]);
    for thread in threads {
        assert_eq!(&cpus(thread["allowed_cpus"].as_str().unwrap()), requested, "{}: {thread}", trial["condition"]);
        assert!(seen(thread).is_subset(requested), "{}: asked for {requested:?}: {thread}", trial["condition"]);
    }
}

/// Bytes of the server's own memory by node, at the end of the last sample, without a pool with its own policy.
pub fn memory(trial: &Value) -> BTreeMap<u64, f64> {
    by_node(trial, "server_memory_bytes_node")
}

/// Bytes of a pool with a policy of its own, by node.
pub fn pool(trial: &Value) -> BTreeMap<u64, f64> {
    by_node(trial, "server_pool_bytes_node")
}

fn by_node(trial: &Value, covariate: &str) -> BTreeMap<u64, f64> {
    let sample = trial["samples"].as_array().unwrap().last().unwrap();
    let nodes =
        sample["covariates"].as_object().unwrap().iter().filter_map(|(name, bytes)| {
            Some((name.strip_prefix(covariate)?.parse().unwrap(), bytes.as_f64().unwrap()))
        });
    let nodes: BTreeMap<u64, f64> = nodes.filter(|(_, bytes)| *bytes > 0.0).collect();
    assert!(nodes.values().sum::<f64>() > 0.0, "{} has no memory by node", trial["condition"]);
    nodes
}

/// Checks that the memory is on exactly these nodes, except for a fraction `stray` (0.01: a hundredth).
pub fn only_on(trial: &Value, nodes: &[u64], stray: f64) {
    let memory = memory(trial);
    let all: f64 = memory.values().sum();
    let elsewhere: f64 = memory.iter().filter(|(node, _)| !nodes.contains(node)).map(|(_, bytes)| bytes).sum();
    assert!(elsewhere <= stray * all, "{}: asked for nodes {nodes:?}: {memory:?}", trial["condition"]);
    for node in nodes {
        assert!(memory.contains_key(node), "{}: nothing on node {node}: {memory:?}", trial["condition"]);
    }
}

/// Checks that each policy of the run `policies` has its memory on its node; returns the trials.
pub fn policies_hold(evidence: &Evidence, nodes: &[(&str, u64)]) -> Vec<Value> {
    evidence.step("policies", 0);
    let trials = trials(&evidence.path("policies"));
    for (policy, node) in nodes {
        for trial in of_condition(&trials, &format!("memory={policy}")) {
            eprintln!("{policy}: {:?}", memory(trial));
            only_on(trial, &[*node], 0.01);
        }
    }
    trials
}

/// Checks that the memory is within 5% of an even distribution over these nodes, and on no other.
pub fn interleaved_over(trial: &Value, nodes: &[u64]) {
    let memory = memory(trial);
    eprintln!("{}: {memory:?}", trial["condition"]);
    let all: f64 = memory.values().sum();
    only_on(trial, nodes, 0.0);
    let even = all / nodes.len() as f64;
    for node in nodes {
        let off = (memory[node] - even).abs() / even;
        assert!(off <= 0.05, "{}: node {node} is {:.1}% off even: {memory:?}", trial["condition"], off * 100.0);
    }
}

/// The CPUs of the client and server thread of each pair, ordered by client CPU.
pub fn pairs(trial: &Value) -> Vec<(u64, u64)> {
    let only = |thread: &Value| {
        let seen = seen(thread);
        assert_eq!(seen.len(), 1, "{thread}");
        *seen.first().unwrap()
    };
    let servers = threads(trial, "server");
    let partner = |client: &Value| servers.iter().find(|s| s["pair"] == client["pair"]).unwrap();
    let mut pairs: Vec<(u64, u64)> =
        threads(trial, "client").into_iter().map(|client| (only(client), only(partner(client)))).collect();
    pairs.sort_unstable();
    pairs
}
