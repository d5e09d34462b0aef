//! Foreign descriptions of machines: for any content, the program ends in time with a machine or a reason.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::World;
use tare_topology::{Machine, MachineError, TopologyReader};

/// This program as the reader, as with `tare topo --topology`.
pub fn reader() -> TopologyReader {
    TopologyReader::new(env!("CARGO_BIN_EXE_tare"), ["read-topology"])
}

/// The output of hwloc itself for a machine with two packages, four nodes, caches and hardware threads.
fn exported(folder: &Path) -> String {
    let path = folder.join("exported.xml");
    let written = Command::new("lstopo").args(["-i", "package:2 node:2 l3:2 core:2 pu:2"]).arg(&path).status();
    assert!(written.expect("lstopo is missing: sudo apt-get install hwloc").success());
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_valid_file_gives_the_same_machine_as_reading_it_in_process() {
    let world = World::new();
    exported(&world.path(""));
    let path = world.path("exported.xml");
    let machine = Machine::describe(path.to_str().unwrap(), &reader()).unwrap();
    assert_eq!(machine, Machine::from_xml(&path).unwrap());
    assert_eq!((machine.pu_count(), machine.node_count()), (32, 4));
    let synthetic = "package:2 node:1 core:6 pu:2";
    assert_eq!(Machine::describe(synthetic, &reader()).unwrap(), Machine::synthetic(synthetic).unwrap());
}

#[test]
fn an_invalid_machine_file_or_description_is_refused() {
    let world = World::new();
    let describe = |spec: &str| Machine::describe(spec, &reader());
    let missing = world.path("none.xml");
    assert!(matches!(describe(missing.to_str().unwrap()), Err(MachineError::XmlUnreadable { .. })));
    let odd_name = world.path("machine");
    for bad in ["", "not XML", "<topology version=\"2.0\"></topology>", "\0"] {
        std::fs::write(&odd_name, bad).unwrap();
        assert!(matches!(describe(odd_name.to_str().unwrap()), Err(MachineError::XmlInvalid { .. })), "{bad:?}");
    }
    for bad in ["", "node:4 core:", "cores:4", "pu:0", "node:4\0", "folder/none", "-h", "--help"] {
        let e = describe(bad).unwrap_err();
        assert!(matches!(e, MachineError::Synthetic { .. }), "{bad:?}: {e}");
    }
}

#[test]
fn hostile_machine_files_and_descriptions_are_refused_within_seconds() {
    let world = World::new();
    let head = "<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">";
    let mut laughs = String::from("<?xml version=\"1.0\"?>\n<!DOCTYPE topology [<!ENTITY a0 \"ha\">\n");
    for i in 1..30 {
        writeln!(laughs, "<!ENTITY a{i} \"&a{0};&a{0};&a{0};&a{0};\">", i - 1).unwrap();
    }
    laughs.push_str("]>\n<topology version=\"2.0\"><object type=\"Machine\" os_index=\"&a29;\"/></topology>");
    let deep = format!("{head}{}", "<object type=\"Group\" cpuset=\"0x1\">".repeat(300_000));
    let wide = format!("{head}<object type=\"Machine\" cpuset=\"0x{}\"", "f".repeat(20 << 20));
    let path = world.path("hostile.xml");
    for (name, text) in [("laughs", &laughs), ("deep", &deep), ("wide", &wide)] {
        std::fs::write(&path, text).unwrap();
        let began = Instant::now();
        let e = reader().xml(&path).unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(11), "{name} took {:?}", began.elapsed());
        assert!(matches!(e, MachineError::XmlInvalid { .. } | MachineError::Reader { .. }), "{name}: {e}");
    }
    let began = Instant::now();
    for description in ["node:4000 core:4000 pu:4000", "pu:4294967295"] {
        assert!(reader().synthetic(description).is_err(), "{description}");
    }
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}

#[test]
fn topo_reports_what_is_wrong_with_a_machine_file() {
    let world = World::new();
    let xml = exported(&world.path(""));
    std::fs::write(world.path("new.xml"), xml.replacen("version=\"2.0\"", "version=\"3.0\"", 1)).unwrap();
    let (_, err) = world.exits(2, &["topo", "--topology", "new.xml"]);
    assert!(err.contains("lstopo --export-xml-flags V2 machine.xml"), "{err}");
    let (out, _) = world.exits(0, &["topo", "--topology", "exported.xml"]);
    assert!(out.contains("4 NUMA nodes"), "{out}");
    let (_, err) = world.exits(2, &["topo", "--topology", "node:4 core:"]);
    assert!(err.contains("neither an existing file nor"), "{err}");
}
