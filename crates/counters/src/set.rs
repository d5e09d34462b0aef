//! A set of counters, on which the other types are built.

use crate::backend::{self, Backend, Placement};
use crate::rows::Rows;
use crate::snapshot::{Error, PerCpu, PerNode, Snapshot};
use crate::{cpus, probe, rseq};
use std::sync::atomic::Ordering;

/// Many counters in one allocation. Each possible CPU has a row of packed 8-byte counters in pages of its own, bound to
/// the NUMA node of that CPU. Memory: 8 bytes x possible CPUs per counter (rows are rounded up to whole pages; pages
/// never written take no memory).
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
    /// Possible CPUs. One extra row, with the index `cpus`, takes atomic adds only, from threads that cannot use the
    /// restartable add.
    cpus: usize,
    backend: Backend,
    /// Whether the backend adds by rseq.
    rseq: bool,
    area: isize,
    placement: Placement,
}

impl CounterSet {
    /// Creates `counters` counters, all 0, with the current backend ([`Backend::current`]).
    ///
    /// # Errors
    /// The backend named in the environment cannot be used, or the memory cannot be allocated.
    pub fn new(counters: usize) -> Result<Self, Error> {
        Self::with_backend(counters, Backend::current()?)
    }

    /// Creates `counters` counters, all 0, with the given backend.
    ///
    /// # Errors
    /// The backend cannot work here, or the memory cannot be allocated.
    pub fn with_backend(counters: usize, backend: Backend) -> Result<Self, Error> {
        let area = probe::require(backend)?;
        let cpus = cpus::possible();
        let rows =
            Rows::new(cpus + 1, counters).map_err(|source| Error::Memory { counters, rows: cpus + 1, source })?;
        let placement = Placement::bind(&rows, cpus::nodes());
        let rseq = matches!(backend, Backend::RseqGlibc | Backend::RseqSelf);
        Ok(Self { rows, counters, cpus, backend, rseq, area, placement })
    }

    /// The number of counters in the set.
    pub fn len(&self) -> usize {
        self.counters
    }

    /// Whether the set has no counters.
    pub fn is_empty(&self) -> bool {
        self.counters == 0
    }

    /// The backend that this set uses.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// How many rows are on the NUMA node of their CPU, and why others are not.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Bytes that one counter takes over all CPUs: 8 x possible CPUs.
    pub fn bytes_per_counter(&self) -> usize {
        self.cpus * size_of::<u64>()
    }

    /// Adds `n` (wrapping at 2^64).
    ///
    /// # Panics
    /// If `counter` is not below [`len`](Self::len), as slice indexing does.
    #[inline]
    pub fn add(&self, counter: usize, n: u64) {
        // First, so that a loop of adds reads it once.
        let guess = rseq::guess_cpu(self.area);
        self.check(counter);
        // SAFETY: `probe` guarantees the area, `check` the counter, `rows` the mapping; the rows below `cpus` of a set
        // with this backend are written by this add alone.
        if !(self.rseq && unsafe { rseq::add(self.operands(), guess, self.rows.first_row(counter), n) }) {
            self.add_otherwise(counter, n);
        }
    }

    /// Adds 1. See [`add`](Self::add).
    ///
    /// # Panics
    /// If `counter` is not below [`len`](Self::len).
    #[inline]
    pub fn increment(&self, counter: usize) {
        let guess = rseq::guess_cpu(self.area);
        self.check(counter);
        // SAFETY: as in `add`.
        if !(self.rseq && unsafe { rseq::increment(self.operands(), guess, self.rows.first_row(counter), 1) }) {
            self.add_otherwise(counter, 1);
        }
    }

    /// The counter's value: everything added before this call began, and possibly part of what is added meanwhile.
    /// Never less than an earlier sum by the same reader (until it wraps).
    ///
    /// # Panics
    /// If `counter` is not below [`len`](Self::len).
    pub fn sum(&self, counter: usize) -> u64 {
        self.check(counter);
        (0..=self.cpus).fold(0, |sum, row| sum.wrapping_add(self.load(row, counter)))
    }

    /// The sums of all counters, read row by row: the cheapest way to read many.
    pub fn snapshot(&self) -> Snapshot {
        let mut sums = vec![0u64; self.counters];
        for row in 0..=self.cpus {
            for (counter, sum) in sums.iter_mut().enumerate() {
                *sum = sum.wrapping_add(self.load(row, counter));
            }
        }
        Snapshot(sums)
    }

    /// What was added since an earlier snapshot of this set. To start counting from zero, keep a snapshot as the
    /// baseline. Nothing is written, so the baselines of other readers stay valid.
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

    /// The sum, broken down by the CPU on which it was added. Exact with the rseq backends; with `cpu-atomic`, an add
    /// whose thread is moved in the middle may be attributed to the CPU that the thread left.
    ///
    /// # Panics
    /// If `counter` is not below [`len`](Self::len).
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

    /// The addresses of a counter's cells, one in each row, for instance to ask the kernel on which node each is.
    ///
    /// # Panics
    /// If `counter` is not below [`len`](Self::len).
    pub fn addresses(&self, counter: usize) -> impl Iterator<Item = usize> {
        self.check(counter);
        (0..=self.cpus).map(move |row| std::ptr::from_ref(self.rows.cell(row, counter)).addr())
    }

    /// The sum, broken down by the NUMA node of the CPU on which it was added.
    ///
    /// # Panics
    /// If `counter` is not below [`len`](Self::len).
    pub fn per_node(&self, counter: usize) -> PerNode<u64> {
        self.per_cpu(counter).by_node(cpus::nodes())
    }

    /// [`increment`](Self::increment) by rseq without the restartable section, which loses counts. A test uses it to
    /// show that the test of exactness can fail.
    #[cfg(feature = "mutant")]
    #[doc(hidden)]
    #[inline]
    pub fn increment_without_section(&self, counter: usize) {
        let guess = rseq::guess_cpu(self.area);
        self.check(counter);
        assert!(self.rseq, "the mutant is made of the rseq add");
        // SAFETY: as in `add`. The missing section loses counts, which is the purpose, and has no other effect.
        if !unsafe { rseq::add_without_section(self.operands(), guess, self.rows.first_row(counter), 1) } {
            self.add_otherwise(counter, 1);
        }
    }

    /// Adds with the atomic backends, and for a thread without a registered rseq area. Not inlined, so that callers
    /// inline only the restartable add; the call costs little compared with an atomic.
    #[inline(never)]
    fn add_otherwise(&self, counter: usize, n: u64) {
        let row = match self.backend {
            Backend::RseqSelf if rseq::register_thread() && self.add_registered(counter, n) => return,
            // The extra row, which only atomic adds touch.
            Backend::RseqGlibc | Backend::RseqSelf => self.cpus,
            Backend::CpuAtomic => probe::current_cpu().unwrap_or(self.cpus).min(self.cpus),
            Backend::Striped => backend::stripe_of_thread() % self.cpus,
        };
        self.rows.cell(row, counter).fetch_add(n, Ordering::Relaxed);
    }

    /// Retries the restartable add, now that the thread is registered.
    fn add_registered(&self, counter: usize, n: u64) -> bool {
        // SAFETY: as in `add`.
        unsafe { rseq::add(self.operands(), rseq::guess_cpu(self.area), self.rows.first_row(counter), n) }
    }

    #[inline]
    fn operands(&self) -> rseq::Add {
        // Possible CPUs fit in 32 bits: `cpus::parse_list` limits them.
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

/// Panics as slice indexing does. Not inlined, to keep the formatting out of the add.
#[cold]
#[inline(never)]
#[expect(clippy::panic, reason = "the documented answer to an index out of range")]
fn out_of_range(counter: usize, counters: usize) -> ! {
    panic!("counter {counter} of a set of {counters}")
}
