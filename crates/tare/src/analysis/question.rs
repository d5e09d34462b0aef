//! What a study asks, as its file says it.

use tare_results::Results;

/// What the first line of a report answers.
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

impl Question {
    /// From the words of a study file; none for words that ask nothing known.
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

/// The question of the study that was run; none where it declares none.
pub(super) fn of(results: &Results) -> Option<Question> {
    let table = results.study_toml.as_ref()?.parse::<toml::Table>().ok()?;
    Question::from_words(table.get("question")?.as_str()?)
}

/// Whether the run was a rehearsal: what `--quick` measures is too short to be relied on.
pub(super) fn is_rehearsal(results: &Results) -> bool {
    let command = results.environment.as_ref().map_or("", |environment| environment.command.as_str());
    command.split_whitespace().any(|word| word == "--quick")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_study_file() {
        assert_eq!(Question::from_words("best strategy"), Some(Question::Best(Some("strategy".into()))));
        assert_eq!(Question::from_words("best"), Some(Question::Best(None)));
        assert_eq!(Question::from_words("spread"), Some(Question::Spread));
        for wrong in ["", "why", "spread aslr", "best a b"] {
            assert_eq!(Question::from_words(wrong), None, "{wrong}");
        }
    }
}
