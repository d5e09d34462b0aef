//! The scripts, the size of the data, and the keys of a study for them.

use crate::workload::keys;
use crate::workload::program::{joined, option_words};
use strum::{Display, EnumString, VariantNames};
use tare_text::{Key, Keyed, UnknownWord, key};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Display, EnumString, VariantNames)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownWord, parse_err_fn = UnknownWord::of::<Self>)]
pub enum Protocol {
    /// As text; pgbench's default.
    #[default]
    Simple,
    Extended,
    Prepared,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PgbenchSettings {
    /// Built-in names or paths, each with an optional weight.
    pub scripts: Vec<String>,
    /// pgbench's scale: 100,000 accounts each.
    pub scale: u64,
    pub protocol: Protocol,
    /// Threads of pgbench itself; None: one per connection.
    pub jobs: Option<usize>,
    /// Transactions per second over all connections; None: as fast as they go.
    pub rate: Option<f64>,
    /// Share of transactions that are logged; latencies are computed from the log.
    pub log_fraction: f64,
    pub options: Vec<String>,
    pub program: Option<String>,
    /// Whether every table and every index is read before the first sample.
    pub preload: bool,
}

impl Default for PgbenchSettings {
    fn default() -> Self {
        Self {
            scripts: vec!["tpcb-like".to_owned()],
            scale: 1,
            protocol: Protocol::default(),
            jobs: None,
            rate: None,
            log_fraction: 1.0,
            options: Vec::new(),
            program: None,
            preload: false,
        }
    }
}

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
        key!(whole "pgbench_scale" in scale, (1, 1_000_000), "pgbench's scale: 100,000 accounts each"),
        key!(words "protocol" in protocol,
            "pgbench: how statements are sent: simple (its default), extended or prepared"),
        key!(optional whole "jobs" in jobs, (1, 65_536),
            "threads of pgbench (-j); absent: one per connection, which is required for binding each next to its \
             server process"),
        keys::rate(|s| s.rate, |s, v| s.rate = Some(v)),
        Key::words(
            "log_fraction",
            "pgbench: share of transactions in its log, the source of latencies; throughput comes from the log if the \
             share is 1, else from its progress lines",
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
        keys::preload(|s| Some(s.preload), |s, on| s.preload = on),
    ];
}
