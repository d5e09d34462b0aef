//! The names of the strategies.

use super::fuzzy;
use super::numa::Libnuma;
use crate::workload::Error;
use strum::{Display, EnumString, IntoStaticStr, VariantArray, VariantNames};
use tare_text::UnknownWord;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumString, IntoStaticStr, VariantArray, VariantNames)]
#[strum(serialize_all = "kebab-case", parse_err_ty = Error, parse_err_fn = unknown)]
pub enum Strategy {
    PthreadMutex,
    /// Rust's `std::sync::Mutex`: a futex of 4 bytes that spins up to 100 times before it sleeps, and a flag for
    /// panics. In the original program this name means C++'s `std::mutex`, which in libstdc++ is a default pthread
    /// mutex (40 bytes, no spinning): that one is [`PthreadMutex`](Self::PthreadMutex).
    StdMutex,
    /// One atomic with relaxed ordering.
    Atomic,
    /// Slots one cache line apart, selected by the time-stamp counter, without any protection. Not exact.
    Fuzzy,
    /// Shards one cache line apart; the counter's own number selects the shard, so it is always the same one. This is
    /// what the "random" shard of the original program does.
    ShardIndex,
    /// A random shard, from one generator per thread. "NUMA Smart Global Counter" says that its "random" shard does
    /// this.
    ShardRandom,
    ShardThread,
    /// The shard of the current CPU, from `sched_getcpu`.
    ShardCpu,
    /// The shard of the current node, from libnuma's `numa_node_of_cpu`, as in the original program.
    ShardNodeLibnuma,
    /// The shard of the current node, from a table that is read once.
    ShardNodeCached,
    /// One value per node in a page of its own, as `numa_alloc_onnode` would allocate it. The original program
    /// abandoned this because of its memory use.
    NodeAlloc,
    /// The [`CounterSet`](tare_counters::CounterSet) of `tare-counters`.
    CounterSet,
    /// One row per thread, added to the totals when the thread ends.
    ThreadRow,
    /// Stripes that multiply under contention, like Java's `LongAdder`.
    Adaptive,
}

impl Strategy {
    /// All strategies; those of the original program come first, in its order.
    pub const ALL: &'static [Self] = <Self as VariantArray>::VARIANTS;

    pub fn name(self) -> &'static str {
        self.into()
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
    let found = UnknownWord::among(found, <Strategy as VariantNames>::VARIANTS);
    Error::Unknown { what: "counter strategy", found }
}
