//! Keys of the workload `sysbench`.

use super::SysbenchSettings;
use crate::workload::program::{joined, option_words};
use crate::workload::{Key, Keyed};

impl Keyed for SysbenchSettings {
    const KEYS: &'static [Key<Self>] = &[
        Key {
            name: "script",
            help: "sysbench: a script of its own (oltp_read_only, oltp_point_select, bulk_insert ...) or the path of \
                   yours; pgbench: tpcb-like, simple-update, select-only or paths of yours, each with @WEIGHT if you \
                   like",
            get: |s| Some(s.script.clone().into()),
            set: |s, v| {
                s.script = v.to_string();
                Ok(())
            },
        },
        Key {
            name: "tables",
            help: "number of tables sbtest1, sbtest2 ...",
            get: |s| Some(s.tables.into()),
            set: |s, v| v.whole(1, 10_000).map(|v| s.tables = v),
        },
        Key {
            name: "rows",
            help: "rows a table",
            get: |s| Some(s.rows.into()),
            set: |s, v| v.whole(1, i32::MAX as u64).map(|v| s.rows = v),
        },
        Key {
            name: "distribution",
            help: "how ids are drawn",
            get: |s| s.distribution.map(|d| d.to_string().into()),
            set: |s, v| v.parsed().map(|v| s.distribution = Some(v)),
        },
        Key {
            name: "rate",
            help: "transactions a second over all threads",
            get: |s| s.rate.map(Into::into),
            set: |s, v| v.positive("transactions a second").map(|v| s.rate = Some(v)),
        },
        Key {
            name: "options",
            help: "sysbench, pgbench: further options of theirs, as they stand on a command line",
            get: |s| (!s.options.is_empty()).then(|| joined(&s.options).into()),
            set: |s, v| option_words(v).map(|words| s.options = words),
        },
        Key {
            name: "program",
            help: "sysbench, pgbench: path of the program; absent: found as usual",
            get: |s| Some(s.program.clone().into()),
            set: |s, v| {
                s.program = v.to_string();
                Ok(())
            },
        },
        Key {
            name: "preload",
            help: "on: every table and every index is read from end to end before the first sample",
            get: |s| Some(s.preload.into()),
            set: |s, v| v.switch().map(|on| s.preload = on),
        },
    ];
}
