//! A violation of a rule, and where it is.

use std::fmt;

/// A violation of a rule, printed as `file:line: what is wrong and what to do`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Relative to the top of the tree, with `/`.
    pub path: String,
    /// Counted from 1; also 1 if it is about the whole file.
    pub line: usize,
    /// What is wrong, and what to do about it.
    pub message: String,
}

impl Finding {
    /// A finding at a line of a file.
    pub fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.into(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}
