//! The results of reading a set, and the errors of making a set and of comparing snapshots. Adds and reads cannot fail.

use crate::backend::{Backend, UnknownBackend};
use std::{fmt, io};

/// The sums of all counters of a set, read one after the other: each as exact as
/// [`CounterSet::sum`](crate::CounterSet::sum), but not all at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot(pub(crate) Vec<u64>);

impl Snapshot {
    /// One sum per counter, in the order of the set.
    pub fn sums(&self) -> &[u64] {
        &self.0
    }

    /// The sum of one counter; `None` if the set has no such counter.
    pub fn get(&self, counter: usize) -> Option<u64> {
        self.0.get(counter).copied()
    }
}

/// The sum of one counter, by CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerCpu<T> {
    /// The part added on each possible CPU, indexed by its number in the operating system.
    pub cpus: Vec<T>,
    /// The part that belongs to no known CPU: adds of threads without a registered rseq area, and all adds with the
    /// `striped` backend.
    pub unattributed: T,
}

/// The sum of one counter, by NUMA node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerNode<T> {
    /// Pairs of a node and the part added on its CPUs, by ascending node number. Nodes without CPUs are not listed.
    pub nodes: Vec<(u32, T)>,
    /// The part that belongs to no known node: see [`PerCpu::unattributed`], and CPUs whose node the kernel does not
    /// report.
    pub unattributed: T,
}

impl<T> PerCpu<T> {
    pub(crate) fn map<U>(self, convert: impl Fn(T) -> U) -> PerCpu<U> {
        PerCpu { cpus: self.cpus.into_iter().map(&convert).collect(), unattributed: convert(self.unattributed) }
    }
}

impl PerCpu<u64> {
    /// Sums the rows of each node's CPUs.
    pub(crate) fn by_node(&self, node_of: &[Option<u32>]) -> PerNode<u64> {
        let mut known: Vec<u32> = node_of.iter().flatten().copied().collect();
        known.sort_unstable();
        known.dedup();
        let mut folded =
            PerNode { nodes: known.into_iter().map(|node| (node, 0)).collect(), unattributed: self.unattributed };
        for (cpu, &part) in self.cpus.iter().enumerate() {
            let node = node_of.get(cpu).copied().flatten();
            match folded.nodes.iter_mut().find(|(known, _)| Some(*known) == node) {
                Some((_, sum)) => *sum = sum.wrapping_add(part),
                None => folded.unattributed = folded.unattributed.wrapping_add(part),
            }
        }
        folded
    }
}

impl<T> PerNode<T> {
    pub(crate) fn map<U>(self, convert: impl Fn(T) -> U) -> PerNode<U> {
        let nodes = self.nodes.into_iter().map(|(node, part)| (node, convert(part))).collect();
        PerNode { nodes, unattributed: convert(self.unattributed) }
    }
}

/// Why a [`CounterSet`](crate::CounterSet) could not be made, or two snapshots could not be compared. The traits are
/// implemented by hand, because the crate depends on libc only.
#[derive(Debug)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum Error {
    /// The name of a backend, given by the program or in the environment, is not that of any in [`Backend::ALL`].
    UnknownBackend(UnknownBackend),
    /// The requested backend cannot work in this process.
    Unavailable { backend: Backend, reason: String },
    /// The rows cannot be allocated: they exceed the address space, or the kernel refused the mapping.
    Memory { counters: usize, rows: usize, source: Option<io::Error> },
    /// The snapshot is of a set with another number of counters.
    OtherSet { expected: usize, found: usize },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownBackend(unknown) => unknown.fmt(f),
            Self::Unavailable { backend, reason } => write!(f, "counter backend {backend} cannot work here: {reason}"),
            Self::Memory { counters, rows, .. } => {
                write!(f, "no memory for {rows} rows of {counters} counters of 8 bytes")
            }
            Self::OtherSet { expected, found } => {
                write!(f, "the snapshot has {found} counters, this set has {expected}: it was taken from another set")
            }
        }
    }
}

impl From<UnknownBackend> for Error {
    fn from(unknown: UnknownBackend) -> Self {
        Self::UnknownBackend(unknown)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Memory { source: Some(source), .. } => Some(source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn per_cpu_counts_fold_into_their_nodes_without_loss() {
        let per_cpu = PerCpu { cpus: vec![1, 2, 4, 8], unattributed: 16 };
        let folded = per_cpu.by_node(&[Some(1), Some(0), Some(1), None]);
        assert_eq!(folded, PerNode { nodes: vec![(0, 2), (1, 5)], unattributed: 24 });
    }
}
