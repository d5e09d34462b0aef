//! The form of every error that reaches the user: what happened, where, what was expected, and what to do now.

use crate::run::Failure;
use std::borrow::Cow;
use std::fmt;

/// A printable error and its exit code. Typed errors of the modules convert into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub what: String,
    /// Where: a file with line and column, a path, a host.
    pub place: Option<String>,
    pub expected: Option<String>,
    /// What to do now: a command or an edit.
    pub advice: Option<String>,
    /// The exit code of the program.
    pub exit: Exit,
}

impl Problem {
    pub(crate) fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self { what: what.into(), place: None, expected: None, advice: None, exit }
    }

    #[must_use]
    pub(crate) fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    #[must_use]
    pub(crate) fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expectation(expected.into()));
        self
    }

    #[must_use]
    pub(crate) fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    #[must_use]
    pub(crate) fn advised(self, advice: Option<impl Into<String>>) -> Self {
        match advice {
            Some(advice) => self.advice(advice),
            None => self,
        }
    }
}

/// What was expected, without the word `expected`, with which errors of libraries begin.
pub(crate) fn expectation(words: String) -> String {
    words.strip_prefix("expected ").map_or(words.clone(), str::to_owned)
}

/// Most characters of each part of an error: each may quote foreign text.
const MOST: usize = 4000;

/// The beginning of a long text.
fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MOST) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}... ({} more bytes)", &text[..end], text.len() - end)),
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", shortened(&self.what))?;
        for (label, text) in [("where", &self.place), ("expected", &self.expected), ("do now", &self.advice)] {
            if let Some(text) = text {
                write!(f, "\n  {label}: {}", shortened(text).replace('\n', "\n    "))?;
            }
        }
        Ok(())
    }
}

impl From<&Problem> for Failure {
    fn from(problem: &Problem) -> Self {
        let Problem { what, place, expected, advice, exit } = problem.clone();
        Self { what, place, expected, advice, exit_code: exit as u8 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Done = 0,
    /// A gate failed: a regression was found.
    GateFailed = 1,
    /// Wrong usage or an invalid study.
    Usage = 2,
    /// This machine cannot run the request.
    Machine = 3,
    TrialFailed = 4,
    /// A gate could not decide.
    Inconclusive = 5,
    /// Interrupted by Ctrl-C or SIGTERM.
    Interrupted = 130,
}
