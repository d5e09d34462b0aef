//! Keys of the workload `sql`.

use super::SqlSettings;
use crate::workload::sessions::{OBJECTIVE_HELP, Objective};
use crate::workload::{Key, Keyed};

impl Keyed for SqlSettings {
    const KEYS: &'static [Key<Self>] = &[
        Key {
            name: "file",
            help: "sql: the file of your statements, transactions and data (docs/sql.md); a run keeps what it says",
            // What it said is kept as `statements`.
            get: |_| None,
            set: |s, v| s.read(&v.to_string()),
        },
        Key {
            name: "statements",
            help: "sql: the text of such a file",
            get: |s| s.text().map(|text| text.to_owned().into()),
            set: |s, v| s.set_text(&v.to_string()),
        },
        Key {
            name: "data_directory",
            help: "sql: what the paths of its data are relative to; absent: the folder of the file",
            get: |s| (!s.directory.as_os_str().is_empty()).then(|| s.directory.display().to_string().into()),
            set: |s, v| {
                s.directory = v.to_string().into();
                Ok(())
            },
        },
        Key {
            name: "rate",
            help: "transactions a second over all threads (open loop)",
            get: |s| s.rate.map(Into::into),
            set: |s, v| v.positive("transactions a second").map(|v| s.rate = Some(v)),
        },
        Key {
            name: "objective",
            help: OBJECTIVE_HELP,
            get: |s| s.objective.map(|objective| objective.to_string().into()),
            set: |s, v| Objective::of_words(&v.to_string()).map(|v| s.objective = v),
        },
        Key {
            name: "preload",
            help: "on: every table and every index is read from end to end before the first sample",
            get: |s| Some(s.preload.into()),
            set: |s, v| v.switch().map(|on| s.preload = on),
        },
    ];
}
