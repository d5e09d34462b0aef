//! What a restore did, file by file and thread by thread.

use crate::error::{NoiseError, Result};
use serde::Serialize;

/// What became of one changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The original was written and reads back.
    Restored,
    /// It held the original already: the change never happened, or was undone before.
    AlreadyThere,
    /// It holds neither the original nor anything this tool wrote: someone else's value, left alone.
    ChangedByOther {
        /// The value found.
        found: String,
        /// The original that was not put back.
        original: String,
    },
    /// The file is no more (a device or CPU went away, a control group was removed).
    Gone,
    /// Recorded in an earlier boot: a restart of the machine has set it to the boot's value; dropped.
    OtherBoot,
    /// It could not be put back; it stays in the journal for the next try.
    Failed {
        /// Why.
        error: String,
    },
}

/// One file of a [`RestoreReport`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// Name of the setting.
    pub setting: String,
    /// The file or control group.
    pub path: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// What a restore did, file by file. Empty when there was nothing to restore.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RestoreReport {
    /// In the order of restoring.
    pub files: Vec<Restored>,
    /// Journal lines that could not be read: a kill or power cut tore them before their change was made.
    pub torn_lines: usize,
}

impl RestoreReport {
    /// Whether there was nothing to restore.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.torn_lines == 0
    }

    /// Files that still wait to be put back.
    pub fn failed(&self) -> impl Iterator<Item = &Restored> {
        self.files.iter().filter(|f| matches!(f.outcome, Outcome::Failed { .. }))
    }

    /// That everything is as it was found.
    ///
    /// # Errors
    /// [`NoiseError::NotAsFound`] with what could not be put back, or what someone else has changed.
    pub fn check(&self) -> Result<()> {
        let failed = self.failed().map(|f| format!("{} ({}): {:?}", f.setting, f.path, f.outcome));
        let changed = self.changed_by_other().map(|f| match &f.outcome {
            Outcome::ChangedByOther { found, original } => {
                format!("{} ({}) was set to {found} by another program, originally {original}", f.setting, f.path)
            }
            other => format!("{} ({}): {other:?}", f.setting, f.path),
        });
        let left: Vec<String> = failed.chain(changed).collect();
        if left.is_empty() { Ok(()) } else { Err(NoiseError::NotAsFound { left: left.join("; ") }) }
    }

    /// Files left alone because someone else changed them meanwhile.
    pub fn changed_by_other(&self) -> impl Iterator<Item = &Restored> {
        self.files.iter().filter(|f| matches!(f.outcome, Outcome::ChangedByOther { .. }))
    }
}
