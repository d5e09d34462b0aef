//! The strategies by name.

use std::fmt;
use std::str::FromStr;

use super::fuzzy;
use super::numa::Libnuma;
use crate::workload::Error;

/// A strategy of the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// A pthread mutex and a value.
    PthreadMutex,
    /// A `std::sync::Mutex` (a futex; the article's is C++'s `std::mutex`, a pthread mutex by another name).
    StdMutex,
    /// One relaxed atomic.
    Atomic,
    /// Slots a cache line apart, chosen by the time-stamp counter, added to without any protection. Not exact.
    Fuzzy,
    /// Shards a cache line apart, the shard being the counter's own number: one fixed shard. What the article's
    /// "random" shard did.
    ShardIndex,
    /// A shard drawn at random, by a generator a thread. What the article said its "random" shard does.
    ShardRandom,
    /// The shard of the thread's number.
    ShardThread,
    /// The shard of the current CPU, by `sched_getcpu`.
    ShardCpu,
    /// The shard of the current node, by libnuma's `numa_node_of_cpu`, which the article measured.
    ShardNodeLibnuma,
    /// The shard of the current node, by a table read once.
    ShardNodeCached,
    /// A value on each node in a page of its own, as `numa_alloc_onnode` would give it. The article gave this one up
    /// for its memory.
    NodeAlloc,
    /// This crate's [`CounterSet`](crate::CounterSet).
    CounterSet,
    /// A row a thread, folded into the totals when the thread ends.
    ThreadRow,
    /// Stripes that multiply under contention, as Java's `LongAdder`.
    Adaptive,
}

impl Strategy {
    /// All of them, the article's first, in its order.
    pub const ALL: [Self; 14] = [
        Self::PthreadMutex,
        Self::StdMutex,
        Self::Atomic,
        Self::Fuzzy,
        Self::ShardIndex,
        Self::ShardRandom,
        Self::ShardThread,
        Self::ShardCpu,
        Self::ShardNodeLibnuma,
        Self::ShardNodeCached,
        Self::NodeAlloc,
        Self::CounterSet,
        Self::ThreadRow,
        Self::Adaptive,
    ];

    /// The name in studies and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PthreadMutex => "pthread-mutex",
            Self::StdMutex => "std-mutex",
            Self::Atomic => "atomic",
            Self::Fuzzy => "fuzzy",
            Self::ShardIndex => "shard-index",
            Self::ShardRandom => "shard-random",
            Self::ShardThread => "shard-thread",
            Self::ShardCpu => "shard-cpu",
            Self::ShardNodeLibnuma => "shard-node-libnuma",
            Self::ShardNodeCached => "shard-node-cached",
            Self::NodeAlloc => "node-alloc",
            Self::CounterSet => "counter-set",
            Self::ThreadRow => "thread-row",
            Self::Adaptive => "adaptive",
        }
    }

    /// Whether it counts every increment.
    pub const fn exact(self) -> bool {
        !matches!(self, Self::Fuzzy)
    }

    /// Whether it can work on this machine.
    ///
    /// # Errors
    /// [`Error::Unavailable`] with what is missing.
    pub fn available(self) -> Result<(), Error> {
        let reason = match self {
            Self::ShardNodeLibnuma => Libnuma::load().err(),
            Self::Fuzzy => (!fuzzy::HAS_CLOCK).then(|| "no cycle counter known for this architecture".to_owned()),
            _ => None,
        };
        reason.map_or(Ok(()), |reason| Err(Error::Unavailable { strategy: self.name(), reason }))
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Strategy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|strategy| strategy.name() == text).ok_or_else(|| Error::UnknownStrategy {
            given: text.to_owned(),
            known: Self::ALL.map(Self::name).join(", "),
        })
    }
}
