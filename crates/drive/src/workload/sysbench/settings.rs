//! The script, its tables, and the keys of a study for them.

use crate::workload::keys;
use crate::workload::program::{joined, option_words};
use tare_load::Distribution;
use tare_text::{Key, Keyed};

#[derive(Debug, Clone, PartialEq)]
pub struct SysbenchSettings {
    /// A built-in script of sysbench, or the path of a custom one.
    pub script: String,
    pub tables: usize,
    pub rows: u64,
    /// Distribution of ids; None: sysbench's default.
    pub distribution: Option<Distribution>,
    /// Transactions per second over all threads; None: as fast as they go.
    pub rate: Option<f64>,
    pub options: Vec<String>,
    pub program: String,
    /// Whether every table and every index is read before the first sample.
    pub preload: bool,
}

impl Default for SysbenchSettings {
    fn default() -> Self {
        Self {
            script: "oltp_read_only".to_owned(),
            tables: 1,
            rows: 10_000,
            distribution: None,
            rate: None,
            options: Vec::new(),
            program: "sysbench".to_owned(),
            preload: false,
        }
    }
}

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
            |s, v| {
                let distribution: Distribution = v.parsed()?;
                if distribution.has_parameter() {
                    return Err(
                        "sysbench has a parameter as an option: options = \"--rand-zipfian-exp=1.1\"".to_owned()
                    );
                }
                s.distribution = Some(distribution);
                Ok(())
            },
        ),
        keys::rate(|s| s.rate, |s, v| s.rate = Some(v)),
        keys::options(
            |s| (!s.options.is_empty()).then(|| joined(&s.options).into()),
            |s, v| option_words(v).map(|words| s.options = words),
        ),
        keys::program(|s| Some(&s.program), |s, v| s.program = v),
        keys::preload(|s| Some(s.preload), |s, on| s.preload = on),
    ];
}
