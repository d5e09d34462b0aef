//! Adds by threads that are moved from CPU to CPU and interrupted by signals meanwhile.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::time::Duration;
use std::{ptr, thread};
use tare_counters::CounterSet;

/// The number of counters that the threads add to in turn; the signal handler adds to one more.
///
/// With one counter, each add would wait for the one before, and interrupts would be taken when that wait ends, just
/// after an add. The mutant is vulnerable just before an add, so it would pass (it did: nothing lost in 4 x 10^9 adds).
pub const ROTATING: usize = 8;
const BY_SIGNAL: usize = ROTATING;
pub const COUNTERS: usize = ROTATING + 1;
const THREADS: u64 = 8;

/// The sums of one run.
#[derive(Debug, PartialEq, Eq)]
pub struct Tally {
    pub expected: u64,
    pub counted: u64,
    pub moves: u64,
    pub signals: u64,
    pub counted_by_signal: u64,
}

static HANDLER_SET: AtomicPtr<CounterSet> = AtomicPtr::new(ptr::null_mut());
static SIGNALS: AtomicU64 = AtomicU64::new(0);

/// Every signal adds too, in the middle of the add that it interrupted.
extern "C" fn on_signal(_: c_int) {
    // SAFETY: set to a live set before the first signal is sent, and read only by its handlers.
    if let Some(set) = unsafe { HANDLER_SET.load(Ordering::Acquire).as_ref() } {
        set.add(BY_SIGNAL, 1);
        SIGNALS.fetch_add(1, Ordering::Relaxed);
    }
}

/// Makes `adds` adds of 1 with `add`, split over 8 threads, which others move between CPUs and interrupt.
pub fn tally(set: &CounterSet, adds: u64, add: impl Fn(&CounterSet, usize) + Sync) -> Tally {
    // Handler and counts are process-wide: one run at a time.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let cpus = usable_cpus();
    assert!(cpus.len() >= 2, "needs 2 CPUs to move threads between, found {cpus:?}");
    install_handler(set);

    let per_thread = adds / THREADS;
    let tids: Vec<AtomicI32> = (0..THREADS).map(|_| AtomicI32::new(0)).collect();
    let start = Barrier::new(THREADS as usize + 1);
    let moves = thread::scope(|scope| {
        for tid in &tids {
            let (start, add) = (&start, &add);
            scope.spawn(move || {
                give_way();
                // SAFETY: no arguments.
                tid.store(unsafe { libc::gettid() }, Ordering::Release);
                set.add(BY_SIGNAL, 0); // registers the thread, because a signal handler must not
                start.wait();
                (0..per_thread).for_each(|turn| add(set, turn as usize % ROTATING));
                tid.store(0, Ordering::Release);
            });
        }
        start.wait();
        let harassers: Vec<_> = tids.iter().map(|tid| scope.spawn(|| harass(tid, &cpus))).collect();
        harassers.into_iter().map(|harasser| harasser.join().unwrap()).sum()
    });
    HANDLER_SET.store(ptr::null_mut(), Ordering::Release);
    Tally {
        expected: per_thread * THREADS,
        counted: (0..ROTATING).map(|counter| set.sum(counter)).sum(),
        moves,
        signals: SIGNALS.load(Ordering::Relaxed),
        counted_by_signal: set.sum(BY_SIGNAL),
    }
}

/// Lowers the priority of the calling worker: the threads that move the workers must be able to run at any time.
fn give_way() {
    // SAFETY: no pointers; 0 is the calling thread on Linux.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
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

/// Moves one worker to the other CPU and interrupts it, repeatedly until it ends. Returns the number of moves. (Each
/// worker has such a thread, because moving a running thread makes the mover wait.)
fn harass(tid: &AtomicI32, cpus: &[usize]) -> u64 {
    // In an emulator a move takes longer than this pause.
    let pause = std::env::var("EXACT_PAUSE_US").map_or(50, |pause| pause.parse().unwrap());
    let pause = Duration::from_micros(pause);
    for moves in 0.. {
        let tid = tid.load(Ordering::Acquire);
        if tid == 0 {
            return moves;
        }
        move_to(tid, cpus[moves as usize % cpus.len()]);
        // SAFETY: a signal with a handler; for a thread that just ended the call fails with ESRCH.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, libc::SIGUSR1) };
        thread::sleep(pause);
    }
    0
}

fn move_to(tid: i32, cpu: usize) {
    // SAFETY: a valid set; for a thread that just ended the call fails with ESRCH.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(tid, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

/// At most two of the CPUs that this process may use: the fewer CPUs, the more collisions.
fn usable_cpus() -> Vec<usize> {
    // SAFETY: fills the given set.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        assert_eq!(libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set), 0);
        set
    };
    // SAFETY: the number is below the size of the set.
    (0..8 * size_of::<libc::cpu_set_t>()).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).take(2).collect()
}
