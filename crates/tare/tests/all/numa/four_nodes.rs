//! A small version of article D's machine: 4 nodes with its distances, 2 cores each.

use std::time::Duration;

use serde_json::{Value, json};

use crate::numa::counting;
use crate::numa::image::{Image, preparing};
use crate::numa::judge::{cpus, interleaved_over, kept_to, memory, only_on, pool, trials};
use crate::numa::machine::{DISTANCES_OF_FOUR, Evidence, Machine};

/// A server on one node whose pool is interleaved over all nodes.
const POOL: &str = r#"
name = "pool"
[engine]
name = "mariadb"
[engine.options]
innodb_log_file_size = "8M"
[workload]
name = "read_only"
rows = 10000
threads = 2
preload = "on"
[placement]
client = "node:2"
server = "node:1"
pool_memory = "interleave:all"
[capture]
memory = true
[sampling]
steal_limit = "off"
foreign_cpu_limit = "off"
probe = "off"
trials = 1
attempts = 1
warmup_s = 0.1
sample_s = 0.4
"#;

/// The study for PostgreSQL, without InnoDB's option.
fn of_postgresql(study: &str) -> String {
    study.replace("mariadb", "postgresql").replace("[engine.options]\ninnodb_log_file_size = \"8M\"\n", "")
}

fn boot() -> Evidence {
    let image = Image::new();
    image.postgresql();
    // The data of `numa-scaling --quick`, prepared on the host.
    image.prepare(&preparing(10_000));
    image.prepare(&of_postgresql(&preparing(10_000)));
    counting::prepare(&image);
    image.write("studies/pool.toml", POOL);
    image.write("studies/pool-postgresql.toml", &of_postgresql(POOL));
    Machine::of_four_nodes(1024).boot(&image, include_str!("guest/four-nodes"), Duration::from_secs(900))
}

#[test]
#[ignore = "boots a virtual machine: make test-numa"]
fn the_ladder_of_article_d_keeps_threads_and_pages_on_its_nodes() {
    let evidence = boot();
    let topo: Value = serde_json::from_str(&evidence.step("topo", 0)).unwrap();
    assert_eq!(topo["distances"], json!(DISTANCES_OF_FOUR));
    measured(&evidence);
    counting::judge(&evidence, "6-7");
    let on_mariadb = ladder(&evidence, "mariadb");
    assert_eq!(on_mariadb.len(), 1, "4 nodes");
    for (trial, nodes) in on_mariadb {
        interleaved_over(&trial, &nodes);
    }
    held(&evidence);
    pool_apart(&evidence, "pool");
    pool_apart(&evidence, "pool-postgresql");
    away(&evidence, "pool");
    let on_sqlite = ladder(&evidence, "sqlite");
    assert_eq!(on_sqlite.len(), 2, "1 and 2 nodes");
    for (trial, nodes) in on_sqlite {
        // SQLite allocates too few pages for an even distribution.
        only_on(&trial, &nodes, 0.0);
    }
}

/// The pool must be on all nodes, and the other memory on the node of the server's threads.
fn pool_apart(evidence: &Evidence, step: &str) {
    evidence.step(step, 0);
    let trial = trials(&evidence.path(step)).remove(0);
    let pool = pool(&trial);
    eprintln!("{step}: {pool:?}");
    let even = pool.values().sum::<f64>() / 4.0;
    assert!(even > 2.5e5 && pool.len() == 4, "{pool:?}");
    assert!(pool.values().all(|bytes| (bytes - even).abs() <= 0.05 * even), "{pool:?}");
    only_on(&trial, &[1], 0.02);
}

/// The server runs on one node, and three quarters of its pool are on others.
fn away(evidence: &Evidence, step: &str) {
    let why: Value = serde_json::from_str(&evidence.step(&format!("{step}-why"), 0)).unwrap();
    let trial = trials(&evidence.path(step)).remove(0);
    let [pool, rest] = [pool(&trial), memory(&trial)].map(|nodes| nodes.values().sum::<f64>());
    let share = why["sides"][0]["away_from_memory"].as_f64().unwrap();
    eprintln!("{step}: {share} of the work away from its memory, pool {pool}, rest {rest}");
    assert!((share / (0.75 * pool / (pool + rest)) - 1.0).abs() < 0.1, "{share}, {pool}, {rest}: {why}");
}

/// With `innodb_numa_interleave`, which ignores the policy that the server inherits.
fn held(evidence: &Evidence) {
    let held = ladder(evidence, "held");
    assert_eq!(held.len(), 1, "2 of the 4 nodes");
    for (trial, nodes) in held {
        only_on(&trial, &nodes, 0.0);
        let settings = trial["settings"].to_string();
        assert!(settings.contains("cpuset.mems of the server's control group is"), "{settings}");
    }
    assert_eq!((evidence.text("held-controllers").trim(), evidence.text("held-groups").trim()), ("", ""));
    let refused: Value = serde_json::from_str(&evidence.step("refused", 0)).unwrap();
    for condition in refused["conditions"].as_array().unwrap() {
        let reason = condition["reason"].as_str().unwrap_or_default();
        let nodes = condition["levels"]["nodes"].as_str().unwrap();
        match nodes {
            "1" | "2" => assert!(reason.starts_with("innodb_numa_interleave spreads the buffer pool"), "{condition}"),
            "4" => assert_eq!(condition["realizable"], true, "{condition}"),
            _ => assert!(reason.contains("8 nodes are requested"), "{condition}"),
        }
    }
}

/// Tables of the right shape, filled; the values mean nothing in emulation.
fn measured(evidence: &Evidence) {
    let topo: Value = serde_json::from_str(&evidence.step("measure", 0)).unwrap();
    let measured = &topo["measured"];
    assert_eq!(measured["cpus"], json!([0, 1, 2, 3, 4, 5, 6, 7]));
    let table = |name: &str| -> Vec<Vec<Option<f64>>> { serde_json::from_value(measured[name].clone()).unwrap() };
    let lines = table("line_ns");
    for (i, row) in lines.iter().enumerate() {
        for (j, ns) in row.iter().enumerate() {
            assert_eq!(ns.is_some_and(|ns| ns > 0.0), i != j, "line {i} to {j}: {ns:?}");
            assert_eq!(*ns, lines[j][i]);
        }
    }
    for name in ["latency_ns", "bandwidth_bytes_per_s"] {
        let table = table(name);
        assert_eq!((table.len(), table[0].len()), (4, 4), "{name}");
        assert!(table.iter().flatten().all(|value| value.is_some_and(|v| v > 0.0)), "{name}: {table:?}");
    }
    let sentence = measured["costs"]["sentences"][0].as_str().unwrap();
    assert!(sentence.starts_with("a cache line to another node takes"), "{sentence}");
    assert!(evidence.text("heat.html").contains("<svg"), "heat maps");
}

/// Every trial must have run on exactly the first nodes: on the second CPU of each for the clients, and the first for
/// the server. Returns each trial with the nodes of its memory.
pub fn ladder(evidence: &Evidence, name: &str) -> Vec<(Value, Vec<u64>)> {
    evidence.step(name, 0);
    let trials = trials(&evidence.path(name)).into_iter();
    let checked = trials.map(|trial| {
        let level = |factor: &str| trial["levels"][factor].as_str().unwrap().parse::<usize>().unwrap();
        let (nodes, threads) = (level("nodes"), level("threads"));
        let (client, server) = match nodes {
            1 => ("1", "0"),
            2 => ("1,3", "0,2"),
            4 => ("1,3,5,7", "0,2,4,6"),
            other => panic!("{other} nodes"),
        };
        kept_to(&trial, "client", &cpus(client), threads);
        kept_to(&trial, "server", &cpus(server), threads);
        for thread in crate::numa::judge::threads(&trial, "background") {
            assert!(crate::numa::judge::seen(thread).is_subset(&cpus(server)), "{thread}");
        }
        (trial, (0..nodes as u64).collect())
    });
    checked.collect()
}
