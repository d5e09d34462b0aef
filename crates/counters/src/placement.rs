//! The NUMA placement of a set's rows.

use crate::rows::Rows;
use std::fmt;

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
