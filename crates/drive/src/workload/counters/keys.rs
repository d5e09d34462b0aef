//! Keys of the workload `counters`.

use super::CountersSettings;
use crate::workload::{Key, Keyed};
use tare_counters_study::workload::Padding;

impl Keyed for CountersSettings {
    const KEYS: &'static [Key<Self>] = &[
        Key {
            name: "strategy",
            help: "how counters are kept: pthread-mutex, atomic, counter-set ... (tare-counters-study lists them; \
                   std-mutex is Rust's, and libstdc++'s std::mutex is pthread-mutex)",
            get: |s| Some(s.strategy.to_string().into()),
            set: |s, v| v.parsed().map(|v| s.strategy = v),
        },
        Key {
            name: "generator",
            help: "faithful: libc rand() and its lock, as in the article; corrected: a generator a thread",
            get: |s| Some(s.generator.to_string().into()),
            set: |s, v| v.parsed().map(|v| s.generator = v),
        },
        Key {
            name: "data_work",
            help: "on: a round works on data blocks as in the article; off: counters only",
            get: |s| Some(s.data_work.into()),
            set: |s, v| v.switch().map(|on| s.data_work = on),
        },
        Key {
            name: "rounds",
            help: "rounds a thread and sample",
            get: |s| Some(s.rounds.into()),
            set: |s, v| v.whole(1, 1_000_000_000).map(|v| s.rounds = v),
        },
        Key {
            name: "counter_blocks",
            help: "blocks of global counters",
            get: |s| Some(s.counter_blocks.into()),
            set: |s, v| v.whole(1, 1_000_000_000).map(|v| s.counter_blocks = v),
        },
        Key {
            name: "counters_per_block",
            help: "global counters a block",
            get: |s| Some(s.counters_per_block.into()),
            set: |s, v| v.whole(1, 1_000_000).map(|v| s.counters_per_block = v),
        },
        Key {
            name: "data_blocks",
            help: "data blocks of 16 KiB, each with a counter of its own",
            get: |s| Some(s.data_blocks.into()),
            set: |s, v| v.whole(0, 1_000_000_000_000).map(|v| s.data_blocks = v),
        },
        Key {
            name: "steps",
            help: "data steps a round, and ten times as many increments of global counters",
            get: |s| Some(s.steps.into()),
            set: |s, v| v.whole(1, 1_000_000).map(|v| s.steps = v),
        },
        Key {
            name: "padding",
            help: "bytes from a shard or slot of a counter to the next: 8, 64 (the article's) or 128",
            get: |s| Some(s.padding.bytes().into()),
            set: |s, v| {
                let bytes = v.whole(1, 128)?;
                s.padding = Padding::of(bytes).ok_or_else(|| "8, 64 or 128 bytes".to_owned())?;
                Ok(())
            },
        },
        Key {
            name: "memory_scope",
            help: "what placement.memory holds for, or the interleaving over all nodes where it says default: payload: \
                   counters and data, as the article's argument numa; process: everything, as numactl --interleave=all",
            get: |s| Some(s.memory_scope.to_string().into()),
            set: |s, v| v.parsed().map(|v| s.memory_scope = v),
        },
    ];
}
