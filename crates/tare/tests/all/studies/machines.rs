//! On any described machine, every built-in study has a plan without duplicates, or a reason for having none.

use std::collections::BTreeSet;

use crate::support::{World, json};
use crate::topology_common::{TestPackage, xml};

/// Built-in studies, and those of the articles at their published size.
const STUDIES: [(&str, bool); 11] = [
    ("first-look", false),
    ("luck", false),
    ("mind-your-core", false),
    ("numa-scaling", false),
    ("global-counters", false),
    ("single-thread-stability", false),
    ("no-effect-list", false),
    ("mind-your-core", true),
    ("numa-scaling", true),
    ("global-counters", true),
    ("single-thread-stability", true),
];

/// Levels that determine a placement; the plan shows the resolved placement as well.
const SAY_WHERE: [&str; 11] = [
    "placement",
    "client",
    "server",
    "background",
    "bind",
    "pairing",
    "memory",
    "nodes",
    "caches",
    "client_pus_per_node",
    "client_pus",
];

/// A plan's conditions are distinct, and each has CPUs or a reason.
fn judge(machine: &str, study: &str, document: &serde_json::Value) {
    let mut seen = BTreeSet::new();
    for condition in document["conditions"].as_array().unwrap() {
        let name = &condition["name"];
        if condition["realizable"] != true {
            let reason = condition["reason"].as_str().unwrap_or_default();
            assert!(reason.len() > 10, "{study} on {machine}: {name} has no reason");
            continue;
        }
        // Both of its placements have the same CPUs: one leaves the pairing to chance.
        if study == "luck" {
            continue;
        }
        let levels = condition["levels"].as_object().unwrap().iter();
        let others: Vec<String> =
            levels.filter(|(key, _)| !SAY_WHERE.contains(&key.as_str())).map(|(k, v)| format!("{k}={v}")).collect();
        // Whether the pairing of several bound server threads is drawn in every trial.
        let chance = condition["settings"]["placement.bind"] == "thread"
            && condition["settings"]["placement.pairing"] == "none"
            && condition["placement"]["server"].as_array().is_some_and(|server| server.len() > 1);
        let what = (others, chance, condition["placement"].to_string());
        assert!(seen.insert(what), "{study} on {machine}: {name} is the same as another");
    }
}

/// The plan of every study on a machine.
fn plans(world: &World, machine: &str) {
    for (study, article) in STUDIES {
        // At the published size the conditions are the same, so a few of the machines are enough.
        if article && !["node:4 core:16 pu:2", "cxl.xml", "hybrid.xml"].contains(&machine) {
            continue;
        }
        let article: &[&str] = if article { &["--article"] } else { &[] };
        let args = [&["run", study, "--dry-run", "--json", "--topology", machine], article].concat();
        let output = world.tare(&args).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => judge(machine, study, &json(&String::from_utf8(output.stdout).unwrap())),
            Some(3) => assert!(err.contains("the described machine can"), "{study} on {machine}: {err}"),
            other => panic!("{study} on {machine}: {other:?} {err}"),
        }
    }
}

fn machines_of(nodes: &[u32], inside: &str) {
    let world = World::new();
    for nodes in nodes {
        plans(&world, &format!("node:{nodes} {inside}"));
    }
}

#[test]
fn built_in_studies_have_a_plan_or_a_reason_on_few_and_many_nodes_without_smt() {
    machines_of(&[1, 3, 24], "core:6 pu:1");
}

#[test]
fn built_in_studies_have_a_plan_or_a_reason_on_1_to_8_nodes_with_smt() {
    machines_of(&[1, 2, 4, 8], "core:16 pu:2");
}

#[test]
fn built_in_studies_have_a_plan_or_a_reason_on_nodes_with_shared_caches() {
    machines_of(&[2, 8], "l3:4 core:4 pu:2");
}

#[test]
fn built_in_studies_have_a_plan_or_a_reason_on_many_packages_and_threads() {
    let world = World::new();
    // Nodes within packages, several packages per node, one huge node, and more than two threads per core.
    let others =
        ["package:2 node:4 l3:2 core:8 pu:2", "node:2 package:2 core:4 pu:2", "package:8 core:64 pu:2", "node:2 pu:1"];
    for machine in others.into_iter().chain(["node:2 core:12 pu:8", "package:2 die:2 l2:2 core:2 pu:1"]) {
        plans(&world, machine);
    }
}

#[test]
fn built_in_studies_have_a_plan_or_a_reason_on_unequal_nodes_and_cores() {
    let world = World::new();
    let cores = |first: u32, count: u32, threads: u32| -> Vec<Vec<u32>> {
        (0..count).map(|c| (0..threads).map(|t| first + c * threads + t).collect()).collect()
    };
    let package = |memory_bytes: u64, cores: Vec<Vec<u32>>| TestPackage { memory_bytes, cores };
    let gib = 1u64 << 30;
    let hybrid = [cores(0, 6, 2), cores(12, 8, 1)].concat();
    let kinds =
        "<cpukind cpuset=\"0xff000\" forced_efficiency=\"0\"/><cpukind cpuset=\"0xfff\" forced_efficiency=\"1\"/>";
    let zoo = [
        ("cxl", xml(&[package(gib, cores(0, 8, 2)), package(gib, cores(16, 8, 2))], &[8 * gib, 8 * gib], 0, "")),
        ("hybrid", xml(&[package(gib, hybrid)], &[], 0, kinds)),
        ("unequal", xml(&[package(gib, cores(0, 6, 2)), package(gib, cores(12, 7, 1))], &[], 0, "")),
        ("bare", xml(&[package(gib, cores(0, 6, 2)), package(0, cores(12, 6, 2))], &[], 0, "")),
        ("offline", xml(&[package(gib, cores(0, 6, 1)), package(gib, cores(6, 6, 1))], &[], 3 << 30, "")),
        ("untold", xml(&[package(0, cores(0, 6, 2)), package(0, cores(12, 6, 2))], &[], 0, "")),
        ("one", xml(&[package(gib, cores(0, 1, 1))], &[gib], 0, "")),
    ];
    for (name, text) in zoo {
        let file = format!("{name}.xml");
        std::fs::write(world.path(&file), text).unwrap();
        plans(&world, &file);
    }
}
