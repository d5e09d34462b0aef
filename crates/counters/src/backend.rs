//! How an add finds the row that it writes to, and on which NUMA nodes the rows are.

use crate::rows::Rows;
#[cfg(loom)]
use loom::sync::atomic::{AtomicUsize, Ordering};
use std::fmt;
use std::str::FromStr;
#[cfg(not(loom))]
use std::sync::atomic::{AtomicUsize, Ordering};

/// Environment variable that names the backend to use, instead of the one chosen by probing.
pub const BACKEND_VARIABLE: &str = "TARE_COUNTERS_BACKEND";

/// How an add finds its row and makes the addition safe. Every backend is exact; they differ in cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// One plain add inside a restartable sequence, through the rseq area that the C library registered (glibc 2.35 and
    /// later).
    RseqGlibc,
    /// The same add, through an area that this crate registers for each thread at its first add: static musl, or glibc
    /// started with `GLIBC_TUNABLES=glibc.pthread.rseq=0`.
    RseqSelf,
    /// Reads the number of the current CPU, then adds atomically to the row of that CPU. The count stays exact when the
    /// thread is moved in between.
    CpuAtomic,
    /// An atomic add to a row that each thread is assigned once, round-robin. Works everywhere.
    Striped,
}

impl Backend {
    /// Every backend, fastest first.
    pub const ALL: [Self; 4] = [Self::RseqGlibc, Self::RseqSelf, Self::CpuAtomic, Self::Striped];

    /// The backend's name, as printed and as accepted in [`BACKEND_VARIABLE`]: `rseq-glibc`, `rseq-self`, `cpu-atomic`,
    /// `striped`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RseqGlibc => "rseq-glibc",
            Self::RseqSelf => "rseq-self",
            Self::CpuAtomic => "cpu-atomic",
            Self::Striped => "striped",
        }
    }

    /// Whether adds are attributed to CPUs. With `striped`, a row belongs to threads, not to a CPU.
    pub(crate) const fn by_cpu(self) -> bool {
        !matches!(self, Self::Striped)
    }
}

/// A name that no backend has. The traits are implemented by hand, because the crate depends on libc only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownBackend {
    /// The name as given.
    pub given: String,
}

impl fmt::Display for UnknownBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Backend::ALL.map(Backend::name).join(", ");
        write!(f, "unknown counter backend {:?}; expected one of {known}", self.given)
    }
}

impl std::error::Error for UnknownBackend {}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Backend {
    type Err = UnknownBackend;

    fn from_str(text: &str) -> Result<Self, UnknownBackend> {
        Self::ALL
            .into_iter()
            .find(|backend| backend.name() == text)
            .ok_or_else(|| UnknownBackend { given: text.to_owned() })
    }
}

#[cfg(not(loom))]
static NEXT: AtomicUsize = AtomicUsize::new(0);
#[cfg(not(loom))]
thread_local!(static STRIPE: std::cell::Cell<usize> = const { std::cell::Cell::new(usize::MAX) });

// loom starts each execution of a model from scratch, so its statics must be reset too.
#[cfg(loom)]
loom::lazy_static!(static ref NEXT: AtomicUsize = AtomicUsize::new(0););
#[cfg(loom)]
loom::thread_local!(static STRIPE: std::cell::Cell<usize> = std::cell::Cell::new(usize::MAX));

/// The stripe of the calling thread; 0 in a thread whose thread-locals are already being destroyed.
#[inline]
pub(crate) fn stripe_of_thread() -> usize {
    STRIPE
        .try_with(|stripe| {
            if stripe.get() == usize::MAX {
                stripe.set(NEXT.fetch_add(1, Ordering::Relaxed));
            }
            stripe.get()
        })
        .unwrap_or(0)
}

/// How many rows of a set were bound to the NUMA node of their CPU. Binding is optional: where the kernel or a
/// container forbids it, the set works the same, only slower.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Placement {
    /// Rows bound to the node of their CPU.
    pub bound: usize,
    /// Rows of CPUs whose node is not known (offline, or a machine without nodes).
    pub nodeless: usize,
    /// Rows that the kernel refused to bind.
    pub refused: usize,
    /// The kernel's reason for the first refusal.
    pub reason: Option<String>,
}

impl Placement {
    /// Binds row c to the node of CPU c.
    pub(crate) fn bind(rows: &Rows, node_of: &[Option<u32>]) -> Self {
        let mut placement = Self::default();
        for (row, node) in node_of.iter().enumerate() {
            match node.map(|node| (node, rows.bind(row, node))) {
                None => placement.nodeless += 1,
                Some((_, Ok(()))) => placement.bound += 1,
                Some((node, Err(error))) => {
                    placement.refused += 1;
                    placement.reason.get_or_insert_with(|| format!("row of CPU {row} to node {node}: {error}"));
                }
            }
        }
        placement
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bound, nodeless, refused, reason } = self;
        write!(f, "{bound} rows bound, {nodeless} without a node, {refused} refused")?;
        reason.as_ref().map_or(Ok(()), |reason| write!(f, " ({reason})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_back() {
        for backend in Backend::ALL {
            assert_eq!(backend.to_string().parse::<Backend>().unwrap(), backend);
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let message = "magic".parse::<Backend>().unwrap_err().to_string();
        assert!(
            message.contains("magic") && message.contains("rseq-glibc") && message.contains("striped"),
            "{message}"
        );
    }
}
