//! The question of a study: a word in its file that the first line of every report answers.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// `effect`: which factor moves the metrics, and by how much.
    Effect,
    /// `spread`: which factor makes trials of the same condition differ.
    Spread,
    /// `scaling`: what more threads or nodes give, and where they stop helping.
    Scaling,
    /// `best`: which condition is the best, or `best FACTOR`: which level of a factor is.
    Best(Option<String>),
}

/// Valid values in a study file, for its error messages.
pub const EXPECTED: &str = "effect, spread, scaling, best, or best and the name of a factor";

impl Question {
    /// Parses the words of a study file; none if they are no valid question.
    pub fn from_words(words: &str) -> Option<Self> {
        let mut words = words.split_whitespace();
        let question = match (words.next()?, words.next()) {
            ("effect", None) => Self::Effect,
            ("spread", None) => Self::Spread,
            ("scaling", None) => Self::Scaling,
            ("best", factor) => Self::Best(factor.map(str::to_owned)),
            _ => return None,
        };
        words.next().is_none().then_some(question)
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Effect => f.write_str("effect"),
            Self::Spread => f.write_str("spread"),
            Self::Scaling => f.write_str("scaling"),
            Self::Best(None) => f.write_str("best"),
            Self::Best(Some(factor)) => write!(f, "best {factor}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_study_file_come_back() {
        for words in ["effect", "spread", "scaling", "best", "best strategy"] {
            assert_eq!(Question::from_words(words).map(|q| q.to_string()).as_deref(), Some(words));
        }
        for wrong in ["", "why", "spread aslr", "best a b"] {
            assert_eq!(Question::from_words(wrong), None, "{wrong}");
        }
    }
}
