//! The strategies by name.

use super::fuzzy;
use super::numa::Libnuma;
use crate::workload::Error;
use strum::{Display, EnumString, IntoStaticStr, VariantArray, VariantNames};
use tare_text::UnknownWord;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumString, IntoStaticStr, VariantArray, VariantNames)]
#[strum(serialize_all = "kebab-case", parse_err_ty = Error, parse_err_fn = unknown)]
pub enum Strategy {
    PthreadMutex,
    /// Rust's `std::sync::Mutex`: 4 bytes of futex that spin for up to 100 turns before they sleep, and a flag for
    /// panics. The article's row of this name is C++'s `std::mutex`, which libstdc++ makes of a default pthread mutex
    /// (40 bytes, no spinning): that one is [`PthreadMutex`](Self::PthreadMutex).
    StdMutex,
    /// One atomic, added to without ordering.
    Atomic,
    /// Slots a cache line apart, chosen by the time-stamp counter, added to without any protection. Not exact.
    Fuzzy,
    /// Shards a cache line apart, the shard being the counter's own number: one fixed shard. What the article's
    /// "random" shard did.
    ShardIndex,
    /// A shard drawn at random, by a generator a thread. What the article said its "random" shard does.
    ShardRandom,
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
    /// The [`CounterSet`](tare_counters::CounterSet) of `tare-counters`.
    CounterSet,
    /// A row a thread, folded into the totals when the thread ends.
    ThreadRow,
    /// Stripes that multiply under contention, as Java's `LongAdder`.
    Adaptive,
}

impl Strategy {
    /// All of them, the article's first, in its order.
    pub const ALL: &'static [Self] = <Self as VariantArray>::VARIANTS;

    pub fn name(self) -> &'static str {
        self.into()
    }

    pub const fn exact(self) -> bool {
        !matches!(self, Self::Fuzzy)
    }

    pub fn available(self) -> Result<(), Error> {
        let reason = match self {
            Self::ShardNodeLibnuma => Libnuma::load().err(),
            Self::Fuzzy => (!fuzzy::HAS_CLOCK).then(|| "no cycle counter known for this architecture".to_owned()),
            _ => None,
        };
        reason.map_or(Ok(()), |reason| Err(Error::Unavailable { strategy: self.name(), reason }))
    }
}

fn unknown(found: &str) -> Error {
    Error::UnknownStrategy(UnknownWord::among(found, <Strategy as VariantNames>::VARIANTS))
}
