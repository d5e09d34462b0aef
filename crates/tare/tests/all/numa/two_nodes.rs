//! Article A's machine: 24 vCPUs, 2 nodes, 2 threads per core.

use std::time::Duration;

use serde_json::Value;

use crate::numa::image::{Image, cell_of_mariadb, preparing};
use crate::numa::judge::{Cpus, cpus, interleaved_over, kept_to, of_condition, pairs, policies_hold, trials};
use crate::numa::machine::{Evidence, Machine, Node};
use crate::numa::memory_studies;

/// Server on node 0, with the memory policy of each level; interleaving is tested with MariaDB, no policy, preferred
/// nodes and a node without CPUs in `odd_nodes`. The file is not mapped: mapped pages stay on the node where they were
/// written.
const POLICIES: &str = r#"
name = "policies"
[engine]
name = "sqlite"
[engine.options]
mmap_size = 0
[workload]
threads = 2
rows = 20000
[sampling]
steal_limit = "off"
foreign_cpu_limit = "off"
probe = "off"
trials = 1
warmup_s = 0.1
sample_s = 0.4
[placement]
client = "node:1.core:0"
server = "node:0.core:2-3"
[factors]
memory = ["local", "bind:1"]
"#;

const KILLED: &str = r#"
name = "killed"
[machine]
numa_balancing = "off"
[workload]
rows = 500
[sampling]
steal_limit = "off"
foreign_cpu_limit = "off"
probe = "off"
trials = 1
warmup_s = 60
sample_s = 60
"#;

/// A part of the grid: two cells with client locations of each kind and node; of the balanced conditions, those of one
/// PU per role and node. The complete plan is checked for the CPUs of all others.
fn grid_in_part() -> String {
    let whole = include_str!("../../../../../studies/mind-your-core.toml");
    let parts: Vec<&str> = whole.split("[[conditions]]").collect();
    let [head, _, _, both, _, apart, pairs] = parts[..] else { panic!("the grid is another one") };
    let cells = IN_GRID.map(|(client, server)| format!("\nclient = \"{client}\"\nserver = \"{server}\"\n"));
    let cells = cells.iter().map(String::as_str).chain([both, apart, pairs]);
    std::iter::once(head).chain(cells).collect::<Vec<_>>().join("[[conditions]]")
}

const IN_GRID: [(&str, &str); 2] =
    [("node:near.core:0", "node:near.core:2-"), ("node:far.core:0-1.pu:0", "node:near.core:2-3.pu:0")];

fn boot() -> Evidence {
    let image = Image::new();
    // The same data is prepared on the host, with little measurement.
    image.prepare(&preparing(2000));
    std::fs::create_dir(image.at("studies")).unwrap();
    // The article's first balanced condition, every pair on one node.
    let cell = cell_of_mariadb(2000, [0.2, 0.6], ["node:0-1.core:0.pu:0", "node:0-1.core:2.pu:0"]);
    for (name, text) in
        [("grid", grid_in_part().as_str()), ("policies", POLICIES), ("mariadb", &cell), ("killed", KILLED)]
    {
        image.write(&format!("studies/{name}.toml"), text);
    }
    let node = |cpus| Node { cpus: Some(cpus), memory_mib: Some(1024) };
    let machine = Machine {
        smp: "24,sockets=2,cores=6,threads=2",
        nodes: vec![node("0-11"), node("12-23")],
        distances: &[(0, 1, 20)],
    };
    machine.boot(&image, include_str!("guest/two-nodes"), Duration::from_secs(900))
}

#[test]
#[ignore = "boots a virtual machine: make test-numa"]
fn placements_and_policies_on_the_machine_of_article_a_are_as_requested() {
    let evidence = boot();
    let topo: Value = serde_json::from_str(&evidence.step("topo", 0)).unwrap();
    assert_eq!((&topo["packages"], &topo["cores"], &topo["pus"]), (&2.into(), &12.into(), &24.into()));
    assert_eq!(topo["distances"], serde_json::json!([[10, 20], [20, 10]]));
    grid(&evidence);
    numa_balancing(&evidence);
    policies_hold(&evidence, &[("local", 0), ("bind:1", 1)]);
    mariadb(&evidence);
    memory_studies::huge_or_near(&evidence, "0-11");
}

/// Every cell of the article's table must have the article's vCPU numbers, and threads must have run on those.
fn grid(evidence: &Evidence) {
    let plan: Value = serde_json::from_str(&evidence.step("plan", 0)).unwrap();
    let plan = plan["conditions"].as_array().unwrap();
    assert_eq!(plan.len(), 25);
    evidence.step("grid", 0);
    let trials = trials(&evidence.path("grid"));
    assert_eq!(trials.len(), 6);
    let mut proved = 0;
    let clients = [
        ("node:near.core:0", "0,1"),
        ("node:near.core:0-1.pu:0", "0,2"),
        ("node:near.core:0.pu:0", "0"),
        ("node:far.core:0", "12,13"),
        ("node:far.core:0-1.pu:0", "12,14"),
        ("node:far.core:0.pu:0", "12"),
    ];
    let servers = [("node:near.core:2-", "4-11"), ("node:near.core:2-3.pu:0", "4,6"), ("node:near.core:2", "4,5")];
    let mut cells: Vec<(String, &str, &str)> = Vec::new();
    for (client, client_cpus) in clients {
        cells.extend(servers.map(|(server, cpus)| (format!("client={client} server={server}"), client_cpus, cpus)));
    }
    let one = "server=node:near.core:2.pu:0+node:far.core:2.pu:0";
    let both = "client=node:near.core:0.pu:0+node:far.core:0.pu:0";
    for (balanced, client, server) in [
        (
            "client=node:near.core:0+node:far.core:0 server=node:near.core:1-+node:far.core:1- numa_balancing=on"
                .to_owned(),
            "0,1,12,13",
            "2-11,14-23",
        ),
        (format!("{both} {one} numa_balancing=on"), "0,12", "4,16"),
        (format!("{both} {one} numa_balancing=off"), "0,12", "4,16"),
        (format!("client=node:near.core:0.pu:0 {one} numa_balancing=off"), "0", "4,16"),
        (format!("client=node:far.core:0.pu:0 {one} numa_balancing=off"), "12", "4,16"),
        ("client=node:near.core:0.pu:0 server=node:far.core:2.pu:0 numa_balancing=off".to_owned(), "0", "16"),
    ] {
        cells.push((balanced, client, server));
    }
    for (condition, client, server) in &cells {
        let planned = plan.iter().find(|planned| planned["name"] == condition.as_str());
        let planned = &planned.unwrap_or_else(|| panic!("{condition} is not planned"))["placement"];
        assert_eq!((planned_for(planned, "client"), planned_for(planned, "server")), (cpus(client), cpus(server)));
        for trial in trials.iter().filter(|trial| trial["condition"] == condition.as_str()) {
            kept_to(trial, "client", &cpus(client), 2);
            kept_to(trial, "server", &cpus(server), 2);
            proved += 1;
        }
    }
    assert_eq!(proved, 5);
    let condition = format!("{both} {one} bind=thread pairing=same-node numa_balancing=off");
    for trial in of_condition(&trials, &condition) {
        assert_eq!(pairs(trial), [(0, 4), (12, 16)], "{condition}");
    }
}

/// The CPUs of a role in the plan of a condition.
fn planned_for(placement: &Value, role: &str) -> Cpus {
    let sets = placement[role].as_array().unwrap_or_else(|| panic!("{role}: {placement}")).iter();
    sets.flat_map(|set| set.as_array().unwrap().iter().map(|cpu| cpu.as_u64().unwrap())).collect()
}

fn numa_balancing(evidence: &Evidence) {
    let during = evidence.text("balancing-during");
    for value in ["0", "1"] {
        assert!(during.lines().any(|line| line == value), "numa_balancing was never {value} during the grid");
    }
    assert_eq!(evidence.text("balancing-after").trim(), "1", "numa_balancing after the grid");
    for trial in trials(&evidence.path("grid")) {
        let Some(level) = trial["levels"]["numa_balancing"].as_str() else { continue };
        let settings = trial["settings"].as_array().unwrap();
        let applied = settings.iter().find(|s| s["factor"] == "numa_balancing").expect("it was applied");
        assert_eq!(applied["level"], level);
        assert_eq!(applied["verified"], format!("reads back {level}"));
    }
    assert_eq!(evidence.text("balancing-killed").trim(), "0", "numa_balancing after kill -9");
    evidence.step("restore", 0);
    assert_eq!(evidence.text("balancing-restored").trim(), "1", "numa_balancing after tare restore");
}

fn mariadb(evidence: &Evidence) {
    evidence.step("mariadb", 0);
    for trial in trials(&evidence.path("mariadb")) {
        assert_eq!(pairs(&trial), [(0, 4), (12, 16)]);
        interleaved_over(&trial, &[0, 1]);
    }
}
