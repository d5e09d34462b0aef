//! Tests of fingerprints: every relevant change of a machine is reported, and a reboot alone is not.

use crate::common::{ARTICLE_A, TestPackage, from_xml, hybrid, lopsided, set, synthetic, xml};
use tare_cpuset::{ThreadRef, affinity_of, bind_thread};
use tare_topology::{Fingerprint, Machine};

fn changes(was: &Machine, is: &Machine) -> Vec<String> {
    Fingerprint::of(was).changes(&Fingerprint::of(is)).iter().map(ToString::to_string).collect()
}

/// Packages with one node each, from the CPUs of their cores.
fn machine(packages: &[&[&[u32]]]) -> Machine {
    let package =
        |cores: &&[&[u32]]| TestPackage { memory_bytes: 1 << 30, cores: cores.iter().map(|c| c.to_vec()).collect() };
    from_xml(&xml(&packages.iter().map(package).collect::<Vec<_>>(), &[], 0, ""))
}

#[test]
fn a_machine_that_stays_as_it_is_has_not_changed() {
    for machine in [lopsided(), hybrid(), synthetic(ARTICLE_A), Machine::this().unwrap()] {
        let fingerprint = Fingerprint::of(&machine);
        assert_eq!(fingerprint.changes(&Fingerprint::of(&machine)), []);
        let json = serde_json::to_string(&fingerprint).unwrap();
        assert_eq!(serde_json::from_str::<Fingerprint>(&json).unwrap(), fingerprint);
    }
}

#[test]
fn disabled_smt_and_a_lost_node_are_reported() {
    let two = machine(&[&[&[0, 2], &[1, 3]], &[&[4, 6], &[5, 7]]]);
    let smt_off = machine(&[&[&[0], &[1]], &[&[4], &[5]]]);
    assert_eq!(changes(&two, &smt_off), ["SMT was on and is off", "allowed CPUs were 0-7 and are 0-1,4-5"]);
    let one = machine(&[&[&[0, 2], &[1, 3]]]);
    assert_eq!(
        changes(&two, &one),
        [
            "allowed CPUs were 0-7 and are 0-3",
            "node 1 (CPUs 4-7) is gone",
            "memory came from nodes 0-1 and can come from 0"
        ]
    );
    assert_eq!(changes(&one, &two)[1], "node 1 (CPUs 4-7) is new");
}

#[test]
fn a_changed_grouping_of_the_same_cpus_is_reported() {
    let siblings_apart = machine(&[&[&[0, 2], &[1, 3]]]);
    let siblings_together = machine(&[&[&[0, 1], &[2, 3]]]);
    assert_eq!(changes(&siblings_apart, &siblings_together), ["CPU 0's core served CPUs 0,2 and serves CPUs 0-1"]);
    let halves = machine(&[&[&[0], &[1]], &[&[2], &[3]]]);
    let turns = machine(&[&[&[0], &[2]], &[&[1], &[3]]]);
    assert_eq!(
        changes(&halves, &turns),
        [
            "node 0 had CPUs 0-1 and has CPUs 0,2",
            "node 1 had CPUs 2-3 and has CPUs 1,3",
            "CPU 0's package served CPUs 0-1 and serves CPUs 0,2"
        ]
    );
    assert_eq!(
        changes(&synthetic("package:1 l3:2 core:2 pu:1"), &synthetic("package:1 l3:1 core:4 pu:1")),
        ["CPU 0's last-level cache served CPUs 0-1 and serves CPUs 0-3"]
    );
}

#[test]
fn another_kernel_or_processor_is_reported_and_another_boot_is_not() {
    let here = Fingerprint::of(&Machine::this().unwrap());
    assert!(here.kernel.is_some() && here.boot_id.is_some(), "{here:?}");
    let rebooted = Fingerprint { boot_id: Some("another".to_owned()), ..here.clone() };
    assert_eq!(here.changes(&rebooted), []);
    let other =
        Fingerprint { kernel: Some("9.9".to_owned()), processors: ["Abacus 2".to_owned()].into(), ..here.clone() };
    let was = Fingerprint { processors: ["Abacus 1".to_owned()].into(), ..here.clone() };
    let reported: Vec<String> = was.changes(&other).iter().map(ToString::to_string).collect();
    let kernel = here.kernel.as_deref().unwrap();
    assert_eq!(
        reported,
        [format!("the kernel was {kernel} and is 9.9"), "the processor was Abacus 1 and is Abacus 2".to_owned()]
    );
    let described = Fingerprint::of(&synthetic(ARTICLE_A));
    assert_eq!((described.kernel, described.boot_id), (None, None));
}

#[test]
fn a_narrowed_affinity_of_this_thread_is_reported() {
    let here = ThreadRef::of_this_thread();
    let cpus = affinity_of(here).unwrap();
    assert!(cpus.len() > 1, "this test needs two CPUs");
    let was = Machine::this().unwrap();
    let last = cpus.last().unwrap();
    bind_thread(here, &last.into()).unwrap();
    let narrow = Machine::this().unwrap();
    bind_thread(here, &cpus).unwrap();
    let reported = changes(&was, &narrow);
    assert_eq!(reported.first().unwrap(), &format!("allowed CPUs were {cpus} and are {last}"));
    assert!(!reported.iter().any(|change| change.starts_with("SMT") || change.starts_with("CPU")), "{reported:?}");
    assert_eq!(narrow.cpus(), set(&last.to_string()));
}
