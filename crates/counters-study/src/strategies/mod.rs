//! Ways to keep counters for many threads, behind one trait: those of "NUMA Smart Global Counter", and others. Programs
//! use [`Counter`](tare_counters::Counter) or [`CounterSet`](tare_counters::CounterSet).

mod adaptive;
mod counting;
mod fuzzy;
mod kind;
mod locks;
mod numa;
mod rows;
mod sharded;

pub(crate) use adaptive::Adaptive;
pub(crate) use counting::{Counting, Plan};
pub(crate) use fuzzy::Fuzzy;
pub use kind::Strategy;
pub(crate) use locks::{PthreadMutex, StdMutex};
pub(crate) use numa::{interleave_own_allocations, node_count};
pub(crate) use rows::{Own, ThreadRow};
pub(crate) use sharded::{Atomic, ByCachedNode, ByCpu, ByIndex, ByLibnuma, ByThread, NodeAlloc, Random, Sharded};
