//! Ways to select a shard.

use super::counting::Plan;
use super::numa::{Libnuma, current_cpu};
use super::sharded::Selector;
use crate::workload::Error;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tare_counters::cpus;

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
