//! Tests of machines from hwloc: this one, synthetic ones, and real-world cases.

use crate::common::{ARTICLE_A, from_xml, hybrid, lopsided, set, synthetic};
use tare_cpuset::{ThreadRef, affinity_of, bind_thread};
use tare_topology::{Machine, MachineError, Origin, TopologyReader};

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
fn the_layout_of_nodes_distinguishes_clustering_modes() {
    for (machine, words) in [
        (ARTICLE_A, "1 per package"),
        // SNC2 and NPS4 in hwloc's form, and L3 as NUMA.
        ("package:2 node:2 core:4 pu:2", "2 per package"),
        ("package:1 node:4 l3:2 core:2 pu:1", "4 per package"),
        ("package:1 node:4 l3:1 core:2 pu:1", "4 per package, one for each L3 cache"),
        ("package:2 [numa] [numa] core:2 pu:2", "1 per package and 2 with memory only"),
    ] {
        assert_eq!(synthetic(machine).node_layout().to_string(), words, "{machine}");
    }
}

#[test]
fn this_machine_is_what_the_kernel_lets_us_use() {
    let machine = Machine::this().unwrap();
    assert_eq!(machine.origin, Origin::This);
    assert_eq!(machine.cpus(), affinity_of(ThreadRef::of_this_thread()).unwrap());
    assert_eq!(machine.pus.iter().filter(|pu| pu.node.is_some()).count(), machine.pu_count());
}

#[test]
fn cpus_outside_the_affinity_do_not_count() {
    // Only this thread is restricted; the process is not.
    let cpus = affinity_of(ThreadRef::of_this_thread()).unwrap();
    assert!(cpus.len() > 1, "this test needs two CPUs");
    let last = cpus.last().unwrap();
    bind_thread(ThreadRef::of_this_thread(), &last.into()).unwrap();
    let machine = Machine::this().unwrap();
    assert_eq!((machine.cpus(), machine.core_count()), (last.into(), 1));
    assert_eq!(machine.excluded.affinity, cpus.difference(&last.into()));
    assert!(
        "cpus:0".parse::<tare_topology::Location>().unwrap().resolve(&machine).unwrap_err().reason.contains("affinity")
    );
    assert_eq!("core:0.pu:0".parse::<tare_topology::Location>().unwrap().resolve(&machine), Ok(last.into()));
    bind_thread(ThreadRef::of_this_thread(), &cpus).unwrap();
}

#[test]
fn a_machine_survives_storage() {
    for machine in [Machine::this().unwrap(), lopsided(), hybrid(), synthetic(ARTICLE_A)] {
        let json = serde_json::to_string(&machine).unwrap();
        assert_eq!(serde_json::from_str::<Machine>(&json).unwrap(), machine);
    }
}

#[test]
fn a_file_that_describes_no_machine_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("machine");
    assert!(matches!(Machine::from_xml(&file), Err(MachineError::XmlUnreadable { .. })));
    for bad in ["", "not XML", "<topology", "<a/>", "<topology version=\"2.0\"></topology>", "\0"] {
        std::fs::write(&file, bad).unwrap();
        assert!(matches!(Machine::from_xml(&file), Err(MachineError::XmlInvalid { .. })), "{bad:?}");
    }
    std::fs::write(&file, crate::common::xml(&[], &[], 0, "")).unwrap();
    assert!(Machine::from_xml(&file).is_err());
    for bad in ["", "node:4 core:", "cores:4", "node:-1", "pu:0", "node:4\0", "folder/none"] {
        let e = Machine::synthetic(bad).unwrap_err();
        assert!(matches!(e, MachineError::Synthetic { .. }), "{bad:?}: {e}");
    }
    let _ = from_xml(&crate::common::xml(
        &[crate::common::TestPackage { memory_bytes: 0, cores: vec![vec![0]] }],
        &[],
        0,
        "",
    ));
}

#[test]
fn a_file_of_hwloc_3_is_refused_with_the_command_that_writes_version_2() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("machine.xml");
    let version_2 =
        crate::common::xml(&[crate::common::TestPackage { memory_bytes: 1, cores: vec![vec![0]] }], &[], 0, "");
    std::fs::write(&file, version_2.replace("<topology version=\"2.0\">", "<topology version=\"3.0\">")).unwrap();
    let e = Machine::from_xml(&file).unwrap_err();
    assert!(matches!(e, MachineError::XmlTooNew { .. }), "{e}");
    assert!(e.to_string().contains("lstopo --export-xml-flags V2"), "{e}");
}

/// A reader that runs a shell command instead of reading.
fn shell(command: &str) -> TopologyReader {
    TopologyReader::new("sh", ["-c", command])
}

#[test]
fn a_machine_with_more_pus_than_linux_supports_is_refused_before_it_is_made() {
    for large in
        ["core:99999 pu:99999", "8193", "node:3(memory=1 GB) [numa(memory=2)] core:1366 2", "pu:8193(indexes=1)"]
    {
        let e = shell("exec sleep 60").synthetic(large).unwrap_err();
        assert!(matches!(e, MachineError::TooManyPus { most: 8192, .. }), "{large}: {e}");
    }
    for small in ["pu:8192", "node:2(memory=8193) core:64 pu:2", "core:64[numa:9000] pu:2", "core:x pu:y"] {
        let e = shell("exit 7").synthetic(small).unwrap_err();
        assert!(matches!(e, MachineError::Reader { .. }), "{small}: {e}");
    }
    // What a file describes is known only when it was read.
    let folder = tempfile::tempdir().unwrap();
    let (file, answer) = (folder.path().join("machine.xml"), folder.path().join("answer"));
    let mut machine = synthetic("pu:1");
    machine.pus = vec![machine.pus[0].clone(); 8193];
    std::fs::write(&file, "").unwrap();
    std::fs::write(&answer, serde_json::to_string(&Ok::<_, ()>(machine)).unwrap()).unwrap();
    let e = shell(&format!("cat {}", answer.display())).xml(&file).unwrap_err();
    assert!(matches!(e, MachineError::TooManyPus { .. }) && e.to_string().contains("machine.xml"), "{e}");
}

#[test]
fn a_machine_file_that_is_not_regular_does_not_block() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.xml");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe.as_path(), folder.path(), std::path::Path::new("/dev/zero")] {
        let e = shell("exit 0").xml(path).unwrap_err();
        assert!(e.to_string().contains("not a regular file"), "{e}");
    }
    let large = folder.path().join("large.xml");
    std::fs::File::create(&large).unwrap().set_len(65 << 20).unwrap();
    assert!(shell("exit 0").xml(&large).unwrap_err().to_string().contains("65 MiB"));
}
