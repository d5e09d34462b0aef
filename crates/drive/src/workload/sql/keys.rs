//! Keys of the workload `sql`.

use super::SqlSettings;
use crate::workload::keys;
use tare_text::{Key, Keyed};

impl Keyed for SqlSettings {
    const KEYS: &'static [Key<Self>] = &[
        Key::words(
            "file",
            "sql: the file of your statements, transactions and data (docs/sql.md), relative to the study; a run keeps \
             what it says",
            // What it said is kept as `statements`.
            |_| None,
            |s, v| s.read(&v.to_string()),
        ),
        Key::words(
            "statements",
            "sql: the text of such a file",
            |s| s.text().map(Into::into),
            |s, v| s.set_text(&v.to_string()),
        ),
        Key::path(
            "data_directory",
            "sql: what the paths of its data are relative to; absent: the folder of the file",
            |s| Some(&s.directory).filter(|directory| !directory.as_os_str().is_empty()),
            |s, directory| s.directory = directory,
        ),
        keys::rate_of_pace(),
        keys::objective(),
        keys::preload(|s| s.preload, |s, on| s.preload = on),
    ];
}
