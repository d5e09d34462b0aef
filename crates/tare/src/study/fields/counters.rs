//! Keys of the workload `counters`.

use super::super::field::Field;
use super::super::settings::Kind;
use super::super::value::{one_of, parsed, whole};

/// The keys of the workload `counters`.
pub const FIELDS: &[Field] = &[
    Field {
        section: "workload",
        key: "strategy",
        only: Some(Kind::Counters),
        help: "how counters are kept: pthread-mutex, atomic, counter-set ... (tare-counters lists them)",
        get: |s| Some(s.workload.counters.strategy.to_string()),
        set: |s, v| parsed(v).map(|v| s.workload.counters.strategy = v),
    },
    Field {
        section: "workload",
        key: "generator",
        only: Some(Kind::Counters),
        help: "faithful: libc rand() and its lock, as in the article; corrected: a generator a thread",
        get: |s| Some(s.workload.counters.generator.to_string()),
        set: |s, v| parsed(v).map(|v| s.workload.counters.generator = v),
    },
    Field {
        section: "workload",
        key: "data_work",
        only: Some(Kind::Counters),
        help: "on: a round works on data blocks as in the article; off: counters only",
        get: |s| Some(if s.workload.counters.data_work { "on" } else { "off" }.into()),
        set: |s, v| one_of(v, &["on", "off"]).map(|v| s.workload.counters.data_work = v == "on"),
    },
    Field {
        section: "workload",
        key: "rounds",
        only: Some(Kind::Counters),
        help: "rounds a thread and sample",
        get: |s| Some(s.workload.counters.rounds.to_string()),
        set: |s, v| whole(v, 1, 1_000_000_000).map(|v| s.workload.counters.rounds = v),
    },
    Field {
        section: "workload",
        key: "counter_blocks",
        only: Some(Kind::Counters),
        help: "blocks of global counters",
        get: |s| Some(s.workload.counters.counter_blocks.to_string()),
        set: |s, v| whole(v, 1, 1_000_000_000).map(|v| s.workload.counters.counter_blocks = v),
    },
    Field {
        section: "workload",
        key: "counters_per_block",
        only: Some(Kind::Counters),
        help: "global counters a block",
        get: |s| Some(s.workload.counters.counters_per_block.to_string()),
        set: |s, v| whole(v, 1, 1_000_000).map(|v| s.workload.counters.counters_per_block = v),
    },
    Field {
        section: "workload",
        key: "data_blocks",
        only: Some(Kind::Counters),
        help: "data blocks of 16 KiB, each with a counter of its own",
        get: |s| Some(s.workload.counters.data_blocks.to_string()),
        set: |s, v| whole(v, 0, 1_000_000_000_000).map(|v| s.workload.counters.data_blocks = v),
    },
];
