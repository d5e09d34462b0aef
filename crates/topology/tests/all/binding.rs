//! Real binding on this kernel. Alone in its binary, since bindings are process-wide state; each test works on threads
//! and processes of its own.

use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use crate::common::set;
use tare_topology::bind::{self, BindError, Placed};
use tare_topology::{CpuSet, Machine, MemoryPolicy, NodeSet, Nodes, ThreadRef, observe};

/// A thread that waits, its id, and what ends it.
fn waiting_thread() -> (ThreadRef, mpsc::Sender<()>) {
    let (tell, told) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    thread::spawn(move || {
        tell.send(ThreadRef::of_this_thread()).unwrap();
        let _ = ended.recv();
    });
    (told.recv().unwrap(), end)
}

/// `sleep`, ended with the test.
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

#[test]
fn a_thread_runs_where_it_is_bound() {
    let all = bind::affinity_of(ThreadRef::of_this_thread()).unwrap();
    let (waiting, _end) = waiting_thread();
    for cpu in all.iter() {
        let one = CpuSet::from(cpu);
        bind::bind_thread(waiting, &one).unwrap();
        assert_eq!(bind::affinity_of(waiting).unwrap(), one);
        thread::spawn(move || {
            bind::bind_thread(ThreadRef::of_this_thread(), &one).unwrap();
            assert_eq!(observe::last_cpu(ThreadRef::of_this_thread()).unwrap(), cpu);
        })
        .join()
        .unwrap();
    }
    assert_eq!(bind::affinity_of(ThreadRef::of_this_thread()).unwrap(), all, "the binding thread itself is untouched");
}

#[test]
fn a_binding_that_the_kernel_narrows_is_an_error() {
    let all = bind::affinity_of(ThreadRef::of_this_thread()).unwrap();
    let (waiting, _end) = waiting_thread();
    // The kernel ignores CPUs that do not exist, as long as one does.
    let wide = all.union(&CpuSet::from(1000));
    match bind::bind_thread(waiting, &wide) {
        Err(BindError::AffinityDiffers { requested, found, .. }) => assert_eq!((requested, found), (wide, all)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_cannot_be_bound_says_why() {
    let (waiting, _end) = waiting_thread();
    assert!(matches!(bind::bind_thread(waiting, &CpuSet::new()), Err(BindError::NoCpus { .. })));
    assert!(matches!(bind::bind_thread(waiting, &set("1000")), Err(BindError::Bind { .. })));
    assert!(matches!(bind::bind_thread(waiting, &set("5000")), Err(BindError::CpuTooHigh { cpu: 5000, max: 1023 })));
    assert!(matches!(bind::bind_thread(ThreadRef::main_of(-1), &set("0")), Err(BindError::NoThread { .. })));
    assert!(matches!(bind::bind_thread(ThreadRef::main_of(i32::MAX), &set("0")), Err(BindError::NoThread { .. })));
    assert!(matches!(bind::affinity_of(ThreadRef::main_of(i32::MAX)), Err(BindError::NoThread { .. })));
}

/// Every policy that one node allows.
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
    // Older kernels refuse it; that it is refused as what it is has a test of its own.
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
    while observe::threads(child.pid()).unwrap()[0].name != "sleep" {
        thread::yield_now();
    }
}

#[test]
fn what_is_spawned_while_placed_inherits_the_placement() {
    let all = bind::affinity_of(ThreadRef::of_this_thread()).unwrap();
    let last = CpuSet::from(all.last().unwrap());
    for policy in policies() {
        let placed = Placed::apply(Some(&last), &policy).unwrap();
        let child = Sleep::new();
        placed.restore().unwrap();
        wait_for_exec(&child);
        assert_eq!(bind::affinity_of(ThreadRef::main_of(child.pid())).unwrap(), last);
        assert_eq!(bind::read_memory_policy(child.pid()).unwrap(), policy);
        assert_eq!(observe::last_cpu(ThreadRef::main_of(child.pid())).unwrap(), last.first().unwrap());
        assert_eq!(bind::affinity_of(ThreadRef::of_this_thread()).unwrap(), all);
        assert_eq!(bind::this_thread_memory_policy().unwrap(), MemoryPolicy::Default);
    }
}

#[test]
fn a_placement_that_fails_leaves_the_thread_as_it_was() {
    let all = bind::affinity_of(ThreadRef::of_this_thread()).unwrap();
    let last = CpuSet::from(all.last().unwrap());
    let nowhere = MemoryPolicy::Bind(Nodes::These(set("900")));
    assert!(matches!(Placed::apply(Some(&last), &nowhere), Err(BindError::SetPolicy { .. })));
    assert!(matches!(
        Placed::apply(Some(&last), &MemoryPolicy::Interleave(Nodes::All)),
        Err(BindError::SetPolicy { .. })
    ));
    assert_eq!(bind::affinity_of(ThreadRef::of_this_thread()).unwrap(), all);
    drop(Placed::apply(Some(&last), &MemoryPolicy::Local).unwrap());
    assert_eq!(bind::affinity_of(ThreadRef::of_this_thread()).unwrap(), all);
    assert_eq!(bind::this_thread_memory_policy().unwrap(), MemoryPolicy::Default);
}

#[test]
fn pages_of_a_process_are_on_nodes_that_exist() {
    let machine = Machine::this().unwrap();
    let block = vec![1u8; 64 << 20];
    let pages = observe::pages_by_node(own_pid()).unwrap();
    let bytes: u64 = pages.values().map(|node| node.bytes).sum();
    assert!(bytes >= block.len() as u64, "{pages:?}");
    assert!(pages.keys().copied().collect::<NodeSet>().is_subset(&machine.nodes.iter().map(|n| n.os_index).collect()));
    assert!(matches!(observe::pages_by_node(i32::MAX), Err(observe::ObserveError::Gone { .. })));
}

#[test]
fn moves_and_switches_of_a_thread_are_counted() {
    let all = bind::affinity_of(ThreadRef::of_this_thread()).unwrap();
    assert!(all.len() > 1, "this test needs two CPUs");
    let (tell, told) = mpsc::channel();
    let (done, finished) = mpsc::channel();
    let (go, gone) = mpsc::channel::<()>();
    let worker = thread::Builder::new().name("busy worker é".to_owned()).spawn(move || {
        tell.send(ThreadRef::of_this_thread()).unwrap();
        // Each receive is a voluntary switch, each bind to the other CPU a migration.
        let mut spun = 0u64;
        for cpu in all.iter().cycle().take(40) {
            bind::bind_thread(ThreadRef::of_this_thread(), &cpu.into()).unwrap();
            spun += (0..200_000u64).fold(spun, |a, b| std::hint::black_box(a ^ b)) & 1;
        }
        done.send(()).unwrap();
        let _ = gone.recv();
        spun
    });
    let worker = worker.unwrap();
    let thread = told.recv().unwrap();
    finished.recv().unwrap();
    let sample = observe::thread(thread).unwrap();
    assert_eq!(sample.name.chars().take(12).collect::<String>(), "busy worker ");
    if let Some(migrations) = sample.migrations {
        assert!(migrations >= 39, "{sample:?}");
    }
    assert!(sample.voluntary_switches.unwrap() + sample.involuntary_switches.unwrap() > 0, "{sample:?}");
    assert!(sample.run_ns.unwrap() > 0, "{sample:?}");
    let all_threads = observe::threads(own_pid()).unwrap();
    assert!(all_threads.iter().any(|sample| sample.thread == thread));
    assert!(observe::threads_of(own_pid()).unwrap().contains(&thread));
    drop(go);
    worker.join().unwrap();
    while observe::threads_of(own_pid()).unwrap().contains(&thread) {
        thread::yield_now();
    }
    assert!(matches!(observe::last_cpu(thread), Err(observe::ObserveError::Gone { .. })));
    assert!(matches!(observe::threads(i32::MAX), Err(observe::ObserveError::Gone { .. })));
}
