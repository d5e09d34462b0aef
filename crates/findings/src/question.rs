//! What the study that was run asks, and whether the run was only a rehearsal.

use super::confidence::{ANSWER, FURTHER};
use tare_results::Results;
use tare_results::question::Question;

/// What an answer is made for, besides the trials.
pub(super) struct Asked {
    /// The question of the study; none where it declares none.
    pub question: Option<Question>,
    /// Whether the run was a rehearsal.
    pub is_rehearsal: bool,
    /// Attempts of which there is a record.
    pub attempts: usize,
    /// Conditions that this machine cannot do.
    pub unrealizable: usize,
}

impl Asked {
    pub fn of(results: &Results) -> Self {
        let planned = results.plan.iter().flat_map(|plan| &plan.conditions);
        Self {
            question: question(results),
            is_rehearsal: is_rehearsal(results),
            attempts: results.trials.len(),
            unrealizable: planned.filter(|condition| !condition.realizable).count(),
        }
    }

    /// The chance of a false alarm of what answers this question: more where it was asked.
    pub fn rate(&self, question: &Question) -> f64 {
        if self.question.as_ref() == Some(question) { ANSWER } else { FURTHER }
    }
}

fn question(results: &Results) -> Option<Question> {
    let table = results.study_toml.as_ref()?.parse::<toml::Table>().ok()?;
    Question::from_words(table.get("question")?.as_str()?)
}

/// Whether the run was a rehearsal: what `--quick` measures is too short to be relied on. Plans of before they said it
/// have it in the command line alongside them.
fn is_rehearsal(results: &Results) -> bool {
    let command = results.environment.as_ref().map_or("", |environment| environment.command.as_str());
    results.plan.as_ref().is_some_and(|plan| plan.rehearsal) || command.split_whitespace().any(|word| word == "--quick")
}
