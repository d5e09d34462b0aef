//! Single counters, which take a slot in a shared set: [`Counter`] only goes up, [`UpDownCounter`] goes up and down.

use crate::backend::Backend;
use crate::cpus;
use crate::set::CounterSet;
use crate::snapshot::{Error, PerCpu, PerNode};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Where a counter keeps its value, decided at its first use.
#[derive(Debug)]
enum Store {
    Slot(Slot),
    /// No slot is available (no memory, or the environment names a backend that cannot work here): one exact atomic.
    Alone(AtomicU64),
}

impl Store {
    fn open() -> Self {
        Backend::current().and_then(Slot::take).map_or_else(|_| Self::Alone(AtomicU64::new(0)), Self::Slot)
    }

    fn sum(&self) -> u64 {
        match self {
            Self::Slot(slot) => slot.sum(),
            Self::Alone(value) => value.load(Ordering::Relaxed),
        }
    }

    fn per_cpu(&self) -> PerCpu<u64> {
        match self {
            Self::Slot(slot) => slot.per_cpu(),
            Self::Alone(value) => {
                PerCpu { cpus: vec![0; cpus::possible()], unattributed: value.load(Ordering::Relaxed) }
            }
        }
    }
}

/// The common part of [`Counter`] and [`UpDownCounter`]: 64 bits that wrap, read as unsigned or signed.
#[derive(Debug)]
struct Inner(OnceLock<Store>);

impl Inner {
    const fn new() -> Self {
        Self(OnceLock::new())
    }

    fn with_backend(backend: Backend) -> Result<Self, Error> {
        Ok(Self(OnceLock::from(Store::Slot(Slot::take(backend)?))))
    }

    #[inline]
    fn add(&self, n: u64) {
        match self.store() {
            Store::Slot(slot) => slot.set.add(slot.index, n),
            Store::Alone(value) => {
                value.fetch_add(n, Ordering::Relaxed);
            }
        }
    }

    #[inline]
    fn increment(&self) {
        match self.store() {
            Store::Slot(slot) => slot.set.increment(slot.index),
            Store::Alone(value) => {
                value.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    #[inline]
    fn store(&self) -> &Store {
        self.0.get_or_init(Store::open)
    }

    fn backend(&self) -> Option<Backend> {
        match self.store() {
            Store::Slot(slot) => Some(slot.set.backend()),
            Store::Alone(_) => None,
        }
    }
}

/// A counter that only goes up. It takes a slot in a shared [`CounterSet`] at its first use, so it can be a `static`.
/// Memory: 8 bytes x possible CPUs in the set, and a few words in the counter itself.
///
/// ```
/// use tare_counters::Counter;
///
/// static REQUESTS: Counter = Counter::new();
///
/// let before = REQUESTS.sum();
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| REQUESTS.increment());
///     }
/// });
/// assert_eq!(REQUESTS.delta_since(before), 4);
/// ```
#[derive(Debug)]
pub struct Counter(Inner);

impl Counter {
    /// Creates a counter at 0, with the backend that is current at its first use.
    pub const fn new() -> Self {
        Self(Inner::new())
    }

    /// Creates a counter at 0 with the given backend.
    ///
    /// # Errors
    /// The backend cannot work here, or the memory cannot be allocated.
    pub fn with_backend(backend: Backend) -> Result<Self, Error> {
        Inner::with_backend(backend).map(Self)
    }

    /// Adds `n` (wrapping at 2^64).
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.add(n);
    }

    /// Adds 1. See [`add`](Self::add).
    #[inline]
    pub fn increment(&self) {
        self.0.increment();
    }

    /// The counter's value. See [`CounterSet::sum`](crate::CounterSet::sum).
    pub fn sum(&self) -> u64 {
        self.0.store().sum()
    }

    /// What was added since an earlier [`sum`](Self::sum) of this counter.
    pub fn delta_since(&self, earlier: u64) -> u64 {
        self.sum().wrapping_sub(earlier)
    }

    /// The value, broken down by the CPU on which it was added. See
    /// [`CounterSet::per_cpu`](crate::CounterSet::per_cpu).
    pub fn per_cpu(&self) -> PerCpu<u64> {
        self.0.store().per_cpu()
    }

    /// The value, broken down by the NUMA node of the CPU on which it was added.
    pub fn per_node(&self) -> PerNode<u64> {
        self.per_cpu().by_node(cpus::nodes())
    }

    /// The backend in use; `None` when no slot in a shared set was available and the counter is one plain atomic.
    pub fn backend(&self) -> Option<Backend> {
        self.0.backend()
    }
}

impl Default for Counter {
    fn default() -> Self {
        Self::new()
    }
}

/// A counter that goes up and down, for instance connections open or bytes in use. Otherwise like [`Counter`];
/// successive sums may fall, because the value may.
///
/// ```
/// use tare_counters::UpDownCounter;
///
/// static OPEN: UpDownCounter = UpDownCounter::new();
///
/// OPEN.add(3);
/// OPEN.decrement();
/// std::thread::spawn(|| OPEN.add(-2)).join().unwrap();
/// assert_eq!(OPEN.sum(), 0);
/// ```
#[derive(Debug)]
pub struct UpDownCounter(Inner);

impl UpDownCounter {
    /// Creates a counter at 0, with the backend that is current at its first use.
    pub const fn new() -> Self {
        Self(Inner::new())
    }

    /// Creates a counter at 0 with the given backend.
    ///
    /// # Errors
    /// The backend cannot work here, or the memory cannot be allocated.
    pub fn with_backend(backend: Backend) -> Result<Self, Error> {
        Inner::with_backend(backend).map(Self)
    }

    /// Adds `n`, which may be negative (wrapping at the ends of i64).
    #[inline]
    pub fn add(&self, n: i64) {
        self.0.add(n.cast_unsigned());
    }

    /// Adds 1. See [`add`](Self::add).
    #[inline]
    pub fn increment(&self) {
        self.0.increment();
    }

    /// Subtracts 1. See [`add`](Self::add).
    #[inline]
    pub fn decrement(&self) {
        self.add(-1);
    }

    /// The counter's value: everything added before this call began, and any part of what is added meanwhile.
    pub fn sum(&self) -> i64 {
        self.0.store().sum().cast_signed()
    }

    /// The change of the value since an earlier [`sum`](Self::sum) of this counter.
    pub fn delta_since(&self, earlier: i64) -> i64 {
        self.sum().wrapping_sub(earlier)
    }

    /// The value, broken down by the CPU on which it was added. The part of one CPU may be negative.
    pub fn per_cpu(&self) -> PerCpu<i64> {
        self.0.store().per_cpu().map(u64::cast_signed)
    }

    /// The value, broken down by the NUMA node of the CPU on which it was added.
    pub fn per_node(&self) -> PerNode<i64> {
        self.0.store().per_cpu().by_node(cpus::nodes()).map(u64::cast_signed)
    }

    /// The backend in use; `None` when no slot in a shared set was available and the counter is one plain atomic.
    pub fn backend(&self) -> Option<Backend> {
        self.0.backend()
    }
}

impl Default for UpDownCounter {
    fn default() -> Self {
        Self::new()
    }
}

/// Counters in a shared set: one page of 4 KiB per row.
const CHUNK: usize = 512;

/// A slot and the values it had when it was allocated: slots are reused, and are never written to reset them. Slots are
/// taken from sets that the whole process shares: a row takes whole pages, too much for one counter.
#[derive(Debug)]
struct Slot {
    pub(crate) set: &'static CounterSet,
    pub(crate) index: usize,
    base: PerCpu<u64>,
    base_sum: u64,
}

type Free = Vec<(&'static CounterSet, usize)>;

static FREE: [Mutex<Free>; 4] = [const { Mutex::new(Vec::new()) }; 4];

impl Slot {
    pub(crate) fn take(backend: Backend) -> Result<Self, Error> {
        let mut free = lock(backend);
        if free.is_empty() {
            // Never freed: counters in statics use it until the process ends.
            let set: &'static CounterSet = Box::leak(Box::new(CounterSet::with_backend(CHUNK, backend)?));
            free.extend((0..CHUNK).rev().map(|index| (set, index)));
        }
        let Some((set, index)) = free.pop() else {
            return Err(Error::Memory { counters: CHUNK, rows: 0, source: None });
        };
        Ok(Self { set, index, base: set.per_cpu(index), base_sum: set.sum(index) })
    }

    pub(crate) fn sum(&self) -> u64 {
        self.set.sum(self.index).wrapping_sub(self.base_sum)
    }

    pub(crate) fn per_cpu(&self) -> PerCpu<u64> {
        let mut now = self.set.per_cpu(self.index);
        now.cpus.iter_mut().zip(&self.base.cpus).for_each(|(now, &base)| *now = now.wrapping_sub(base));
        now.unattributed = now.unattributed.wrapping_sub(self.base.unattributed);
        now
    }
}

impl Drop for Slot {
    /// Only the counter's owner uses the slot, so no add is under way, and the base of the next owner is exact.
    fn drop(&mut self) {
        lock(self.set.backend()).push((self.set, self.index));
    }
}

fn lock(backend: Backend) -> std::sync::MutexGuard<'static, Free> {
    // Each operation adds or removes whole entries, so a panic cannot leave the list inconsistent.
    FREE[backend as usize].lock().unwrap_or_else(PoisonError::into_inner)
}
