//! One value per node, in a page of its own: `numa_alloc_onnode` allocates whole pages, even for 8 bytes.

use super::counting::{Counting, Plan};
use super::numa::node_count;
use super::selectors::ByCachedNode;
use crate::workload::Error;
use std::sync::atomic::Ordering;
use tare_counters::Rows;

pub(crate) struct NodeAlloc {
    rows: Rows,
    nodes: usize,
    node: ByCachedNode,
}

/// What an allocation of 8 bytes on a node takes: the smallest page size of every system this runs on.
const PAGE_BYTES: usize = 4096;

/// Counters of 8 bytes per page.
const APART: usize = PAGE_BYTES / size_of::<u64>();

impl Counting for NodeAlloc {
    type Cell = ();
    type Local = ();

    fn planned_bytes_per_counter(_: &Plan) -> u64 {
        (PAGE_BYTES * node_count()) as u64
    }

    fn new(plan: &Plan) -> Result<Self, Error> {
        let (nodes, counters) = (node_count(), plan.counters);
        let memory = |source| tare_counters::Error::Memory { counters: counters * APART, rows: nodes, source };
        let rows = Rows::new(nodes, counters * APART).map_err(memory)?;
        // Ignored when refused (a container may forbid it): a page then comes from the node that touches it first,
        // nearly the same.
        (0..nodes).for_each(|node| drop(rows.bind(node, node as u32)));
        Ok(Self { rows, nodes, node: ByCachedNode::table() })
    }

    fn cell(&self) {}

    fn enter(&self, _: usize) {}

    #[inline]
    fn increment(&self, (): &mut (), (): &(), counter: usize) {
        self.rows.cell(self.node.current(), counter * APART).fetch_add(1, Ordering::Relaxed);
    }

    fn sum(&self, (): &(), counter: usize) -> u64 {
        (0..self.nodes).map(|node| self.rows.cell(node, counter * APART).load(Ordering::Relaxed)).sum()
    }

    fn stored(&self, (): &(), counter: usize, each: &mut dyn FnMut(usize, usize)) {
        let cells = (0..self.nodes).map(|node| std::ptr::from_ref(self.rows.cell(node, counter * APART)));
        cells.for_each(|cell| each(cell.addr(), size_of::<u64>()));
    }
}
