//! Threads that add while they are moved from CPU to CPU and interrupted by signals: what a counter must survive.
#![cfg(all(target_os = "linux", not(any(miri, loom))))]

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::{ptr, thread};

use tare_counters::CounterSet;

/// One adds; the other is another counter of the same set, which the signal handler adds to.
pub const COUNTED: usize = 0;
const BY_SIGNAL: usize = 1;
/// As the issue asks: 8 threads.
const THREADS: u64 = 8;

/// What one run found.
#[derive(Debug, PartialEq, Eq)]
pub struct Tally {
    pub expected: u64,
    pub counted: u64,
    pub signals: u64,
    pub counted_by_signal: u64,
}

static HANDLER_SET: AtomicPtr<CounterSet> = AtomicPtr::new(ptr::null_mut());
static SIGNALS: AtomicU64 = AtomicU64::new(0);

/// Every signal adds too, in the middle of whatever add it interrupted.
extern "C" fn on_signal(_: c_int) {
    // SAFETY: set to a live set before the first signal is sent, and read by its handlers only.
    if let Some(set) = unsafe { HANDLER_SET.load(Ordering::Acquire).as_ref() } {
        set.add(BY_SIGNAL, 1);
        SIGNALS.fetch_add(1, Ordering::Relaxed);
    }
}

/// `adds` adds of 1 by 8 threads, each with `add`, while one thread moves them between CPUs and interrupts them.
pub fn tally(set: &CounterSet, adds: u64, add: impl Fn(&CounterSet) + Sync) -> Tally {
    // Handler and counts are the process's: one run at a time.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let cpus = usable_cpus();
    assert!(cpus.len() >= 2, "needs 2 CPUs to move threads between, found {cpus:?}");
    install_handler(set);

    let per_thread = adds / THREADS;
    let tids: Vec<AtomicI32> = (0..THREADS).map(|_| AtomicI32::new(0)).collect();
    let (start, done) = (Barrier::new(THREADS as usize + 1), AtomicBool::new(false));
    thread::scope(|scope| {
        let workers: Vec<_> = tids
            .iter()
            .map(|tid| {
                let (start, add) = (&start, &add);
                scope.spawn(move || {
                    // SAFETY: no arguments.
                    tid.store(unsafe { libc::gettid() }, Ordering::Release);
                    set.add(BY_SIGNAL, 0); // registers the thread, which a signal handler must not have to
                    start.wait();
                    (0..per_thread).for_each(|_| add(set));
                    tid.store(0, Ordering::Release);
                })
            })
            .collect();
        start.wait();
        let harasser = scope.spawn(|| harass(&tids, &cpus, &done));
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        done.store(true, Ordering::Release);
        harasser.join().unwrap();
    });
    HANDLER_SET.store(ptr::null_mut(), Ordering::Release);
    Tally {
        expected: per_thread * THREADS,
        counted: set.sum(COUNTED),
        signals: SIGNALS.load(Ordering::Relaxed),
        counted_by_signal: set.sum(BY_SIGNAL),
    }
}

fn install_handler(set: &CounterSet) {
    SIGNALS.store(0, Ordering::Relaxed);
    HANDLER_SET.store(ptr::from_ref(set).cast_mut(), Ordering::Release);
    // SAFETY: an all-zero sigaction with a handler that only adds to counters and an atomic.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &raw const action, ptr::null_mut()), 0);
    }
}

/// Moves every worker to the next CPU, over and over, and interrupts every other one.
fn harass(tids: &[AtomicI32], cpus: &[usize], done: &AtomicBool) {
    let mut turn = 0usize;
    while !done.load(Ordering::Acquire) {
        for (worker, tid) in tids.iter().enumerate() {
            let tid = tid.load(Ordering::Acquire);
            if tid == 0 {
                continue;
            }
            turn += 1;
            move_to(tid, cpus[turn % cpus.len()]);
            if (turn + worker) % 2 == 0 {
                // SAFETY: a signal with a handler; a thread that just ended answers ESRCH.
                unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, libc::SIGUSR1) };
            }
        }
        thread::sleep(std::time::Duration::from_micros(50));
    }
}

fn move_to(tid: i32, cpu: usize) {
    // SAFETY: a valid set; a thread that just ended answers ESRCH.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(tid, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

/// The CPUs this process may use, two at most: the machine, and the more collisions the better.
fn usable_cpus() -> Vec<usize> {
    // SAFETY: fills the set given.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        assert_eq!(libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set), 0);
        set
    };
    // SAFETY: below the set's size.
    (0..8 * size_of::<libc::cpu_set_t>()).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).take(2).collect()
}
