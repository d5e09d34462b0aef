//! Machines that tests describe to hwloc, and calls of hwloc's tools.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::fmt::Write as _;
use std::process::Command;
use tare_cpuset::CpuSet;
use tare_topology::Machine;

/// The machine of the article "Benchmarking? Mind your core."
/// (<https://mysqlonarm.github.io/Benchmarking-Mind-Your-Core/>): 24 PUs.
pub const ARTICLE_A: &str = "package:2 node:1 core:6 pu:2";

pub fn synthetic(description: &str) -> Machine {
    Machine::synthetic(description).unwrap()
}

pub fn set(text: &str) -> CpuSet {
    text.parse().unwrap()
}

/// A package for a test: its NUMA node's memory, and the CPUs of each core.
pub struct TestPackage {
    pub memory_bytes: u64,
    pub cores: Vec<Vec<u32>>,
}

/// An hwloc XML file: packages with one node each, numbered in order; then memory-only nodes; then further elements
/// under the root (kinds of cores, distances). `offline` CPUs exist but are not online.
pub fn xml(packages: &[TestPackage], memory_only: &[u64], offline: u64, rest: &str) -> String {
    let mask = |cpus: &[u32]| cpus.iter().fold(0u64, |mask, cpu| mask | 1 << cpu);
    let all_cpus = packages.iter().flat_map(|p| &p.cores).fold(0, |all, core| all | mask(core));
    let all_nodes = (1u64 << (packages.len() + memory_only.len())) - 1;
    let mut id = 1;
    let mut attributes = |kind: &str, os_index: usize, cpus: u64, offline: u64, nodes: u64| {
        id += 1;
        format!(
            "type=\"{kind}\" os_index=\"{os_index}\" cpuset=\"{cpus:#x}\" complete_cpuset=\"{:#x}\" nodeset=\"{nodes:#x}\" \
             complete_nodeset=\"{nodes:#x}\" gp_index=\"{id}\"",
            cpus | offline
        )
    };
    let mut out =
        String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n");
    let machine = attributes("Machine", 0, all_cpus, offline, all_nodes);
    let allowed = format!("allowed_cpuset=\"{all_cpus:#x}\" allowed_nodeset=\"{all_nodes:#x}\"");
    writeln!(out, "<topology version=\"2.0\"><object {machine} {allowed}>").unwrap();
    for (i, bytes) in memory_only.iter().enumerate() {
        let node = packages.len() + i;
        let object = attributes("NUMANode", node, 0, 0, 1 << node);
        writeln!(out, "<object {object} local_memory=\"{bytes}\"/>").unwrap();
    }
    let mut core_index = 0;
    for (i, package) in packages.iter().enumerate() {
        let cpus = package.cores.iter().fold(0, |all, core| all | mask(core));
        writeln!(out, "<object {}>", attributes("Package", i, cpus, 0, 1 << i)).unwrap();
        let node = attributes("NUMANode", i, cpus, 0, 1 << i);
        writeln!(out, "<object {node} local_memory=\"{}\"/>", package.memory_bytes).unwrap();
        for core in &package.cores {
            writeln!(out, "<object {}>", attributes("Core", core_index, mask(core), 0, 1 << i)).unwrap();
            core_index += 1;
            for cpu in core {
                writeln!(out, "<object {}/>", attributes("PU", *cpu as usize, 1 << cpu, 0, 1 << i)).unwrap();
            }
            out.push_str("</object>\n");
        }
        out.push_str("</object>\n");
    }
    out.push_str("</object>\n");
    out.push_str(rest);
    out.push_str("</topology>\n");
    out
}

pub fn from_xml(text: &str) -> Machine {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("machine.xml");
    std::fs::write(&path, text).unwrap();
    Machine::from_xml(&path).unwrap()
}

/// Two kinds of cores in one package, as on an Alder Lake: two fast cores with two threads, then four efficient ones.
pub fn hybrid() -> Machine {
    let cores = vec![vec![0, 1], vec![2, 3], vec![4], vec![5], vec![6], vec![7]];
    let kinds = "<cpukind cpuset=\"0xf0\" forced_efficiency=\"0\"><info name=\"CoreType\" value=\"IntelAtom\"/></cpukind>\n\
                 <cpukind cpuset=\"0x0f\" forced_efficiency=\"1\"><info name=\"CoreType\" value=\"IntelCore\"/></cpukind>\n";
    from_xml(&xml(&[TestPackage { memory_bytes: 1 << 30, cores }], &[], 0, kinds))
}

/// Nodes with 2 cores x 2 PUs, with 3 cores x 1 PU, with 1 core without memory, and a memory-only one. OS numbers are
/// as firmware often assigns them (second hardware threads last). CPU 9 is offline.
pub fn lopsided() -> Machine {
    let package = |memory_bytes, cores| TestPackage { memory_bytes, cores };
    let packages = [
        package(4 << 30, vec![vec![0, 6], vec![1, 7]]),
        package(2 << 30, vec![vec![2], vec![3], vec![4]]),
        package(0, vec![vec![5]]),
    ];
    let distances = "<distances2 type=\"NUMANode\" nbobjs=\"4\" kind=\"5\" name=\"NUMALatency\" indexing=\"os\">\n\
                     <indexes length=\"8\">0 1 2 3 </indexes>\n\
                     <u64values length=\"48\">10 16 32 33 16 10 25 32 32 25 10 16 33 32 17 10 </u64values></distances2>\n";
    from_xml(&xml(&packages, &[1 << 30], 1 << 9, distances))
}

/// What hwloc-calc selects on a synthetic machine (OS numbers), and whether it warned that an object does not exist.
pub fn hwloc_calc(machine: &str, location: &str) -> (CpuSet, bool) {
    // A limit, because hwloc-calc 2.9 never ends on an open range that begins beyond the last object.
    let output = Command::new("timeout")
        .args(["20", "hwloc-calc", "-i", machine, "--po", "-I", "pu", location])
        .output()
        .expect("timeout is missing: sudo apt-get install coreutils");
    assert_ne!(output.status.code(), Some(127), "hwloc-calc is missing: sudo apt-get install hwloc");
    let messages = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "hwloc-calc: {messages}");
    (set(String::from_utf8(output.stdout).unwrap().trim()), messages.contains("does not exist"))
}
