//! Keys of the workload `sysbench`.

use super::SysbenchSettings;
use crate::workload::keys;
use crate::workload::program::{joined, option_words};
use tare_text::{Key, Keyed};

impl Keyed for SysbenchSettings {
    const KEYS: &'static [Key<Self>] = &[
        keys::script(
            |s| Some(s.script.clone().into()),
            |s, v| {
                s.script = v.to_string();
                Ok(())
            },
        ),
        keys::tables(|s| Some(s.tables as u64), |s, v| s.tables = v as usize),
        keys::rows(|s| Some(s.rows), |s, v| s.rows = v),
        keys::distribution(
            |s| s.distribution.map(|d| d.to_string().into()),
            |s, v| v.parsed().map(|v| s.distribution = Some(v)),
        ),
        keys::rate(|s| s.rate, |s, v| s.rate = Some(v)),
        keys::options(
            |s| (!s.options.is_empty()).then(|| joined(&s.options).into()),
            |s, v| option_words(v).map(|words| s.options = words),
        ),
        keys::program(|s| Some(&s.program), |s, v| s.program = v),
        keys::preload(|s| s.preload, |s, on| s.preload = on),
    ];
}
