//! The first line of every report: what the study asked, answered from tested effects or not at all.

use super::aside;
use super::basis::{Basis, extremes};
use super::collect::{self, ConditionTrials};
use super::composite;
use super::figures::{self, count, figure, list, times};
use super::question;
use super::said::{Answer, Said, tested, untested};
use super::summary::{Effect, Summary};
use super::{best, effects, reading, scaling_answer, steadiness};
use tare_results::Results;
use tare_results::question::Question;

/// Answers the study's question.
pub(super) fn answer(summary: &Summary, results: &Results, conditions: &[ConditionTrials<'_>]) -> Answer {
    let said = said(summary, results, conditions);
    let (disturbed, all) = conditions
        .iter()
        .fold((0, 0), |(bad, all), condition| (bad + condition.disturbed().len(), all + condition.ok.len()));
    let mut text = said.text;
    if disturbed > 0 && said.tested {
        text = confirmed(text, said.tested, disturbed, all, summary, results, conditions);
    } else if disturbed > 0 {
        text = format!("{disturbed} of {all} trials were disturbed. {text}");
    }
    if question::is_rehearsal(results) {
        text = format!("A rehearsal (--quick), too short to rely on: {}", figures::after_words(&text));
    }
    Answer { text, tested: said.tested, disturbed: disturbed > 0 }
}

/// What rests on disturbed trials says so first; what changes without them is not claimed.
fn confirmed(
    text: String,
    tested: bool,
    disturbed: usize,
    all: usize,
    summary: &Summary,
    results: &Results,
    conditions: &[ConditionTrials<'_>],
) -> String {
    let lead = format!("{disturbed} of {all} trials were disturbed");
    let clean: Vec<ConditionTrials<'_>> = conditions.iter().map(ConditionTrials::clean).collect();
    let enough = clean.iter().all(|condition| condition.ok.len() > 1);
    let again = enough.then(|| said(summary, results, &clean)).filter(|again| again.tested == tested);
    match again {
        Some(again) if claim(&again.text) == claim(&text) => {
            format!("{lead}; without them it comes out the same. {text}")
        }
        Some(again) => format!(
            "{lead}, and they decide: with them {} Without them {}",
            figures::after_words(&text),
            figures::after_words(&again.text)
        ),
        None => format!(
            "{lead}, and too few clean ones are left to do without them: inconclusive until a quieter machine repeats \
             it. With them {}",
            figures::after_words(&text)
        ),
    }
}

/// The words of a sentence without its figures.
fn claim(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit() && !matches!(c, '.' | ',' | '%')).collect()
}

fn said(summary: &Summary, results: &Results, conditions: &[ConditionTrials<'_>]) -> Said {
    let Some(name) = &summary.headline_metric else {
        return untested(match results.trials.len() {
            0 => "No trial has been recorded yet.".to_owned(),
            n => format!("No trial gave a usable result: {} recorded, none of them ok.", count(n, "attempt")),
        });
    };
    let measured: Vec<ConditionTrials<'_>> =
        conditions.iter().filter(|condition| !condition.with(name).is_empty()).cloned().collect();
    let (measured, _) = aside::split(measured);
    if measured.len() < 2 {
        return untested(alone(summary, name));
    }
    let Some(composite) = composite::of(&measured, name) else {
        return untested(format!("{} is not positive in every trial; the tables show it.", reading::phrase(name)));
    };
    if measured.iter().any(|condition| condition.ok.len() < 2) {
        return untested(format!(
            "One trial a condition cannot tell a difference of {} from luck: {}. Run at least two, better ten.",
            reading::phrase(name),
            extremes(summary, name, &measured)
        ));
    }
    let basis = Basis { summary, conditions: &measured, composite: &composite };
    let mains = effects::main_effects(&measured, &composite);
    let by_effects = || factors(&basis, &mains);
    match question::of(results) {
        Some(Question::Spread) => steadiness::answer(summary),
        Some(Question::Scaling) => scaling_answer::answer(&basis),
        Some(Question::Best(factor)) => best::answer(&basis, factor.as_deref()),
        Some(Question::Effect) if mains.is_empty() => best::answer(&basis, None),
        Some(Question::Effect) => by_effects(),
        // A study that asks nothing: its factors where there are several, else its conditions.
        None if reading::factors_of(&mains) > 1 => by_effects(),
        None => best::answer(&basis, None),
    }
}

/// Which factor moves what was measured: Holm over the main effects, block by block, on all primary metrics together.
fn factors(basis: &Basis<'_>, mains: &[Effect]) -> Said {
    let what = basis.what();
    let mut shown: Vec<&Effect> = mains.iter().filter(|effect| effect.shown).collect();
    shown.sort_by(|a, b| b.mean_ratio.ln().abs().total_cmp(&a.mean_ratio.ln().abs()));
    let names: Vec<String> = mains.iter().map(|effect| effect.term.to_string()).collect();
    let Some((first, rest)) = shown.split_first() else {
        return tested(match names.as_slice() {
            [one] => format!("{one} is not shown to move {what}."),
            [one, other] => format!("Neither {one} nor {other} is shown to move {what}."),
            all => format!("None of {} is shown to move {what}.", list(all)),
        });
    };
    let interval =
        first.ci.map_or(String::new(), |ci| format!(", 95% interval {} to {}", times(ci.low), times(ci.high)));
    let others = if mains.len() > 1 { ", averaged over the other factors" } else { "" };
    let lead = format!(
        "{} moved {what} {} ({}{interval}{others})",
        first.term,
        times(first.mean_ratio),
        first.levels.replace('/', " against "),
    );
    // What is shown and rounds to nothing is in the table.
    let some = rest.iter().filter(|effect| times(effect.mean_ratio) != times(1.0));
    let rest: Vec<String> = some.map(|effect| format!("{} {}", effect.term, times(effect.mean_ratio))).collect();
    let rest = match (reading::after_it(rest), mains.len()) {
        (Some(rest), _) => format!("; {rest}"),
        (None, 1) => String::new(),
        (None, _) => "; no other factor is shown to".to_owned(),
    };
    tested(format!("{lead}{rest}."))
}

/// A study of one condition.
fn alone(summary: &Summary, name: &str) -> String {
    let found = summary.conditions.iter().find_map(|c| Some((c, c.metrics.iter().find(|m| m.name == name)?)));
    let Some((condition, metric)) = found else { return "No trial gave a usable result.".to_owned() };
    let called = if condition.name.is_empty() { "the only condition" } else { &condition.name };
    if !metric.modes.is_empty() {
        return format!(
            "Only {called} was measured, and its {} has {} modes: {}. There is nothing to compare it with.",
            reading::phrase(name),
            metric.modes.len(),
            reading::modes(metric)
        );
    }
    let interval = match metric.ci {
        Some(ci) => format!(
            " (95% interval {} to {} over {})",
            figure(ci.low, &metric.unit),
            figure(ci.high, &metric.unit),
            count(metric.trials, "trial")
        ),
        None => " in a single trial, which cannot say how much of that is luck".to_owned(),
    };
    let mean = figure(metric.mean, &metric.unit);
    format!(
        "Only {called} was measured: {} {mean}{interval}. There is nothing to compare it with.",
        reading::phrase(name)
    )
}

/// Every metric that an answer may be about, for notes.
pub(super) fn primary(conditions: &[ConditionTrials<'_>]) -> Vec<String> {
    let all = collect::all_metrics(conditions);
    all.into_iter().filter(|name| tare_results::metric::describe(name).is_primary()).collect()
}
