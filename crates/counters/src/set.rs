//! A set of counters: the type the others are made of.

use crate::backend::Backend;
use crate::error::Error;
use crate::placement::Placement;
use crate::rows::Rows;
use crate::snapshot::{PerCpu, PerNode, Snapshot};
use crate::{cpus, probe, rseq, stripe};
use std::sync::atomic::Ordering;

/// Many counters side by side: for each possible CPU a row of packed 8-byte counters in pages of their own, bound to
/// that CPU's node. Memory: 8 bytes x possible CPUs a counter (rows round up to whole pages; pages never written cost
/// nothing).
///
/// ```
/// use tare_counters::CounterSet;
///
/// const READS: usize = 0;
/// const WRITES: usize = 1;
/// let set = CounterSet::new(2)?;
/// let before = set.snapshot();
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| {
///             set.increment(READS);
///             set.add(WRITES, 10);
///         });
///     }
/// });
/// assert_eq!(set.sum(WRITES), 40);
/// assert_eq!(set.delta_since(&before)?.sums(), [4, 40]);
/// # Ok::<(), tare_counters::Error>(())
/// ```
#[derive(Debug)]
pub struct CounterSet {
    rows: Rows,
    counters: usize,
    /// Possible CPUs. Row `cpus` is the odd one out: atomic adds only, for threads the restartable add cannot serve.
    cpus: usize,
    backend: Backend,
    /// Whether the backend adds by rseq.
    rseq: bool,
    area: isize,
    placement: Placement,
}

impl CounterSet {
    /// `counters` counters, all 0, on the current backend ([`Backend::current`]).
    ///
    /// # Errors
    /// The backend named in the environment cannot be used, or the memory cannot be had.
    pub fn new(counters: usize) -> Result<Self, Error> {
        Self::with_backend(counters, Backend::current()?)
    }

    /// `counters` counters, all 0, on this backend.
    ///
    /// # Errors
    /// The backend cannot work here, or the memory cannot be had.
    pub fn with_backend(counters: usize, backend: Backend) -> Result<Self, Error> {
        let area = probe::require(backend)?;
        let cpus = cpus::possible();
        let rows =
            Rows::new(cpus + 1, counters).map_err(|source| Error::Memory { counters, rows: cpus + 1, source })?;
        let placement = Placement::bind(&rows, cpus::nodes());
        let rseq = matches!(backend, Backend::RseqGlibc | Backend::RseqSelf);
        Ok(Self { rows, counters, cpus, backend, rseq, area, placement })
    }

    /// How many counters the set has.
    pub fn len(&self) -> usize {
        self.counters
    }

    /// Whether the set has no counter.
    pub fn is_empty(&self) -> bool {
        self.counters == 0
    }

    /// The backend this set adds with.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Which rows lie on their CPU's node, and why others do not.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Memory of one counter over all CPUs: 8 bytes x possible CPUs.
    pub fn bytes_per_counter(&self) -> usize {
        self.cpus * size_of::<u64>()
    }

    /// Adds `n` (wrapping at 2^64).
    ///
    /// # Panics
    /// When `counter` is not below [`len`](Self::len), as indexing a slice does.
    #[inline]
    pub fn add(&self, counter: usize, n: u64) {
        // First of all, so that a loop of adds reads it once.
        let guess = rseq::guess_cpu(self.area);
        self.check(counter);
        // SAFETY: `probe` vouches for the area, `check` for the counter, `rows` for the mapping; rows below `cpus` of a
        // set with this backend are written by this add alone.
        if !(self.rseq && unsafe { rseq::add(self.operands(), guess, self.rows.first_row(counter), n) }) {
            self.add_otherwise(counter, n);
        }
    }

    /// Adds 1. See [`add`](Self::add).
    ///
    /// # Panics
    /// When `counter` is not below [`len`](Self::len).
    #[inline]
    pub fn increment(&self, counter: usize) {
        let guess = rseq::guess_cpu(self.area);
        self.check(counter);
        // SAFETY: as in `add`.
        if !(self.rseq && unsafe { rseq::increment(self.operands(), guess, self.rows.first_row(counter), 1) }) {
            self.add_otherwise(counter, 1);
        }
    }

    /// The counter's value: everything added before this call began, and possibly some of what is added meanwhile.
    /// Never less than an earlier sum by the same reader (until it wraps).
    ///
    /// # Panics
    /// When `counter` is not below [`len`](Self::len).
    pub fn sum(&self, counter: usize) -> u64 {
        self.check(counter);
        (0..=self.cpus).fold(0, |sum, row| sum.wrapping_add(self.load(row, counter)))
    }

    /// All counters' sums, read row by row: the cheapest way to read many.
    pub fn snapshot(&self) -> Snapshot {
        let mut sums = vec![0u64; self.counters];
        for row in 0..=self.cpus {
            for (counter, sum) in sums.iter_mut().enumerate() {
                *sum = sum.wrapping_add(self.load(row, counter));
            }
        }
        Snapshot(sums)
    }

    /// What was added since an earlier snapshot of this set. This is how to start counting anew: keep a snapshot as the
    /// baseline. Nothing is written, so no one else's baseline suffers.
    ///
    /// # Errors
    /// The snapshot has another number of counters.
    pub fn delta_since(&self, earlier: &Snapshot) -> Result<Snapshot, Error> {
        if earlier.0.len() != self.counters {
            return Err(Error::OtherSet { expected: self.counters, found: earlier.0.len() });
        }
        let mut now = self.snapshot();
        now.0.iter_mut().zip(&earlier.0).for_each(|(now, &before)| *now = now.wrapping_sub(before));
        Ok(now)
    }

    /// The sum by the CPU it was added on. Exact with the rseq backends; with `cpu-atomic` a thread moved in the middle
    /// of an add may be filed under the CPU it left.
    ///
    /// # Panics
    /// When `counter` is not below [`len`](Self::len).
    pub fn per_cpu(&self, counter: usize) -> PerCpu<u64> {
        self.check(counter);
        let rows: Vec<u64> = (0..self.cpus).map(|row| self.load(row, counter)).collect();
        let odd = self.load(self.cpus, counter);
        if self.backend.by_cpu() {
            PerCpu { cpus: rows, unattributed: odd }
        } else {
            PerCpu { cpus: vec![0; self.cpus], unattributed: rows.into_iter().fold(odd, u64::wrapping_add) }
        }
    }

    /// Where a counter's cells lie, one of each row: addresses to ask the kernel about, as which node has them.
    ///
    /// # Panics
    /// When `counter` is not below [`len`](Self::len).
    pub fn addresses(&self, counter: usize) -> impl Iterator<Item = usize> {
        self.check(counter);
        (0..=self.cpus).map(move |row| std::ptr::from_ref(self.rows.cell(row, counter)).addr())
    }

    /// The sum by the node of the CPU it was added on.
    ///
    /// # Panics
    /// When `counter` is not below [`len`](Self::len).
    pub fn per_node(&self, counter: usize) -> PerNode<u64> {
        self.per_cpu(counter).by_node(cpus::nodes())
    }

    /// [`increment`](Self::increment) by rseq with the restartable section taken out: loses counts. For the test that
    /// shows the test of exactness can fail.
    #[cfg(feature = "mutant")]
    #[doc(hidden)]
    #[inline]
    pub fn increment_without_section(&self, counter: usize) {
        let guess = rseq::guess_cpu(self.area);
        self.check(counter);
        assert!(self.rseq, "the mutant is made of the rseq add");
        // SAFETY: as in `add`; that counts get lost is the point, and loses nothing but counts.
        if !unsafe { rseq::add_without_section(self.operands(), guess, self.rows.first_row(counter), 1) } {
            self.add_otherwise(counter, 1);
        }
    }

    /// The atomic backends, and a thread without a registered rseq area. Out of line, so that what is inlined
    /// everywhere is the restartable add alone; a call is little compared with an atomic.
    #[inline(never)]
    fn add_otherwise(&self, counter: usize, n: u64) {
        let row = match self.backend {
            Backend::RseqSelf if rseq::register_thread() && self.add_registered(counter, n) => return,
            // The odd row, which only atomics touch.
            Backend::RseqGlibc | Backend::RseqSelf => self.cpus,
            Backend::CpuAtomic => probe::current_cpu().unwrap_or(self.cpus).min(self.cpus),
            Backend::Striped => stripe::of_thread() % self.cpus,
        };
        self.rows.cell(row, counter).fetch_add(n, Ordering::Relaxed);
    }

    /// The restartable add again, now that the thread is registered.
    fn add_registered(&self, counter: usize, n: u64) -> bool {
        // SAFETY: as in `add`.
        unsafe { rseq::add(self.operands(), rseq::guess_cpu(self.area), self.rows.first_row(counter), n) }
    }

    #[inline]
    fn operands(&self) -> rseq::Add {
        // Possible CPUs fit 32 bits: the list they are read from is bounded.
        rseq::Add { area: self.area, rows: self.cpus as u32, stride: self.rows.stride_bytes() }
    }

    #[inline]
    fn load(&self, row: usize, counter: usize) -> u64 {
        self.rows.cell(row, counter).load(Ordering::Relaxed)
    }

    #[inline]
    fn check(&self, counter: usize) {
        if counter >= self.counters {
            out_of_range(counter, self.counters);
        }
    }
}

/// Fails as slice indexing does; out of line, to keep its formatting out of the add.
#[cold]
#[inline(never)]
#[expect(clippy::panic, reason = "the documented answer to an index out of range")]
fn out_of_range(counter: usize, counters: usize) -> ! {
    panic!("counter {counter} of a set of {counters}")
}
