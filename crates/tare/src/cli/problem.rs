//! The one shape in which an error reaches the user: what happened, where, what was expected, what to do now.

use crate::run::Failure;
use std::borrow::Cow;
use std::fmt;

/// A rendered error and the exit code it leads to. Typed errors of the modules convert into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub what: String,
    /// Where: a file with line and column, a path, a host.
    pub place: Option<String>,
    pub expected: Option<String>,
    /// What to do now: a command or an edit.
    pub advice: Option<String>,
    /// The exit code that it ends the program with.
    pub exit: Exit,
}

impl Problem {
    pub fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self { what: what.into(), place: None, expected: None, advice: None, exit }
    }

    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    #[must_use]
    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expectation(expected.into()));
        self
    }

    #[must_use]
    pub fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// As [`Problem::advice`], where there is any.
    #[must_use]
    pub fn advised(self, advice: Option<impl Into<String>>) -> Self {
        match advice {
            Some(advice) => self.advice(advice),
            None => self,
        }
    }
}

/// What was expected, without that word: errors of libraries bring it along.
pub fn expectation(words: String) -> String {
    words.strip_prefix("expected ").map_or(words.clone(), str::to_owned)
}

/// At most this many characters of what happened, where and what was expected: each may repeat what someone wrote.
const MOST: usize = 4000;

/// The beginning of what is longer than anyone reads.
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
    /// Done, and a gate failed: a regression was found.
    GateFailed = 1,
    /// Wrong usage or a wrong study.
    Usage = 2,
    /// This machine cannot do what was asked.
    Machine = 3,
    TrialFailed = 4,
    /// A gate could not decide.
    Inconclusive = 5,
    /// Interrupted by Ctrl-C or SIGTERM.
    Interrupted = 130,
}
