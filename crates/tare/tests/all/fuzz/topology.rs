//! Fuzzes descriptions of machines, read by a child process with limits as with `--topology`.

use crate::fuzz::harness::{fuzz, inputs, texts};
use crate::studies::topology_files::reader;
use std::process::Command;

#[test]
fn fuzzed_xml_machines_have_logical_cpus_or_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("machine.xml");
    let corpus: Vec<Vec<u8>> = ["package:2 node:2 l3:2 core:2 pu:2", "node:4 core:1 pu:1", "pu:1"]
        .iter()
        .map(|description| {
            let written = Command::new("lstopo").args(["--force", "-i", description]).arg(&path).status();
            assert!(written.expect("lstopo is missing: sudo apt-get install hwloc").success());
            std::fs::read(&path).unwrap()
        })
        .collect();
    fuzz("machines as XML", &corpus, inputs() / 4, |input| {
        std::fs::write(&path, input).unwrap();
        if let Ok(machine) = reader().xml(&path) {
            assert!(!machine.pus.is_empty(), "a machine without PUs");
        }
    });
}

#[test]
fn fuzzed_machine_descriptions_cause_no_panic() {
    let corpus = texts(&["package:2 node:2 l3:2 core:2 pu:2", "node:4 core:1", "pu:1", "package:2 [numa] core:3 pu:2"]);
    fuzz("machines in words", &corpus, inputs() / 4, |input| {
        let _ = reader().synthetic(&String::from_utf8_lossy(input));
    });
}
