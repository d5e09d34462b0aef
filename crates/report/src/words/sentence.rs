//! One sentence, and how it stands behind other words.

/// A sentence that knows whether it begins with a word of ours or with a name, which keeps its letters.
pub(super) struct Sentence {
    text: String,
    begins_with_name: bool,
}

impl Sentence {
    pub fn ours(text: impl Into<String>) -> Self {
        Self { text: text.into(), begins_with_name: false }
    }

    pub fn name(text: impl Into<String>) -> Self {
        Self { text: text.into(), begins_with_name: true }
    }

    /// As it stands alone.
    pub fn alone(self) -> String {
        self.text
    }

    /// As it stands behind a colon or a semicolon.
    pub fn behind(&self) -> String {
        let mut letters = self.text.chars();
        match letters.next() {
            Some(first) if !self.begins_with_name => first.to_lowercase().chain(letters).collect(),
            _ => self.text.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_words_follow_with_a_small_letter_and_names_keep_theirs() {
        assert_eq!(Sentence::ours("No difference is shown.").behind(), "no difference is shown.");
        assert_eq!(Sentence::name("InnoDB moved throughput.").behind(), "InnoDB moved throughput.");
        assert_eq!(Sentence::name("No moved throughput.").behind(), "No moved throughput.");
        assert_eq!(Sentence::ours("").behind(), "");
    }
}
