//! Scalable statistical counters: an add writes to the row of the CPU it runs on, and a read sums the rows.
//!
//! When threads share one counter, each add moves its cache line from one CPU to another, which may take hundreds of
//! nanoseconds on a large machine. In this crate an add is a few plain instructions on memory that no other CPU writes:
//! on Linux on x86-64 and aarch64, one non-atomic add committed by a [restartable sequence][rseq] (rseq).
//!
//! ```
//! use tare_counters::{Backend, Counter, CounterSet};
//!
//! static QUERIES: Counter = Counter::new();          // a single counter, anywhere
//! QUERIES.increment();
//! assert_eq!(QUERIES.sum(), 1);
//!
//! let tables = CounterSet::new(1000)?;                // many, by number
//! tables.add(17, 3);
//! assert_eq!(tables.sum(17), 3);
//! println!("adds by {}; {}", tables.backend(), tables.placement());
//! # assert!(Backend::ALL.contains(&tables.backend()));
//! # Ok::<(), tare_counters::Error>(())
//! ```
//!
//! # Guarantees
//! - **No add is lost or counted twice**, even when its thread is moved, preempted or interrupted.
//! - **A sum is an intermediate value**: at least everything added before the sum began, and at most everything added
//!   before it returned ([intermediate value linearizability][ivl], for counters that only go up). It is not a snapshot
//!   at one instant: of two adds by different threads it may include only the later one.
//! - **Successive sums by one reader never fall** (for [`Counter`] and [`CounterSet`], until they wrap at 2^64).
//! - **Exact after join**: a sum that happens after the adds (the threads were joined, or passed on a lock) includes
//!   all of them. Adds and sums use relaxed ordering: they do not order other memory accesses.
//! - There is no fetch-and-add (an add does not know the total), no set and no reset, because a thread must never write
//!   to the slot of another CPU. To start counting from zero, keep a baseline: [`CounterSet::snapshot`] and
//!   [`CounterSet::delta_since`].
//!
//! # Cost
//! - **Memory**: 8 bytes x possible CPUs per counter. Each row of a [`CounterSet`] takes whole pages, so use few large
//!   sets; [`Counter`] and [`UpDownCounter`] share such sets already. Pages that were never written take no memory.
//! - **Add**: with rseq, 1.1 to 1.9 times the cost of a plain add on a core of its own; with the other backends, the
//!   cost of an uncontended atomic add.
//! - **Read**: a sum reads one cache line per possible CPU, most of them last written by other CPUs. To read many
//!   counters use [`CounterSet::snapshot`], which reads the rows in sequence. The design assumes that reads are rare
//!   compared with adds.
//!
//! The figures are in the project's `docs/counters.md`, with the command that measures them.
//!
//! # Backends
//! The backend is probed once ([`Backend::current`]) and can be printed. The environment variable
//! [`TARE_COUNTERS_BACKEND`](BACKEND_VARIABLE) or `with_backend` overrides the choice:
//!
//! | backend | where |
//! | --- | --- |
//! | `rseq-glibc` | Linux 4.18 and glibc 2.35 or later |
//! | `rseq-self` | static musl, or glibc with `GLIBC_TUNABLES=glibc.pthread.rseq=0`; threads register at first add |
//! | `cpu-atomic` | no rseq, but reading the number of the current CPU is cheap |
//! | `striped` | everywhere else: other systems and architectures, Miri, loom |
//!
//! On aarch64 a self-test at start-up checks that the kernel aborts a sequence that was preempted and resumed on the
//! same CPU. Some kernels are reported not to do so; on these the backend is `cpu-atomic`.
//!
//! Known limits of restartable sequences: a debugger cannot single-step through one (it restarts for ever), and code
//! that contains one must not be unloaded (`dlclose`) while its threads run. Adds are safe in signal handlers, except
//! the first one of a [`Counter`] or [`UpDownCounter`], which allocates, and with `rseq-self` the first one of a
//! thread. After `fork` the child counts in a copy of its own.
//!
//! [rseq]: https://www.kernel.org/doc/html/latest/userspace-api/rseq.html
//! [ivl]: https://arxiv.org/abs/2006.12889

#![warn(clippy::missing_errors_doc)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod backend;
mod counter;
pub mod cpus;
mod probe;
mod rows;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64",
    not(any(miri, loom))
))]
mod rseq;
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64",
    not(any(miri, loom))
)))]
#[path = "rseq_absent.rs"]
mod rseq;
mod set;
mod snapshot;

pub use backend::{BACKEND_VARIABLE, Backend, Placement, UnknownBackend};
pub use counter::{Counter, UpDownCounter};
#[doc(hidden)]
pub use rows::Rows;
pub use set::CounterSet;
pub use snapshot::{Error, PerCpu, PerNode, Snapshot};

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
