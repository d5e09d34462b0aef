//! Ways to keep counters for many threads, behind one trait: those of "NUMA Smart Global Counter", and others. Programs
//! use [`Counter`](tare_counters::Counter) or [`CounterSet`](tare_counters::CounterSet).

mod adaptive;
mod counting;
mod fuzzy;
mod kind;
mod locks;
mod node_alloc;
mod numa;
mod own;
mod selectors;
mod sharded;
mod single;
mod thread_row;

pub(crate) use adaptive::Adaptive;
pub(crate) use counting::{Counting, Plan};
pub(crate) use fuzzy::Fuzzy;
pub use kind::Strategy;
pub(crate) use locks::{PthreadMutex, StdMutex};
pub(crate) use node_alloc::NodeAlloc;
pub(crate) use numa::{interleave_own_allocations, node_count};
pub(crate) use own::Own;
pub(crate) use selectors::{ByCachedNode, ByCpu, ByIndex, ByLibnuma, ByThread, Random};
pub(crate) use sharded::Sharded;
pub(crate) use single::Atomic;
pub(crate) use thread_row::ThreadRow;
