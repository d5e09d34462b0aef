//! What more threads or nodes give, and where they stop helping.

use super::basis::Basis;
use super::best;
use super::figures::{count, times};
use super::level_words::words_of;
use super::said::{Said, tested, untested};
use super::summary::{Scaling, Step};

/// Sentences of one kind; the rest are counted.
const LISTED: usize = 3;

/// The ladders of the headline metric: what their last rung gave over the first, and the steps at which more gave less.
pub(super) fn answer(basis: &Basis<'_>) -> Said {
    let Some(metric) = &basis.summary.headline_metric else { return best::answer(basis, None) };
    let laws: Vec<&Scaling> = basis.summary.scaling.iter().filter(|law| law.metric == *metric).collect();
    if laws.is_empty() {
        return untested(format!(
            "Whether more nodes or threads help cannot be answered here: fewer than three numbers of either were \
             measured{}. {}",
            unrealizable(basis),
            best::answer(basis, None).text
        ));
    }
    let steps: Vec<(&Scaling, &Step)> =
        laws.iter().flat_map(|law| law.steps.iter().map(move |step| (*law, step))).collect();
    if steps.iter().all(|(_, step)| step.ci.is_none()) {
        return untested("Whether more help cannot be answered here: one trial a rung shows no step.".to_owned());
    }
    let less: Vec<String> = steps.iter().filter(|(_, step)| step.retrograde).map(words).collect();
    let ladders = count(laws.len(), "ladder");
    if less.is_empty() {
        let of = if laws.len() == 1 { "the ladder" } else { &ladders };
        return tested(format!("On no step of {of} is more shown to give less."));
    }
    let more = match less.len().saturating_sub(LISTED) {
        0 => String::new(),
        n => format!("; and {} more", count(n, "step")),
    };
    let listed: Vec<String> = less.into_iter().take(LISTED).collect();
    tested(format!("More stops helping: {}{more}.", listed.join("; ")))
}

fn words((law, step): &(&Scaling, &Step)) -> String {
    let at = if law.levels.is_empty() { String::new() } else { format!(" at {}", words_of(&law.levels)) };
    let interval =
        step.ci.map_or(String::new(), |ci| format!(" (95% interval {} to {})", times(ci.low), times(ci.high)));
    format!("{} -> {} {} gave {}{interval}{at}", step.from, step.to, law.over, times(step.ratio))
}

fn unrealizable(basis: &Basis<'_>) -> String {
    match basis.summary.unrealizable.len() {
        0 => String::new(),
        n => format!(", for this machine cannot do {}", count(n, "condition")),
    }
}
