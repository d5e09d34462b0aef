//! Binds real threads; each test uses threads of its own.

use std::sync::mpsc;
use std::thread;
use tare_cpuset::observe::{Sighting, SightingFile};
use tare_cpuset::{AffinityError, CpuSet, ThreadRef, affinity_of, bind_thread, observe};

fn set(text: &str) -> CpuSet {
    text.parse().unwrap()
}

/// A thread that waits until the sender is dropped.
fn waiting_thread() -> (ThreadRef, mpsc::Sender<()>) {
    let (sender, receiver) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    thread::spawn(move || {
        sender.send(ThreadRef::of_this_thread()).unwrap();
        let _ = ended.recv();
    });
    (receiver.recv().unwrap(), end)
}

fn own_pid() -> i32 {
    std::process::id() as i32
}

#[test]
fn a_thread_runs_where_it_is_bound() {
    let all = affinity_of(ThreadRef::of_this_thread()).unwrap();
    let (waiting, _end) = waiting_thread();
    for cpu in all.iter() {
        let one = CpuSet::from(cpu);
        bind_thread(waiting, &one).unwrap();
        assert_eq!(affinity_of(waiting).unwrap(), one);
        thread::spawn(move || {
            bind_thread(ThreadRef::of_this_thread(), &one).unwrap();
            assert_eq!(observe::last_cpu(ThreadRef::of_this_thread()).unwrap(), cpu);
        })
        .join()
        .unwrap();
    }
    let moved = thread::spawn({
        let all = all.clone();
        move || {
            let own = ThreadRef::of_this_thread();
            let file = SightingFile::open(own).unwrap();
            for cpu in all.iter() {
                bind_thread(own, &cpu.into()).unwrap();
                assert_eq!(file.read().unwrap(), Sighting { cpu, is_stopped: false }, "an open file is read anew");
            }
        }
    });
    moved.join().unwrap();
    assert_eq!(affinity_of(ThreadRef::of_this_thread()).unwrap(), all, "the binding thread itself is untouched");
}

#[test]
fn a_binding_that_the_kernel_narrows_is_an_error() {
    let all = affinity_of(ThreadRef::of_this_thread()).unwrap();
    let (waiting, _end) = waiting_thread();
    // The kernel ignores CPUs that do not exist, as long as one does.
    let wide = all.union(&CpuSet::from(1000));
    match bind_thread(waiting, &wide) {
        Err(AffinityError::Differs { requested, found, .. }) => assert_eq!((requested, found), (wide, all)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_binding_that_is_impossible_reports_the_reason() {
    let (waiting, _end) = waiting_thread();
    assert!(matches!(bind_thread(waiting, &CpuSet::new()), Err(AffinityError::NoCpus { .. })));
    assert!(matches!(bind_thread(waiting, &set("1000")), Err(AffinityError::Bind { .. })));
    assert!(matches!(bind_thread(waiting, &set("5000")), Err(AffinityError::CpuTooHigh { cpu: 5000, max: 1023 })));
    assert!(matches!(bind_thread(ThreadRef::main_of(-1), &set("0")), Err(AffinityError::NoThread { .. })));
    assert!(matches!(bind_thread(ThreadRef::main_of(i32::MAX), &set("0")), Err(AffinityError::NoThread { .. })));
    assert!(matches!(affinity_of(ThreadRef::main_of(i32::MAX)), Err(AffinityError::NoThread { .. })));
}

#[test]
fn moves_and_switches_of_a_thread_are_counted() {
    let all = affinity_of(ThreadRef::of_this_thread()).unwrap();
    assert!(all.len() > 1, "this test needs two CPUs");
    let (sender, receiver) = mpsc::channel();
    let (done, finished) = mpsc::channel();
    let (go, gone) = mpsc::channel::<()>();
    let worker = thread::Builder::new().name("busy worker é".to_owned()).spawn(move || {
        sender.send(ThreadRef::of_this_thread()).unwrap();
        // Each receive is a voluntary switch, each binding to another CPU a migration.
        let mut spun = 0u64;
        for cpu in all.iter().cycle().take(40) {
            bind_thread(ThreadRef::of_this_thread(), &cpu.into()).unwrap();
            spun += (0..200_000u64).fold(spun, |a, b| std::hint::black_box(a ^ b)) & 1;
        }
        done.send(()).unwrap();
        let _ = gone.recv();
        spun
    });
    let worker = worker.unwrap();
    let thread = receiver.recv().unwrap();
    finished.recv().unwrap();
    let (file, sample) = (SightingFile::open(thread).unwrap(), observe::thread(thread).unwrap());
    assert_eq!(file.read().unwrap().cpu, sample.cpu, "it sleeps");
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
    assert!(matches!(file.read(), Err(observe::ObserveError::Gone { .. })));
    assert!(matches!(observe::threads(i32::MAX), Err(observe::ObserveError::Gone { .. })));
}
