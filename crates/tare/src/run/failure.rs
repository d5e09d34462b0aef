//! An error of a child process, whole: nothing of it is cut or guessed from its text.

use serde::{Deserialize, Serialize};

/// What happened, where, what was expected, what to do now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What happened, one sentence.
    pub what: String,
    /// A file, a path, a host.
    pub place: Option<String>,
    pub expected: Option<String>,
    /// A command or an edit.
    pub advice: Option<String>,
    pub exit_code: u8,
}
