//! The results of a restore, by file and thread.

use crate::error::{NoiseError, Result};
use serde::Serialize;
use std::fmt::{self, Display};

/// The result of restoring one changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The original value was written, and was verified by reading it back.
    Restored,
    /// The file already had the original value: the change never happened, or was undone before.
    AlreadyThere,
    /// The file has neither the original value nor one that this tool wrote. It is left unchanged.
    ChangedByOther {
        /// The value found.
        found: String,
        /// The original value, which was not restored.
        original: String,
    },
    /// The file no longer exists (a device or CPU was removed, or a control group was).
    Gone,
    /// It was recorded in an earlier boot, and the reboot has reset the value. The entry is dropped.
    OtherBoot,
    /// It could not be restored. It stays in the journal for the next attempt.
    Failed {
        /// The reason.
        error: String,
    },
}

/// What happened to a file, to be written after its name.
impl Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Restored => f.write_str("was restored"),
            Self::AlreadyThere => f.write_str("already had its original value"),
            Self::ChangedByOther { found, original } => {
                write!(f, "was set to {found} by another program, originally {original}")
            }
            Self::Gone => f.write_str("no longer exists"),
            Self::OtherBoot => f.write_str("was reset by a restart of the machine"),
            Self::Failed { error } => write!(f, "could not be restored: {error}"),
        }
    }
}

/// One file of a [`RestoreReport`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// Name of the setting.
    pub setting: String,
    /// The file or control group.
    pub path: String,
    /// The result for it.
    pub outcome: Outcome,
}

/// The results of a restore, by file. Empty if there was nothing to restore.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RestoreReport {
    /// Files in the order of restoring.
    pub files: Vec<Restored>,
    /// Journal lines that could not be parsed: a kill or power failure tore them before their change was made.
    pub torn_lines: usize,
}

impl RestoreReport {
    /// Whether there was nothing to restore.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.torn_lines == 0
    }

    /// Files that could not be restored.
    pub fn failed(&self) -> impl Iterator<Item = &Restored> {
        self.files.iter().filter(|f| matches!(f.outcome, Outcome::Failed { .. }))
    }

    /// Checks that everything has its original value.
    ///
    /// # Errors
    /// [`NoiseError::NotAsFound`] with what could not be restored, or what another program has changed.
    pub fn check(&self) -> Result<()> {
        let files = self.failed().chain(self.changed_by_other());
        let left: Vec<String> = files.map(|f| format!("{} ({}) {}", f.setting, f.path, f.outcome)).collect();
        if left.is_empty() { Ok(()) } else { Err(NoiseError::NotAsFound { left: left.join("; ") }) }
    }

    /// Files that were left unchanged because another program changed them meanwhile.
    pub fn changed_by_other(&self) -> impl Iterator<Item = &Restored> {
        self.files.iter().filter(|f| matches!(f.outcome, Outcome::ChangedByOther { .. }))
    }
}
