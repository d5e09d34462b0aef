//! Keys of the workload `pgbench`.

use super::PgbenchSettings;
use crate::workload::keys;
use crate::workload::program::{joined, option_words};
use tare_text::{Key, Keyed};

impl Keyed for PgbenchSettings {
    const KEYS: &'static [Key<Self>] = &[
        keys::script(
            |s| Some(joined(&s.scripts).into()),
            |s, v| {
                let scripts = option_words(v)?;
                match scripts.is_empty() {
                    true => Err("at least one script".to_owned()),
                    false => {
                        s.scripts = scripts;
                        Ok(())
                    }
                }
            },
        ),
        Key::whole(
            "pgbench_scale",
            "pgbench's scale: 100,000 accounts each",
            (1, 1_000_000),
            |s| Some(s.scale),
            |s, v| s.scale = v,
        ),
        Key::words(
            "protocol",
            "pgbench: how statements are sent: simple (its default), extended or prepared",
            |s| Some(s.protocol.to_string().into()),
            |s, v| v.parsed().map(|v| s.protocol = v),
        ),
        Key::whole(
            "jobs",
            "threads of pgbench itself (-j); absent: one a connection, which alone can be bound next to its server process",
            (1, 65_536),
            |s| s.jobs.map(|jobs| jobs as u64),
            |s, v| s.jobs = Some(v as usize),
        ),
        keys::rate(|s| s.rate, |s, v| s.rate = Some(v)),
        Key::words(
            "log_fraction",
            "pgbench: share of the transactions that it logs, from which latencies come; throughput comes from all when \
             it is 1, else from its progress lines",
            |s| Some(s.log_fraction.into()),
            |s, v| {
                let share = v.number().filter(|share| *share > 0.0 && *share <= 1.0);
                share.map(|share| s.log_fraction = share).ok_or_else(|| "a share above 0, at most 1".to_owned())
            },
        ),
        keys::options(
            |s| (!s.options.is_empty()).then(|| joined(&s.options).into()),
            |s, v| option_words(v).map(|words| s.options = words),
        ),
        keys::program(|s| s.program.as_ref(), |s, v| s.program = Some(v)),
        keys::preload(|s| s.preload, |s, on| s.preload = on),
    ];
}
