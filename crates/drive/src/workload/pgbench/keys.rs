//! Keys of the workload `pgbench`.

use super::PgbenchSettings;
use crate::workload::program::{joined, option_words};
use crate::workload::{Key, Keyed};

impl Keyed for PgbenchSettings {
    const KEYS: &'static [Key<Self>] = &[
        Key {
            name: "script",
            help: "tpcb-like, simple-update, select-only or paths of scripts, each with @WEIGHT if wanted",
            get: |s| Some(joined(&s.scripts).into()),
            set: |s, v| {
                let scripts = option_words(v)?;
                match scripts.is_empty() {
                    true => Err("at least one script".to_owned()),
                    false => {
                        s.scripts = scripts;
                        Ok(())
                    }
                }
            },
        },
        Key {
            name: "pgbench_scale",
            help: "pgbench's scale: 100,000 accounts each",
            get: |s| Some(s.scale.into()),
            set: |s, v| v.whole(1, 1_000_000).map(|v| s.scale = v),
        },
        Key {
            name: "protocol",
            help: "pgbench: how statements are sent: simple (its default), extended or prepared",
            get: |s| Some(s.protocol.to_string().into()),
            set: |s, v| v.parsed().map(|v| s.protocol = v),
        },
        Key {
            name: "jobs",
            help: "threads of pgbench itself (-j); absent: one a connection, which alone can be bound next to its server \
                   process",
            get: |s| s.jobs.map(Into::into),
            set: |s, v| v.whole(1, 65_536).map(|v| s.jobs = Some(v)),
        },
        Key {
            name: "rate",
            help: "transactions a second over all connections",
            get: |s| s.rate.map(Into::into),
            set: |s, v| v.positive("transactions a second").map(|v| s.rate = Some(v)),
        },
        Key {
            name: "log_fraction",
            help: "pgbench: share of the transactions that it logs, from which latencies come; throughput comes from \
                   all when it is 1, else from its progress lines",
            get: |s| Some(s.log_fraction.into()),
            set: |s, v| {
                let share = v.number().filter(|share| *share > 0.0 && *share <= 1.0);
                share.map(|share| s.log_fraction = share).ok_or_else(|| "a share above 0, at most 1".to_owned())
            },
        },
        Key {
            name: "options",
            help: "further options, as they stand on a command line",
            get: |s| (!s.options.is_empty()).then(|| joined(&s.options).into()),
            set: |s, v| option_words(v).map(|words| s.options = words),
        },
        Key {
            name: "program",
            help: "path of the program; absent: found as usual",
            get: |s| s.program.clone().map(Into::into),
            set: |s, v| {
                s.program = Some(v.to_string());
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
