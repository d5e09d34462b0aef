//! What a question came to.

use serde::{Deserialize, Serialize};

/// The answer, and what it rests on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// One or two sentences.
    pub text: String,
    /// Whether it says something that was tested: all that one study says together, see `confidence`.
    pub tested: bool,
    /// Whether trials that count although disturbed are among those it rests on.
    pub disturbed: bool,
}

/// What a question came to.
pub(super) struct Said {
    pub text: String,
    pub tested: bool,
}

pub(super) fn tested(text: String) -> Said {
    Said { text, tested: true }
}

pub(super) fn untested(text: String) -> Said {
    Said { text, tested: false }
}
