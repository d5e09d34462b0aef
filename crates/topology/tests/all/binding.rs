//! Binds real threads and memory; each test uses threads and processes of its own.

use crate::common::set;
use std::process::{Child, Command, Stdio};
use std::thread;
use tare_cpuset::observe::{ObserveError, last_cpu, threads};
use tare_cpuset::{CpuSet, NodeSet, ThreadRef, affinity_of};
use tare_topology::bind::{self, BindError, Placed};
use tare_topology::observe::pages_by_node;
use tare_topology::{Machine, MemoryPolicy, Nodes};

/// A `sleep` process that is killed at the end of the test.
struct Sleep(Child);

impl Sleep {
    fn new() -> Self {
        Self(Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap())
    }

    fn pid(&self) -> i32 {
        self.0.id() as i32
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn own_pid() -> i32 {
    std::process::id() as i32
}

/// Every policy that is possible with one node.
fn policies() -> Vec<MemoryPolicy> {
    let nodes: NodeSet = Machine::this().unwrap().memory_nodes();
    let first = nodes.first().unwrap();
    let mut policies = vec![
        MemoryPolicy::Bind(Nodes::These(first.into())),
        MemoryPolicy::Interleave(Nodes::These(nodes.clone())),
        MemoryPolicy::Preferred(first),
        MemoryPolicy::Local,
        MemoryPolicy::Default,
    ];
    let weighted = MemoryPolicy::WeightedInterleave(Nodes::These(nodes));
    // Older kernels refuse it; another test checks the error.
    if std::path::Path::new("/sys/kernel/mm/mempolicy/weighted_interleave").exists() {
        policies.insert(2, weighted);
    } else {
        eprintln!("not tested here: {weighted}");
    }
    policies
}

#[test]
fn weighted_interleave_is_set_or_refused_with_its_reason() {
    let weighted: MemoryPolicy = "weighted-interleave:all".parse().unwrap();
    match weighted.resolve(&Machine::this().unwrap()) {
        Ok(resolved) => thread::spawn(move || {
            bind::set_memory_policy(&resolved).unwrap();
            assert_eq!(bind::this_thread_memory_policy().unwrap(), resolved);
            let missing = MemoryPolicy::WeightedInterleave(Nodes::These(set("900")));
            let e = bind::set_memory_policy(&missing).unwrap_err().to_string();
            assert!(e.contains("weighted-interleave:900") && e.contains("6.9"), "{e}");
        })
        .join()
        .unwrap(),
        Err(e) => assert!(e.reason.contains("6.9"), "{e}"),
    }
}

#[test]
fn every_memory_policy_is_set_read_back_and_inherited() {
    thread::spawn(|| {
        for policy in policies() {
            bind::set_memory_policy(&policy).unwrap();
            assert_eq!(bind::this_thread_memory_policy().unwrap(), policy);
            let child = Sleep::new();
            wait_for_exec(&child);
            assert_eq!(bind::read_memory_policy(child.pid()).unwrap(), policy);
        }
    })
    .join()
    .unwrap();
    assert_eq!(bind::this_thread_memory_policy().unwrap(), MemoryPolicy::Default);
}

/// `spawn` returns after exec, but the new main stack is mapped a moment later on some kernels.
fn wait_for_exec(child: &Sleep) {
    while threads(child.pid()).unwrap()[0].name != "sleep" {
        thread::yield_now();
    }
}

#[test]
fn a_process_spawned_while_placed_inherits_the_placement() {
    let all = affinity_of(ThreadRef::of_this_thread()).unwrap();
    let last = CpuSet::from(all.last().unwrap());
    for policy in policies() {
        let placed = Placed::apply(Some(&last), &policy).unwrap();
        let child = Sleep::new();
        placed.restore().unwrap();
        wait_for_exec(&child);
        assert_eq!(affinity_of(ThreadRef::main_of(child.pid())).unwrap(), last);
        assert_eq!(bind::read_memory_policy(child.pid()).unwrap(), policy);
        assert_eq!(last_cpu(ThreadRef::main_of(child.pid())).unwrap(), last.first().unwrap());
        assert_eq!(affinity_of(ThreadRef::of_this_thread()).unwrap(), all);
        assert_eq!(bind::this_thread_memory_policy().unwrap(), MemoryPolicy::Default);
    }
}

#[test]
fn a_placement_that_fails_leaves_the_thread_as_it_was() {
    let all = affinity_of(ThreadRef::of_this_thread()).unwrap();
    let last = CpuSet::from(all.last().unwrap());
    let nowhere = MemoryPolicy::Bind(Nodes::These(set("900")));
    assert!(matches!(Placed::apply(Some(&last), &nowhere), Err(BindError::SetPolicy { .. })));
    assert!(matches!(
        Placed::apply(Some(&last), &MemoryPolicy::Interleave(Nodes::All)),
        Err(BindError::SetPolicy { .. })
    ));
    assert_eq!(affinity_of(ThreadRef::of_this_thread()).unwrap(), all);
    drop(Placed::apply(Some(&last), &MemoryPolicy::Local).unwrap());
    assert_eq!(affinity_of(ThreadRef::of_this_thread()).unwrap(), all);
    assert_eq!(bind::this_thread_memory_policy().unwrap(), MemoryPolicy::Default);
}

#[test]
fn pages_of_a_process_are_on_nodes_that_exist() {
    let machine = Machine::this().unwrap();
    let block = vec![1u8; 64 << 20];
    let pages = pages_by_node(own_pid()).unwrap();
    let bytes: u64 = pages.values().map(|node| node.bytes).sum();
    assert!(bytes >= block.len() as u64, "{pages:?}");
    assert!(pages.keys().copied().collect::<NodeSet>().is_subset(&machine.nodes.iter().map(|n| n.os_index).collect()));
    assert!(matches!(pages_by_node(i32::MAX), Err(ObserveError::Gone { .. })));
}
