//! A sentence on the basis of an answer: how the trials were compared, and how many of them.

use crate::figures::chance;
use tare_findings::collect;
use tare_findings::condition::ConditionSummary;
use tare_findings::summary::Summary;
use tare_findings::verdict::Verdict;
use tare_results::Results;
use tare_stats::blocks::Spread;
use tare_stats::effects::DIVIDED;
use tare_text::count;

/// Continues a sentence or begins a note.
pub(super) const TWO_TRIALS: &str = "two trials are often in one mode by chance, so only a difference far beyond their \
     spread is shown: run at least three";

/// "Compared by block over all 24 trials; spreads are not shown to differ (p 0.34) and are pooled."
pub(super) fn sentence(summary: &Summary, results: &Results) -> Option<String> {
    let analysis = summary.answer.shown().tested()?.analysis;
    // Trials that failed for good or were disturbed are missing in the same way as those that were left out.
    let of = summary.answer.verdict.tested()?.analysis.of + collect::missing_trials(results);
    let trials = match analysis.trials == of {
        true => format!("all {of} trials"),
        false => format!("{} of {of} trials", analysis.trials),
    };
    let spread = match analysis.spread {
        Spread::Pooled { p_value } => format!("spreads are not shown to differ (p {}) and are pooled", chance(p_value)),
        Spread::SomeOwn { p_value, conditions } => {
            let vary = if conditions == 1 { "varies" } else { "vary" };
            let those = count(conditions, "condition");
            format!("{those} {vary} more than the others (p {}), whose spreads are pooled", chance(p_value))
        }
        Spread::Unequal { p_value } => {
            format!("spreads differ (p {}), so each condition keeps its own", chance(p_value))
        }
        Spread::Both => {
            "with so few trials a difference must be significant by the pooled spread and by its own".to_owned()
        }
        Spread::Own => "each condition has its own spread".to_owned(),
    };
    let by_factors = matches!(summary.answer.shown(), Verdict::Moved { .. } | Verdict::NotMoved { .. });
    let divided = by_factors && !analysis.by_block && summary.conditions.len() >= DIVIDED;
    let few = match summary.conditions.iter().map(ConditionSummary::analysed).max() {
        Some(2) if !divided => format!("; {TWO_TRIALS}"),
        _ => String::new(),
    };
    Some(match (analysis.by_block, results.plan.is_some()) {
        (true, _) => format!("Compared by block over {trials}; {spread}{few}."),
        (false, true) => format!(
            "Compared without blocks over {trials}, because too few blocks hold several conditions: drift between them \
             is part of every interval{few}."
        ),
        (false, false) => format!("Compared over {trials}, which have no block numbers; {spread}{few}."),
    })
}
