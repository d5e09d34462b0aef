//! A small version of article D's machine: 4 nodes with its distances, 2 cores each.

use std::time::Duration;

use serde_json::{Value, json};

use crate::numa::counting;
use crate::numa::image::{Image, preparing};
use crate::numa::judge::{Cpus, interleaved_over, kept_to, memory, only_on, pool, trials};
use crate::numa::machine::{DISTANCES_OF_FOUR, Evidence, Machine};
use crate::numa::memory_studies;

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

/// The study for MySQL, whose program is at `path`.
fn of_mysql(study: &str, path: &str) -> String {
    study
        .replace("name = \"mariadb\"", &format!("name = \"mysql\"\nbinary = \"{path}\""))
        .replace("innodb_log_file_size", "innodb_redo_log_capacity")
}

/// On MySQL, the pool is interleaved over two nodes only, on which a cpuset keeps it: the policy that `memory` sets is
/// not the pool's. Without performance_schema the server starts faster.
fn pool_of_mysql(path: &str) -> String {
    of_mysql(POOL, path)
        .replace("pool_memory = \"interleave:all\"", "pool_memory = \"interleave:0-1\"\nmemory = \"bind:0-1\"")
        .replace("[workload]", "performance_schema = \"OFF\"\n[workload]")
}

fn boot() -> Evidence {
    let image = Image::new();
    image.postgresql();
    let mysql = image.mysql();
    // The data of `numa-scaling --quick`, prepared on the host.
    image.prepare(&preparing(10_000));
    image.prepare(&of_postgresql(&preparing(10_000)));
    image.prepare(&of_mysql(&preparing(10_000), &mysql));
    counting::prepare(&image);
    image.write("studies/pool.toml", POOL);
    image.write("studies/pool-postgresql.toml", &of_postgresql(POOL));
    image.write("studies/pool-mysql.toml", &pool_of_mysql(&mysql));
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
    held_by_version_1(&evidence);
    pool_apart(&evidence, "pool", &[0, 1, 2, 3], 0.02);
    pool_apart(&evidence, "pool-postgresql", &[0, 1, 2, 3], 0.02);
    // What MySQL allocates for its pool's management is interleaved with it.
    let on_mysql = pool_apart(&evidence, "pool-mysql", &[0, 1], 0.1);
    assert_eq!(nodes_of_group(&on_mysql), "0-1");
    away(&evidence, "pool");
    memory_studies::matrix(&evidence);
    let on_sqlite = ladder(&evidence, "sqlite");
    assert_eq!(on_sqlite.len(), 2, "1 and 2 nodes");
    for (trial, nodes) in on_sqlite {
        // SQLite allocates too few pages for an even distribution.
        only_on(&trial, &nodes, 0.0);
    }
}

/// The pool must be on exactly these nodes, and the other memory on the node of the server's threads, except for a
/// fraction `stray`.
fn pool_apart(evidence: &Evidence, step: &str, nodes: &[u64], stray: f64) -> Value {
    evidence.step(step, 0);
    let trial = trials(&evidence.path(step)).remove(0);
    let pool = pool(&trial);
    eprintln!("{step}: {pool:?}");
    let even = pool.values().sum::<f64>() / nodes.len() as f64;
    assert!(even > 2.5e5 && pool.keys().eq(nodes), "{pool:?}");
    assert!(pool.values().all(|bytes| (bytes - even).abs() <= 0.05 * even), "{pool:?}");
    only_on(&trial, &[1], stray);
    trial
}

/// The nodes that a trial's record says its server's control group had.
fn nodes_of_group(trial: &Value) -> String {
    const SAYS: &str = "cpuset.mems of the server's control group is ";
    let settings = trial["settings"].to_string();
    let (_, nodes) = settings.split_once(SAYS).unwrap_or_else(|| panic!("no control group: {settings}"));
    nodes.chars().take_while(|c| c.is_ascii_digit() || ",-".contains(*c)).collect()
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
        assert_eq!(nodes_of_group(&trial), "0-1");
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

/// The same under control groups of version 1, on nodes that are not the first ones.
fn held_by_version_1(evidence: &Evidence) {
    let mounts = evidence.text("version-1-mounts");
    assert!(mounts.lines().any(|line| line.starts_with("cpuset ")) && !mounts.contains("cgroup2"), "{mounts}");
    let held = ladder_over(evidence, "version-1", &[0, 2]);
    assert_eq!(held.len(), 1, "2 of the 4 nodes");
    for (trial, nodes) in held {
        only_on(&trial, &nodes, 0.0);
        assert_eq!(nodes_of_group(&trial), "0,2");
    }
    assert_eq!(evidence.text("version-1-groups").trim(), "");
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

/// A ladder over the first nodes.
pub fn ladder(evidence: &Evidence, name: &str) -> Vec<(Value, Vec<u64>)> {
    ladder_over(evidence, name, &[0, 1, 2, 3])
}

/// Every trial must have run on exactly as many of the nodes in `order` as its level says: on the second CPU of each
/// for the clients, and the first for the server. Returns each trial with the nodes of its memory.
fn ladder_over(evidence: &Evidence, name: &str, order: &[u64]) -> Vec<(Value, Vec<u64>)> {
    evidence.step(name, 0);
    let trials = trials(&evidence.path(name)).into_iter();
    let checked = trials.map(|trial| {
        let level = |factor: &str| trial["levels"][factor].as_str().unwrap().parse::<usize>().unwrap();
        let nodes = &order[..level("nodes")];
        let [server, client]: [Cpus; 2] = [0, 1].map(|cpu| nodes.iter().map(|node| 2 * node + cpu).collect());
        kept_to(&trial, "client", &client, level("threads"));
        kept_to(&trial, "server", &server, level("threads"));
        for thread in crate::numa::judge::threads(&trial, "background") {
            assert!(crate::numa::judge::seen(thread).is_subset(&server), "{thread}");
        }
        (trial, nodes.to_vec())
    });
    checked.collect()
}
