//! How long a first sentence may be.

/// As many as can be read at a glance.
const MOST_WORDS: usize = 25;
/// Two lines of a terminal, because one word may be a whole command line.
const MOST_LETTERS: usize = 160;

/// The first sentence that is short enough; otherwise the last, which contains no names.
pub(super) fn first_that_fits(sentences: impl IntoIterator<Item = String>) -> String {
    let mut last = String::new();
    for sentence in sentences {
        last = sentence;
        if last.split_whitespace().count() <= MOST_WORDS && last.chars().count() <= MOST_LETTERS {
            break;
        }
    }
    last
}
