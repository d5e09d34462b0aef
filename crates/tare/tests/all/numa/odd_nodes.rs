//! Two ordinary nodes, one without memory, one without CPUs; an offline CPU; shielded CPUs; a cgroup with a cpuset.

use std::time::Duration;

use serde_json::{Value, json};

use crate::numa::image::Image;
use crate::numa::judge::{cpus, kept_to, of_condition, only_on, trials};
use crate::numa::machine::{Evidence, Machine, Node};
use crate::support::verified;

/// Common part of the studies.
const HEAD: &str = r#"
[engine]
name = "sqlite"
[engine.options]
mmap_size = 0
[workload]
rows = 2000
[sampling]
steal_limit = "off"
foreign_cpu_limit = "off"
probe = "off"
trials = 1
warmup_s = 0.1
sample_s = 0.4
"#;

/// Names nodes 2 (no memory) and 3 (no CPUs).
const ODD: &str = r#"
[[conditions]]
client = "node:0"
server = "node:2"
memory = ["bind:3", "preferred:3", "interleave:all", "bind:2"]
[[conditions]]
client = "node:0"
server = "node:3"
"#;

/// CPU 3 is offline, so the second PU of node 1 does not exist.
const OFFLINE: &str = r#"
[[conditions]]
client = "node:1"
server = ["node:0", "cpus:3", "node:1.pu:1"]
"#;

/// Node 1 is reserved for the benchmark.
const SHIELD: &str = r#"
[machine]
cpu_shield = "cpus:2-3"
[placement]
client = "cpus:2"
server = "cpus:3"
"#;

/// CPUs 0,2-3 and node 0's memory remain.
const CGROUP: &str = r#"
[[conditions]]
client = "all"
server = ["node:0", "node:1", "cpus:1"]
[[conditions]]
client = "all"
server = "all"
memory = ["interleave:all", "bind:1"]
"#;

fn boot() -> Evidence {
    let image = Image::new();
    std::fs::create_dir(image.at("studies")).unwrap();
    for (name, text) in [("odd", ODD), ("offline", OFFLINE), ("cgroup", CGROUP)] {
        image.write(&format!("studies/{name}.toml"), &format!("name = \"{name}\"\n{HEAD}{text}"));
    }
    let shield = format!("name = \"shield\"\n{HEAD}{SHIELD}");
    image.write("studies/shield.toml", &shield);
    image.write("studies/shield-killed.toml", &shield.replace("warmup_s = 0.1", "warmup_s = 60"));
    let node = |cpus, memory_mib| Node { cpus, memory_mib };
    let machine = Machine {
        smp: "6,sockets=3,cores=2,threads=1",
        nodes: vec![
            node(Some("0-1"), Some(1024)),
            node(Some("2-3"), Some(512)),
            node(Some("4-5"), None),
            node(None, Some(512)),
        ],
        distances: &[],
    };
    machine.boot(&image, include_str!("guest/odd-nodes"), Duration::from_secs(900))
}

#[test]
#[ignore = "boots a virtual machine: make test-numa"]
fn odd_nodes_offline_cpus_and_cgroups_are_respected() {
    let evidence = boot();
    let topo: Value = serde_json::from_str(&evidence.step("topo", 0)).unwrap();
    assert_eq!(
        nodes(&topo),
        [("0-1".to_owned(), true), ("2-3".to_owned(), true), ("4-5".to_owned(), false), (String::new(), true)]
    );
    odd(&evidence);
    offline(&evidence);
    shield(&evidence);
    cgroup(&evidence);
}

/// CPUs of each node, and whether it has memory.
fn nodes(topo: &Value) -> Vec<(String, bool)> {
    let nodes = topo["nodes"].as_array().unwrap().iter();
    nodes.map(|n| (n["cpus"].as_str().unwrap().to_owned(), n["memory_bytes"].as_u64().unwrap() > 0)).collect()
}

/// The reason why a condition was left out of a run's plan.
fn reason(evidence: &Evidence, run: &str, condition: &str) -> String {
    let plan: Value = serde_json::from_str(&evidence.text(&format!("{run}/plan.json"))).unwrap();
    let found = plan["conditions"].as_array().unwrap().iter().find(|c| c["name"] == condition);
    let reason = &found.unwrap_or_else(|| panic!("{run} has no condition {condition}"))["reason"];
    reason.as_str().unwrap_or_else(|| panic!("{run}: {condition} was run")).to_owned()
}

fn odd(evidence: &Evidence) {
    evidence.step("run", 0);
    let trials = trials(&evidence.path("run"));
    assert_eq!(trials.len(), 3);
    for trial in &trials {
        kept_to(trial, "client", &cpus("0-1"), 1);
        kept_to(trial, "server", &cpus("4-5"), 1);
    }
    for policy in ["bind:3", "preferred:3"] {
        for trial in of_condition(&trials, &format!("client=node:0 server=node:2 memory={policy}")) {
            only_on(trial, &[3], 0.01);
        }
    }
    let interleaved = of_condition(&trials, "client=node:0 server=node:2 memory=interleave:all");
    only_on(interleaved[0], &[0, 1, 3], 0.0);
    let no_memory = reason(evidence, "run", "client=node:0 server=node:2 memory=bind:2");
    assert!(no_memory.contains("node 2 has no memory"), "{no_memory}");
    let no_cpus = reason(evidence, "run", "client=node:0 server=node:3");
    assert!(no_cpus.contains("has no CPUs"), "{no_cpus}");

    // Only nodes 0 and 1 have both CPUs and memory.
    let ladder: Value = serde_json::from_str(&evidence.step("ladder", 0)).unwrap();
    for condition in ladder["conditions"].as_array().unwrap() {
        let count: u64 = condition["levels"]["nodes"].as_str().unwrap().parse().unwrap();
        assert_eq!(condition["realizable"], json!(count <= 2), "{condition}");
        if count == 2 {
            assert_eq!(condition["placement"]["server"], json!([[0, 2]]));
            assert_eq!(condition["placement"]["memory"], "interleave:0-1");
        }
    }
}

fn offline(evidence: &Evidence) {
    let topo: Value = serde_json::from_str(&evidence.step("offline-topo", 0)).unwrap();
    assert_eq!(topo["pus"], 5);
    assert_eq!(nodes(&topo)[1].0, "2");
    evidence.step("offline-run", 0);
    let trials = trials(&evidence.path("offline"));
    assert_eq!(trials.len(), 1);
    kept_to(&trials[0], "client", &cpus("2"), 1);
    kept_to(&trials[0], "server", &cpus("0-1"), 1);
    // Without a policy, memory is on the node of the server's threads.
    only_on(&trials[0], &[0], 0.01);
    let offline = reason(evidence, "offline", "client=node:1 server=cpus:3");
    assert_eq!(offline, "CPU 3 is offline");
    let gone = reason(evidence, "offline", "client=node:1 server=node:1.pu:1");
    assert!(gone.contains("node:1.pu:1 does not exist"), "{gone}");
}

/// The affinity that the kernel gives a process outside is the proof: the shield is a real partition of a real cgroup.
fn shield(evidence: &Evidence) {
    let allowed = |name: &str| {
        let text = evidence.text(name);
        text.lines().map(|line| line.rsplit('\t').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(allowed("shield-before"), ["0-5"]);
    evidence.step("shield", 0);
    let during = allowed("shield-during");
    assert!(during.iter().any(|cpus| cpus == "0-1,4-5"), "the other process was never kept out: {during:?}");
    assert!(during.iter().all(|cpus| cpus == "0-1,4-5" || cpus == "0-5"), "{during:?}");
    assert_eq!(allowed("shield-after"), ["0-5"]);
    assert_eq!(evidence.text("shield-group-after"), "");
    let trials = trials(&evidence.path("shield"));
    assert_eq!(trials.len(), 1);
    kept_to(&trials[0], "client", &cpus("2"), 1);
    kept_to(&trials[0], "server", &cpus("3"), 1);
    assert_eq!(verified(&trials[0], "cpu_shield"), "reads back cpus:2-3");

    assert_eq!(allowed("shield-killed-allowed"), ["0-1,4-5"], "kill -9 hit no shield");
    let report = evidence.step("shield-restore", 0);
    assert!(report.contains("cpu_shield"), "{report}");
    assert_eq!(allowed("shield-restored"), ["0-5"]);
    assert_eq!(evidence.text("shield-controllers").trim(), "", "the controller stayed on");
    assert_eq!(evidence.text("shield-group-restored"), "");
}

fn cgroup(evidence: &Evidence) {
    let topo: Value = serde_json::from_str(&evidence.step("cgroup-topo", 0)).unwrap();
    assert_eq!(topo["pus"], 3);
    // Node 1 keeps its CPUs but not its memory.
    assert_eq!(nodes(&topo), [("0".to_owned(), true), ("2-3".to_owned(), false)]);
    evidence.step("cgroup-run", 0);
    let trials = trials(&evidence.path("cgroup"));
    for (server, its_cpus) in [("node:0", "0"), ("node:1", "2-3"), ("all memory=interleave:all", "0,2-3")] {
        for trial in of_condition(&trials, &format!("client=all server={server}")) {
            kept_to(trial, "client", &cpus("0,2-3"), 1);
            kept_to(trial, "server", &cpus(its_cpus), 1);
            only_on(trial, &[0], 0.0);
        }
    }
    assert_eq!(trials.len(), 3);
    let outside = reason(evidence, "cgroup", "client=all server=cpus:1");
    assert_eq!(outside, "CPU 1 is outside this process's cgroup cpuset");
    let memory = reason(evidence, "cgroup", "client=all server=all memory=bind:1");
    assert!(memory.contains("node 1 is outside this process's cgroup cpuset"), "{memory}");
}
