//! Machines as hwloc describes them: this one, synthetic ones, and what is found in the wild.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod common;

use common::{ARTICLE_A, from_xml, hybrid, lopsided, set, synthetic};
use tare_topology::{Machine, MachineError, Origin, ThreadRef, bind};

#[test]
fn article_a_has_its_vcpu_numbers() {
    let machine = synthetic(ARTICLE_A);
    assert_eq!(
        (machine.package_count(), machine.core_count(), machine.pu_count(), machine.node_count()),
        (2, 12, 24, 2)
    );
    assert_eq!(machine.cpus(), set("0-23"));
    assert_eq!(machine.packages[0].cpus, set("0-11"));
    assert_eq!(machine.nodes[1].cpus, set("12-23"));
    assert_eq!(machine.cores[0].cpus, set("0,1"));
    let pu = &machine.pus[13];
    assert_eq!((pu.os_index, pu.core, pu.package, pu.node), (13, Some(6), Some(1), Some(1)));
}

#[test]
fn a_machine_without_packages_has_none() {
    let machine = synthetic("node:4 core:32 pu:1");
    assert_eq!((machine.package_count(), machine.core_count(), machine.node_count()), (0, 128, 4));
    assert_eq!(machine.nodes[3].cpus, set("96-127"));
    assert!(machine.nodes.iter().all(|node| node.memory_bytes > 0));
}

#[test]
fn caches_are_listed_with_level_size_and_cpus() {
    let machine = synthetic("package:1 l3:2(size=32MiB) l2:2(size=512KiB) core:1 pu:2");
    let l3: Vec<_> = machine.caches.iter().filter(|cache| cache.level == 3).collect();
    assert_eq!((l3.len(), l3[1].size_bytes, &l3[1].cpus), (2, Some(32 << 20), &set("4-7")));
    assert_eq!(machine.pus[5].last_level_cache, Some(1));
    assert_eq!(machine.caches[1].cpus, set("4-7"));
}

#[test]
fn lopsided_machines_keep_every_node() {
    let machine = lopsided();
    let nodes: Vec<_> = machine.nodes.iter().map(|n| (n.os_index, n.cpus.to_string(), n.memory_bytes >> 30)).collect();
    let mut by_number = nodes.clone();
    by_number.sort();
    let expected = [(0, "0-1,6-7", 4), (1, "2-4", 2), (2, "5", 0), (3, "", 1)];
    assert_eq!(by_number, expected.map(|(node, cpus, gib)| (node, cpus.to_owned(), gib)));
    assert_eq!(machine.memory_nodes(), set("0-1,3"));
    assert_eq!(machine.excluded.offline, set("9"));
    assert_eq!(machine.excluded.reason(9), Some("is offline"));
    // Logical order follows the tree, not the OS's numbers.
    let order: Vec<u32> = machine.pus.iter().map(|pu| pu.os_index).collect();
    assert_eq!(order, [0, 6, 1, 7, 2, 3, 4, 5]);
}

#[test]
fn distances_follow_the_order_of_the_nodes() {
    let machine = lopsided();
    let distances = machine.distances.as_ref().unwrap();
    let at = |node: u32| machine.nodes.iter().position(|n| n.os_index == node).unwrap();
    assert_eq!(distances[at(0)][at(3)], 33);
    assert_eq!((distances[at(2)][at(3)], distances[at(3)][at(2)]), (16, 17));
    assert_eq!(synthetic("node:2 pu:2").distances, None);
}

#[test]
fn hybrid_cores_know_their_kind() {
    let machine = hybrid();
    let names: Vec<_> = machine.cpu_kinds.iter().map(|kind| kind.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["IntelAtom", "IntelCore"]);
    assert_eq!(machine.cpu_kinds[0].cpus, set("4-7"));
    assert!(machine.cpu_kinds[0].efficiency < machine.cpu_kinds[1].efficiency);
    let kinds: Vec<_> = machine.cores.iter().map(|core| core.kind).collect();
    assert_eq!(kinds, [Some(1), Some(1), Some(0), Some(0), Some(0), Some(0)]);
    assert!(synthetic(ARTICLE_A).cpu_kinds.is_empty());
}

#[test]
fn this_machine_is_what_the_kernel_lets_us_use() {
    let machine = Machine::this().unwrap();
    assert_eq!(machine.origin, Origin::This);
    assert_eq!(machine.cpus(), bind::affinity_of(ThreadRef::of_this_thread()).unwrap());
    assert_eq!(machine.pus.iter().filter(|pu| pu.node.is_some()).count(), machine.pu_count());
}

#[test]
fn cpus_outside_the_affinity_do_not_count() {
    // Only this thread is restricted; the process is not.
    let cpus = bind::affinity_of(ThreadRef::of_this_thread()).unwrap();
    assert!(cpus.len() > 1, "this test needs two CPUs");
    let last = cpus.last().unwrap();
    bind::bind_thread(ThreadRef::of_this_thread(), &last.into()).unwrap();
    let machine = Machine::this().unwrap();
    assert_eq!((machine.cpus(), machine.core_count()), (last.into(), 1));
    assert_eq!(machine.excluded.affinity, cpus.difference(&last.into()));
    assert!(
        "cpus:0".parse::<tare_topology::Location>().unwrap().resolve(&machine).unwrap_err().reason.contains("affinity")
    );
    assert_eq!("core:0.pu:0".parse::<tare_topology::Location>().unwrap().resolve(&machine), Ok(last.into()));
    bind::bind_thread(ThreadRef::of_this_thread(), &cpus).unwrap();
}

#[test]
fn a_machine_survives_storage() {
    for machine in [Machine::this().unwrap(), lopsided(), hybrid(), synthetic(ARTICLE_A)] {
        let json = serde_json::to_string(&machine).unwrap();
        assert_eq!(serde_json::from_str::<Machine>(&json).unwrap(), machine);
    }
}

#[test]
fn a_spec_is_a_file_or_a_description() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("none.xml");
    assert!(matches!(Machine::describe(missing.to_str().unwrap()), Err(MachineError::XmlUnreadable { .. })));
    let odd_name = folder.path().join("machine");
    for bad in ["", "not XML", "<topology", "<a/>", "<topology version=\"2.0\"></topology>", "\0"] {
        std::fs::write(&odd_name, bad).unwrap();
        assert!(
            matches!(Machine::describe(odd_name.to_str().unwrap()), Err(MachineError::XmlInvalid { .. })),
            "{bad:?}"
        );
    }
    std::fs::write(&odd_name, common::xml(&[], &[], 0, "")).unwrap();
    assert!(Machine::describe(odd_name.to_str().unwrap()).is_err());
    assert_eq!(Machine::describe("package:1 core:2 pu:1").unwrap().pu_count(), 2);
    for bad in ["", "node:4 core:", "cores:4", "node:-1", "pu:0", "node:4\0", "folder/none"] {
        let e = Machine::describe(bad).unwrap_err();
        assert!(matches!(e, MachineError::Synthetic { .. }), "{bad:?}: {e}");
    }
    let _ = from_xml(&common::xml(&[common::TestPackage { memory_bytes: 0, cores: vec![vec![0]] }], &[], 0, ""));
}
