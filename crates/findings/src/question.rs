//! What the study that was run asks, and whether the run was only a rehearsal.

use super::confidence::{ANSWER, FURTHER};
use std::collections::BTreeSet;
use tare_results::Results;
use tare_results::question::Question;
use tare_results::schema::{LeftOut, PlannedCondition, Within};

/// What an answer is made for, besides the trials.
pub(super) struct Asked {
    /// The question of the study; none where it declares none.
    pub question: Option<Question>,
    pub is_rehearsal: bool,
    /// Settings of the machine that the study did without.
    pub left_out: Vec<LeftOut>,
    /// What was cut of it to fit a time, and how many of its conditions were not measured.
    pub within: Option<(Within, usize)>,
    pub attempts: usize,
    pub unrealizable: usize,
}

impl Asked {
    pub fn of(results: &Results) -> Self {
        let planned = results.plan.iter().flat_map(|plan| &plan.conditions);
        Self {
            question: question(results),
            is_rehearsal: is_rehearsal(results),
            left_out: results.plan.as_ref().map(|plan| plan.left_out.clone()).unwrap_or_default(),
            within: within(results),
            attempts: results.trials.len(),
            unrealizable: planned.filter(|condition| !condition.realizable).count(),
        }
    }

    /// The chance of a false alarm of what answers this question: more where it was asked.
    pub fn rate(&self, question: &Question) -> f64 {
        if self.question.as_ref() == Some(question) { ANSWER } else { FURTHER }
    }
}

fn within(results: &Results) -> Option<(Within, usize)> {
    let plan = results.plan.as_ref()?;
    let measured: BTreeSet<&str> = results.trials.iter().map(|trial| trial.condition.as_str()).collect();
    let missing = |planned: &&PlannedCondition| planned.realizable && !measured.contains(planned.name.as_str());
    Some((plan.within.clone()?, plan.conditions.iter().filter(missing).count()))
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
