//! What the study that was run asks, and whether the run was only a rehearsal.

use tare_results::Results;
use tare_results::question::Question;

/// The question of the study that was run; none where it declares none.
pub(super) fn of(results: &Results) -> Option<Question> {
    let table = results.study_toml.as_ref()?.parse::<toml::Table>().ok()?;
    Question::from_words(table.get("question")?.as_str()?)
}

/// Whether the run was a rehearsal: what `--quick` measures is too short to be relied on. Plans of before they said it
/// have it in the command line beside them.
pub(super) fn is_rehearsal(results: &Results) -> bool {
    let command = results.environment.as_ref().map_or("", |environment| environment.command.as_str());
    results.plan.as_ref().is_some_and(|plan| plan.rehearsal) || command.split_whitespace().any(|word| word == "--quick")
}
