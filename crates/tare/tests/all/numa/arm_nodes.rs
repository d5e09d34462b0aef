//! The program on 64-bit Arm: four nodes in software emulation, the embedded engine and one condition of MariaDB. `make
//! arm` builds the programs for it; `scripts/arm-exact` tests the counters for exactness.

use std::time::Duration;

use serde_json::{Value, json};

use crate::numa::counting;
use crate::numa::four_nodes::ladder;
use crate::numa::guest::Guest;
use crate::numa::image::{Image, cell_of_mariadb};
use crate::numa::judge::{interleaved_over, of_condition, only_on, pairs, policies_hold, trials};
use crate::numa::machine::{DISTANCES_OF_FOUR, Evidence, Machine};

/// Common part of both studies: the file is not mapped, because mapped pages stay on the node where they were written.
const HEAD: &str = r#"
[engine]
name = "sqlite"
[engine.options]
mmap_size = 0
[workload]
threads = 2
rows = 10000
[sampling]
steal_limit = "off"
foreign_cpu_limit = "off"
trials = 1
warmup_s = 0.2
sample_s = 1
"#;

const POLICIES: &str = r#"
[placement]
client = "node:1"
server = "node:0"
[factors]
memory = ["default", "local", "bind:0", "bind:3", "preferred:1", "interleave:all"]
"#;

/// On cores with one hardware thread and without known caches, three pairings are possible.
const PAIRS: &str = r#"
[placement]
client = "node:0.pu:0+node:2.pu:0"
server = "node:0+node:2"
bind = "thread"
[factors]
pairing = ["same-pu", "same-node", "other-node"]
"#;

#[test]
#[ignore = "boots a virtual machine with cross-built programs: make arm"]
fn on_arm_topology_placement_pairs_and_pages_are_as_requested() {
    let guest = Guest::Aarch64;
    let image = Image::arm(guest);
    counting::prepare(&image);
    // The virtual machine prepares its own data, with the server's own script.
    let places = ["node:0.pu:0+node:2.pu:0", "node:0.pu:1+node:2.pu:1"];
    image.write("studies/mariadb.toml", &cell_of_mariadb(500, [0.5, 1.0], places));
    for (name, text) in [("policies", POLICIES), ("pairs", PAIRS)] {
        image.write(&format!("studies/{name}.toml"), &format!("name = \"{name}\"\n{HEAD}{text}"));
    }
    let evidence = Machine::of_four_nodes(512).boot(&image, include_str!("guest/arm-nodes"), Duration::from_secs(1800));
    let topo: Value = serde_json::from_str(&evidence.step("topo", 0)).unwrap();
    assert_eq!((&topo["distances"], &topo["pus"]), (&json!(DISTANCES_OF_FOUR), &json!(8)));
    let environment: Value = serde_json::from_str(&evidence.text("sqlite/environment.json")).unwrap();
    let name = environment["cpu_model"].as_str().unwrap();
    assert!(name.starts_with("Cortex-A72 r"), "{name}, of {}", evidence.text("midr"));
    let climbed = ladder(&evidence, "sqlite");
    assert_eq!(climbed.len(), 3 * 2, "1, 2 and 4 nodes by 2 workloads");
    for (trial, nodes) in climbed {
        only_on(&trial, &nodes, 0.0);
    }
    policies(&evidence);
    paired(&evidence);
    counting::judge(&evidence, "6-7");
    counting::strategies(&evidence, "counters", 14);
    evidence.step("mariadb", 0);
    let cell = trials(&evidence.path("mariadb"));
    assert_eq!((cell.len(), pairs(&cell[0])), (1, vec![(0, 1), (4, 5)]));
    interleaved_over(&cell[0], &[0, 1, 2, 3]);
}

fn policies(evidence: &Evidence) {
    let trials =
        policies_hold(evidence, &[("default", 0), ("local", 0), ("bind:0", 0), ("bind:3", 3), ("preferred:1", 1)]);
    for trial in of_condition(&trials, "memory=interleave:all") {
        interleaved_over(trial, &[0, 1, 2, 3]);
    }
}

fn paired(evidence: &Evidence) {
    evidence.step("pairs", 0);
    let trials = trials(&evidence.path("pairs"));
    for (pairing, expected) in
        [("same-pu", [(0, 0), (4, 4)]), ("same-node", [(0, 1), (4, 5)]), ("other-node", [(0, 5), (4, 1)])]
    {
        for trial in of_condition(&trials, &format!("pairing={pairing}")) {
            assert_eq!(pairs(trial), expected, "{pairing}");
        }
    }
}
