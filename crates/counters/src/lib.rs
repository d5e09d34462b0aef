//! Scalable statistical counters: every add goes to the row of the CPU it runs on, every read sums the rows.
//!
//! A counter all threads share costs each of them a trip of its cache line between CPUs; one add may take hundreds of
//! nanoseconds on a large machine. Here an add is a few plain instructions on memory no other CPU writes: on Linux, on
//! x86-64 and aarch64, one non-atomic add committed by a [restartable sequence][rseq].
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
//! # Contract
//! - **No add is lost or made twice**, whatever moves, preempts or interrupts the thread.
//! - **A sum is an intermediate value**: at least everything added before it began and at most everything added before
//!   it returned ([intermediate value linearizability][ivl], for counters that only go up). It is not a snapshot at one
//!   instant: of two adds by different threads it may see the later one only.
//! - **Successive sums by one reader never fall** (for [`Counter`] and [`CounterSet`], until 2^64 wraps).
//! - **Exact after join**: a sum that happens after the adds (the threads were joined, or handed a lock over) has them
//!   all. Adds and sums are relaxed: they order nothing else.
//! - There is no fetch-and-add (no add knows the total), no set, and no reset: another CPU's slot must never be
//!   written. To count anew keep a baseline: [`CounterSet::snapshot`] and [`CounterSet::delta_since`].
//!
//! # Cost
//! - **Memory**: 8 bytes x possible CPUs a counter. A [`CounterSet`] takes whole pages a row, so use few large sets;
//!   [`Counter`] and [`UpDownCounter`] share such sets already. Pages no one wrote are not backed.
//! - **Add**: with rseq 1.1 to 1.9 times that of a plain add on a core of its own; with the other backends that of an
//!   uncontended atomic.
//! - **Read**: a sum reads one line a possible CPU, most of them last written elsewhere; [`CounterSet::snapshot`] reads
//!   rows in sequence and is the way to read many. Reads are for those who look at counters now and then.
//!
//! The figures are in the project's `docs/counters.md`, with the command that makes them.
//!
//! # Backends
//! Probed once ([`Backend::current`]), printable, and overridden by the environment variable
//! [`TARE_COUNTERS_BACKEND`](BACKEND_VARIABLE) or by `with_backend`:
//!
//! | backend | where |
//! | --- | --- |
//! | `rseq-glibc` | Linux 4.18 and glibc 2.35 or later |
//! | `rseq-self` | static musl, or glibc with `GLIBC_TUNABLES=glibc.pthread.rseq=0`: each thread registers at its first
//! add |
//! | `cpu-atomic` | no rseq, but the CPU's number can be had cheaply |
//! | `striped` | everywhere else: other systems and architectures, Miri, loom |
//!
//! On aarch64 a start-up self-test must first see the kernel abort a section preempted on its own CPU; kernels reported
//! not to do so get `cpu-atomic`.
//!
//! Known limits of restartable sequences: a debugger cannot single-step through one (it restarts for ever); code that
//! holds one must not be unloaded (`dlclose`) while its threads run. Adds are safe in signal handlers; on `rseq-self`,
//! if the thread has added before.
//!
//! [rseq]: https://www.kernel.org/doc/html/latest/userspace-api/rseq.html
//! [ivl]: https://arxiv.org/abs/2006.12889

#![warn(clippy::missing_errors_doc)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod backend;
mod counter;
pub mod cpus;
mod error;
mod placement;
mod pool;
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
mod stripe;

pub use backend::{BACKEND_VARIABLE, Backend, UnknownBackend};
pub use counter::{Counter, UpDownCounter};
pub use error::Error;
pub use placement::Placement;
#[doc(hidden)]
pub use rows::Rows;
pub use set::CounterSet;
pub use snapshot::{PerCpu, PerNode, Snapshot};

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
