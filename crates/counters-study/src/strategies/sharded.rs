//! One relaxed atomic per counter, or atomic shards: by default one cache line each, or one page per node; a selector
//! determines which one to use.

use super::counting::{Counting, Plan};
use super::numa::{Libnuma, current_cpu, node_count};
use crate::workload::Error;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::sync::atomic::{AtomicU64, Ordering};
use tare_counters::{Rows, cpus};

pub(crate) struct Atomic;

impl Counting for Atomic {
    type Cell = AtomicU64;
    type Local = ();

    fn new(_: &Plan) -> Result<Self, Error> {
        Ok(Self)
    }

    fn cell(&self) -> Self::Cell {
        AtomicU64::new(0)
    }

    fn enter(&self, _: usize) {}

    #[inline]
    fn increment(&self, (): &mut (), cell: &Self::Cell, _: usize) {
        cell.fetch_add(1, Ordering::Relaxed);
    }

    fn sum(&self, cell: &Self::Cell, _: usize) -> u64 {
        cell.load(Ordering::Relaxed)
    }
}

pub(crate) trait Selector: Send + Sync + Sized {
    type Local;

    fn new(plan: &Plan) -> Result<Self, Error>;
    fn enter(&self, thread: usize) -> Self::Local;
    /// Any number; the shard is its remainder modulo the number of shards.
    fn select(&self, local: &mut Self::Local, counter: usize) -> usize;
}

/// `N` shards of `W` values each; the last value is the counter.
pub(crate) struct Sharded<S, const N: usize, const W: usize>(S);

/// With 8 values a line of 64 bytes with the counter at its end, as in the original program.
pub(crate) struct Shard<const W: usize>([AtomicU64; W]);

impl<const W: usize> Shard<W> {
    #[inline]
    fn value(&self) -> &AtomicU64 {
        &self.0[W - 1]
    }
}

impl<S: Selector, const N: usize, const W: usize> Counting for Sharded<S, N, W> {
    type Cell = [Shard<W>; N];
    type Local = S::Local;

    fn new(plan: &Plan) -> Result<Self, Error> {
        S::new(plan).map(Self)
    }

    fn cell(&self) -> Self::Cell {
        [const { Shard([const { AtomicU64::new(0) }; W]) }; N]
    }

    fn enter(&self, thread: usize) -> Self::Local {
        self.0.enter(thread)
    }

    #[inline]
    fn increment(&self, local: &mut Self::Local, cell: &Self::Cell, counter: usize) {
        cell[self.0.select(local, counter) % N].value().fetch_add(1, Ordering::Relaxed);
    }

    fn sum(&self, cell: &Self::Cell, _: usize) -> u64 {
        let mut sum = 0;
        for shard in cell {
            sum += shard.value().load(Ordering::Relaxed);
        }
        sum
    }
}

pub(crate) struct ByIndex;

impl Selector for ByIndex {
    type Local = ();

    fn new(_: &Plan) -> Result<Self, Error> {
        Ok(Self)
    }

    fn enter(&self, _: usize) {}

    #[inline]
    fn select(&self, (): &mut (), counter: usize) -> usize {
        counter
    }
}

/// At random, from one generator per thread.
pub(crate) struct Random {
    seed: u64,
}

impl Selector for Random {
    type Local = Xoshiro256PlusPlus;

    fn new(plan: &Plan) -> Result<Self, Error> {
        Ok(Self { seed: plan.seed })
    }

    fn enter(&self, thread: usize) -> Self::Local {
        // Different from the workload's generators, which have the same seed and thread number.
        Xoshiro256PlusPlus::seed_from_u64(!self.seed ^ thread as u64)
    }

    #[inline]
    fn select(&self, local: &mut Self::Local, _: usize) -> usize {
        (local.next_u64() >> 32) as usize
    }
}

pub(crate) struct ByThread;

impl Selector for ByThread {
    type Local = usize;

    fn new(_: &Plan) -> Result<Self, Error> {
        Ok(Self)
    }

    fn enter(&self, thread: usize) -> usize {
        thread
    }

    #[inline]
    fn select(&self, local: &mut usize, _: usize) -> usize {
        *local
    }
}

/// By the number of the current CPU, from `sched_getcpu`.
pub(crate) struct ByCpu;

impl Selector for ByCpu {
    type Local = ();

    fn new(_: &Plan) -> Result<Self, Error> {
        Ok(Self)
    }

    fn enter(&self, _: usize) {}

    #[inline]
    fn select(&self, (): &mut (), _: usize) -> usize {
        current_cpu()
    }
}

/// By the current node, as in the original program: libnuma's `numa_node_of_cpu` of `sched_getcpu`.
pub(crate) struct ByLibnuma(Libnuma);

impl Selector for ByLibnuma {
    type Local = ();

    fn new(_: &Plan) -> Result<Self, Error> {
        let unavailable = |reason| Error::Unavailable { strategy: "shard-node-libnuma", reason };
        Libnuma::load().map(Self).map_err(unavailable)
    }

    fn enter(&self, _: usize) {}

    #[inline]
    fn select(&self, (): &mut (), _: usize) -> usize {
        self.0.node_of_cpu(current_cpu())
    }
}

/// By the current node, from a table with the node of every CPU.
pub(crate) struct ByCachedNode(Box<[u32]>);

impl ByCachedNode {
    /// The node of each CPU; 0 where the kernel does not report it.
    pub(crate) fn table() -> Self {
        Self(cpus::nodes().iter().map(|node| node.unwrap_or(0)).collect())
    }

    #[inline]
    pub(crate) fn current(&self) -> usize {
        self.0.get(current_cpu()).copied().unwrap_or(0) as usize
    }
}

impl Selector for ByCachedNode {
    type Local = ();

    fn new(_: &Plan) -> Result<Self, Error> {
        Ok(Self::table())
    }

    fn enter(&self, _: usize) {}

    #[inline]
    fn select(&self, (): &mut (), _: usize) -> usize {
        self.current()
    }
}

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
