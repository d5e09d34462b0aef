//! The error for an unknown word: what was found, which words are known, and the most similar one.

use crate::nearest;
use std::fmt;
use strum::VariantNames;

/// A word that is not among the expected ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownWord {
    /// The word that was written.
    pub found: String,
    /// The known words, in the order in which the message lists them.
    pub known: &'static [&'static str],
    /// The most similar known word, if one is similar enough.
    pub nearest: Option<&'static str>,
}

impl UnknownWord {
    /// Builds the error and looks for the most similar known word.
    pub fn among(found: &str, known: &'static [&'static str]) -> Self {
        Self { found: found.to_owned(), known, nearest: nearest(found, known.iter().copied()) }
    }

    /// As [`Self::among`], with the words of an enum, for strum: `parse_err_fn = UnknownWord::of::<Self>`.
    pub fn of<T: VariantNames>(found: &str) -> Self {
        Self::among(found, T::VARIANTS)
    }
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected one of {}, found {:?}{}", self.known.join(", "), self.found, did_you_mean(self.nearest))
    }
}

impl std::error::Error for UnknownWord {}

/// The end of a message: `; did you mean "node"?`, or the empty string.
pub fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |word| format!("; did you mean {word:?}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_all_and_the_nearest() {
        let known = &["set", "thread"];
        assert_eq!(
            UnknownWord::among("threads", known).to_string(),
            "expected one of set, thread, found \"threads\"; did you mean \"thread\"?"
        );
        assert_eq!(UnknownWord::among("7", known).to_string(), "expected one of set, thread, found \"7\"");
    }
}
