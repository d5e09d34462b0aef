//! The implementations of counters that the benchmark measures, and the orders in which it walks over them. Each pair
//! is one monomorphised loop.

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;
use tare_counters::{Backend, CounterSet};

/// The size of the large sets, 100,000 counters.
pub const MANY: usize = 100_000;
/// Shards of the sharded counter, as in ["NUMA Smart Global
/// Counter"](https://mysqlonarm.github.io/NUMA-Smart-Global-Counter/).
const SHARDS: usize = 24;

/// The counter that the next add goes to.
#[derive(Clone, Copy)]
pub enum Walk {
    /// The first counter every time.
    Same,
    /// The counter at the same offset in its page as the thread's rseq area in its own page.
    Aliased,
    /// One after the other; the number is the mask at which the index wraps.
    Rotate(usize),
    /// A random one of all, from a generator that takes half a nanosecond.
    Random,
}

/// The amount added: the constant 1, or a number known only at run time.
#[derive(Clone, Copy)]
pub enum Amount {
    One,
    Given(u64),
}

impl Amount {
    fn value(self) -> u64 {
        match self {
            Self::One => 1,
            Self::Given(n) => n,
        }
    }
}

/// The range of the rotating walk: 1024 counters, 8 KiB, which fit in every level-1 cache.
pub struct Rotate;
impl Rotate {
    pub const MASK: usize = 1023;
}

/// Offset of the calling thread's rseq area in its page, in bytes; 0 where glibc has registered none. The rows of a set
/// begin at a page, and its counters are packed.
fn area_in_page() -> usize {
    // SAFETY: looks up a symbol by name; glibc documents it as a constant ptrdiff_t.
    let offset = unsafe { libc::dlsym(std::ptr::null_mut(), c"__rseq_offset".as_ptr()).cast::<isize>().as_ref() };
    // SAFETY: no arguments; only the address of the thread's control block is used, which is its thread pointer.
    let thread = unsafe { libc::pthread_self() } as usize;
    offset.map_or(0, |offset| thread.wrapping_add_signed(*offset) % 4096)
}

/// A set of counters to add to.
pub trait Contender: Sync {
    /// Makes `adds` adds along the walk in the calling thread.
    fn run(&self, walk: Walk, amount: Amount, adds: u64, seed: u64);
}

#[inline(always)]
fn walk(walk: Walk, adds: u64, seed: u64, add: impl Fn(usize)) {
    match walk {
        Walk::Same => same(adds, add),
        Walk::Aliased => aliased(adds, add),
        Walk::Rotate(mask) => rotate(adds, mask, add),
        Walk::Random => random(adds, seed, add),
    }
}

// Each loop is a function of its own, as in a program. When the loops were in one function, the compiler kept more of
// the add inside the loop, which made it a quarter slower.

#[inline(never)]
fn same(adds: u64, add: impl Fn(usize)) {
    (0..adds).for_each(|_| add(0));
}

#[inline(never)]
fn aliased(adds: u64, add: impl Fn(usize)) {
    let counter = area_in_page() / size_of::<u64>();
    (0..adds).for_each(|_| add(counter));
}

#[inline(never)]
fn rotate(adds: u64, mask: usize, add: impl Fn(usize)) {
    (0..adds).for_each(|turn| add(turn as usize & mask));
}

#[inline(never)]
fn random(adds: u64, seed: u64, add: impl Fn(usize)) {
    let mut state = seed;
    for _ in 0..adds {
        // A Weyl sequence, mixed by one multiplication: the generator must be cheap compared with what is measured.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        add((((mixed >> 32) * MANY as u64) >> 32) as usize);
    }
}

/// The crate's own counters, with the current backend.
pub struct Rseq(CounterSet);

impl Rseq {
    pub fn new(counters: usize) -> Self {
        Self(CounterSet::new(counters).expect("a set"))
    }

    pub fn backend(&self) -> Backend {
        self.0.backend()
    }

    pub fn read_all(&self) -> u64 {
        self.0.snapshot().sums().iter().sum()
    }
}

impl Contender for Rseq {
    fn run(&self, path: Walk, amount: Amount, adds: u64, seed: u64) {
        match amount {
            Amount::One => walk(path, adds, seed, |counter| self.0.increment(counter)),
            Amount::Given(n) => walk(path, adds, seed, |counter| self.0.add(counter, n)),
        }
    }
}

/// A plain add to memory, the lower limit of the cost. Not safe for several threads.
pub struct Plain(Vec<UnsafeCell<u64>>);

// SAFETY: measured with only one thread.
unsafe impl Sync for Plain {}

impl Plain {
    pub fn new(counters: usize) -> Self {
        Self((0..counters).map(|_| UnsafeCell::new(0)).collect())
    }

    #[allow(dead_code, reason = "the test of the contenders asks")]
    pub fn read_all(&mut self) -> u64 {
        self.0.iter_mut().map(|cell| *cell.get_mut()).sum()
    }
}

impl Contender for Plain {
    fn run(&self, path: Walk, amount: Amount, adds: u64, seed: u64) {
        // SAFETY: one thread; volatile, or the compiler would replace the whole loop by one add.
        let add = |cell: *mut u64, n: u64| unsafe { cell.write_volatile(cell.read_volatile().wrapping_add(n)) };
        match amount {
            Amount::One => walk(path, adds, seed, |counter| add(self.0[counter].get(), 1)),
            Amount::Given(n) => walk(path, adds, seed, |counter| add(self.0[counter].get(), n)),
        }
    }
}

/// Adds nothing: 32 no-op instructions, which only use issue slots of the core. Another thread on the same core takes
/// half of these slots, which does not slow down a plain add.
pub struct NoOps;

impl Contender for NoOps {
    fn run(&self, _: Walk, _: Amount, adds: u64, _: u64) {
        for _ in 0..adds {
            // SAFETY: no-ops.
            unsafe { std::arch::asm!(".rept 32", "nop", ".endr", options(nostack, nomem, preserves_flags)) };
        }
    }
}

/// One relaxed atomic per counter, packed.
pub struct Atomics(Vec<AtomicU64>);

impl Atomics {
    pub fn new(counters: usize) -> Self {
        Self((0..counters).map(|_| AtomicU64::new(0)).collect())
    }

    #[allow(dead_code, reason = "the test of the contenders asks")]
    pub fn read_all(&self) -> u64 {
        self.0.iter().map(|cell| cell.load(Ordering::Relaxed)).sum()
    }
}

impl Contender for Atomics {
    fn run(&self, path: Walk, amount: Amount, adds: u64, seed: u64) {
        let n = amount.value();
        walk(path, adds, seed, |counter| {
            self.0[counter].fetch_add(n, Ordering::Relaxed);
        });
    }
}

/// 24 atomics per counter, each in a cache line of its own; the CPU number selects the shard. This is the fastest
/// variant on x86 in ["NUMA Smart Global Counter"](https://mysqlonarm.github.io/NUMA-Smart-Global-Counter/).
pub struct Sharded(Vec<[Line; SHARDS]>);

#[repr(align(64))]
struct Line(AtomicU64);

impl Sharded {
    pub fn new(counters: usize) -> Self {
        Self((0..counters).map(|_| [const { Line(AtomicU64::new(0)) }; SHARDS]).collect())
    }

    pub fn read_all(&self) -> u64 {
        self.0.iter().flatten().map(|line| line.0.load(Ordering::Relaxed)).sum()
    }
}

impl Contender for Sharded {
    fn run(&self, path: Walk, amount: Amount, adds: u64, seed: u64) {
        let n = amount.value();
        walk(path, adds, seed, |counter| {
            // SAFETY: no arguments.
            let cpu = unsafe { libc::sched_getcpu() } as usize;
            self.0[counter][cpu % SHARDS].0.fetch_add(n, Ordering::Relaxed);
        });
    }
}

/// Wall time per add of the slowest thread, in ns.
pub fn ns_per_add(contender: &dyn Contender, path: Walk, amount: Amount, threads: usize, adds: u64) -> f64 {
    let start = Barrier::new(threads);
    let slowest = thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|thread| {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    let begin = Instant::now();
                    black_box(contender).run(path, amount, adds, 0x9e37_79b9_7f4a_7c15 ^ thread as u64);
                    begin.elapsed()
                })
            })
            .collect();
        handles.into_iter().filter_map(|handle| handle.join().ok()).max()
    });
    slowest.map_or(f64::NAN, |slowest| slowest.as_secs_f64() * 1e9 / adds as f64)
}
