//! Counters and their data on several nodes: the pages follow each policy, in both scopes, and no count is lost.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::numa::image::Image;
use crate::numa::judge::{cpus, of_condition, trials};
use crate::numa::machine::Evidence;

/// For a machine of four nodes; the job runs it as steps `counting` and `balanced`, with their results in `/out`.
const STUDY: &str = r#"
name = "counting"
[workload]
name = "counters"
strategy = "atomic"
rounds = 30
data_blocks = 2000
threads = 4
[placement]
client = "node:3"
bind = "thread"
[sampling]
steal_limit = "off"
foreign_cpu_limit = "off"
probe = "off"
trials = 1
[machine]
numa_balancing = "off"
[[conditions]]
memory = ["default", "local"]
[[conditions]]
memory = ["bind:2", "interleave:1-2"]
memory_scope = ["payload", "process"]
"#;

/// The same with automatic NUMA balancing, which hides pages from queries of their nodes; long enough for it to start.
fn balanced() -> String {
    let (head, _) = STUDY.split_once("[machine]").unwrap();
    let head = head.replace("rounds = 30", "rounds = 300").replace("\"counting\"", "\"balanced\"");
    format!("{head}[machine]\nnuma_balancing = \"on\"\n")
}

/// Writes the studies into the image.
pub fn prepare(image: &Image) {
    std::fs::create_dir_all(image.at("studies")).unwrap();
    image.write("studies/counting.toml", STUDY);
    image.write("studies/balanced.toml", &balanced());
}

fn pages(trial: &Value, family: &str) -> BTreeMap<u64, f64> {
    let covariates = trial["samples"][0]["covariates"].as_object().unwrap().iter();
    let nodes = covariates.filter_map(|(name, n)| Some((name.strip_prefix(family)?.parse().unwrap(), n.as_f64()?)));
    nodes.collect()
}

/// Pages of data and counters must follow the policy, and threads the placement.
pub fn judge(evidence: &Evidence, cpus_of_node_3: &str) {
    evidence.step("counting", 0);
    let trials = trials(&evidence.path("counting"));
    assert_eq!(trials.len(), 6);
    let expected: [(&str, &[u64]); 6] = [
        ("memory=default", &[0, 1, 2, 3]),
        ("memory=local", &[]),
        ("memory=bind:2 memory_scope=payload", &[2]),
        ("memory=bind:2 memory_scope=process", &[2]),
        ("memory=interleave:1-2 memory_scope=payload", &[1, 2]),
        ("memory=interleave:1-2 memory_scope=process", &[1, 2]),
    ];
    for (condition, nodes) in expected {
        for trial in of_condition(&trials, condition) {
            eprintln!("{condition}: {:?}", pages(trial, "data_pages_node"));
            placed(trial, nodes);
            let threads: Vec<&Value> = crate::numa::judge::threads(trial, "client");
            assert_eq!(threads.len(), 4);
            for thread in threads {
                let allowed = cpus(thread["allowed_cpus"].as_str().unwrap());
                assert!(allowed.len() == 1 && allowed.is_subset(&cpus(cpus_of_node_3)), "{thread}");
                assert!(crate::numa::judge::seen(thread).is_subset(&allowed), "{thread}");
            }
            assert_eq!(trial["samples"][0]["metrics"]["loss"], 0.0, "{trial}");
        }
    }
    evidence.step("balanced", 0);
    for trial in crate::numa::judge::trials(&evidence.path("balanced")) {
        let faults = &trial["samples"][0]["covariates"]["numa_hint_faults"];
        eprintln!("balanced, {faults} hinting faults: {:?}", pages(&trial, "data_pages_node"));
        assert!(pages(&trial, "data_pages_node").values().sum::<f64>() > 7900.0, "{trial}");
    }
}

/// Within 5% of an even distribution over these nodes, and on no other; without `nodes`, on any node.
fn placed(trial: &Value, nodes: &[u64]) {
    let data = pages(trial, "data_pages_node");
    let all: f64 = data.values().sum();
    assert!(all > 7900.0 && !pages(trial, "counter_pages_node").is_empty(), "{data:?}");
    if nodes.is_empty() {
        return;
    }
    let elsewhere: f64 = data.iter().filter(|(node, _)| !nodes.contains(node)).map(|(_, pages)| pages).sum();
    assert!(elsewhere <= 0.01 * all, "{}: asked for {nodes:?}: {data:?}", trial["condition"]);
    for node in nodes {
        let even = all / nodes.len() as f64;
        let found = data.get(node).copied().unwrap_or(0.0);
        assert!((found - even).abs() <= 0.05 * even, "{}: node {node}: {data:?}", trial["condition"]);
    }
}

/// Every strategy ran on the other processor too, and only the inexact one may have lost counts.
pub fn strategies(evidence: &Evidence, name: &str, count: usize) {
    evidence.step(name, 0);
    let trials = trials(&evidence.path(name));
    assert_eq!(trials.len(), count, "strategies");
    for trial in &trials {
        let loss = trial["samples"][0]["metrics"]["loss"].as_f64().unwrap();
        assert!(loss == 0.0 || trial["levels"]["strategy"] == "fuzzy", "{}: {loss}", trial["condition"]);
        assert_eq!(crate::numa::judge::threads(trial, "client").len(), 4);
    }
}
