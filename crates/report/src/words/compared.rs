//! How the trials were compared: how many of them, in which blocks, and what is left out.

use crate::figures::chance;
use std::collections::BTreeSet;
use tare_findings::collect;
use tare_findings::compare::{MetricComparison, Note, Sessions};
use tare_findings::condition::ConditionSummary;
use tare_findings::summary::Summary;
use tare_findings::verdict::Verdict;
use tare_results::Results;
use tare_stats::blocks::Spread;
use tare_stats::effects::DIVIDED;
use tare_text::{count, list};

/// More metrics than this are counted.
const NAMED: usize = 3;

/// Whether a condition of the first side was not compared.
pub(crate) fn is_only_in_first(note: &Note, first: &str) -> bool {
    matches!(note, Note::OnlyIn { side, .. } if side == first)
}

/// Whether judged metrics were compared block by block, over how many blocks, and with which trials left out.
pub fn how_compared(metrics: &[&MetricComparison]) -> String {
    let judged: Vec<&MetricComparison> = metrics.iter().copied().filter(|metric| metric.judged).collect();
    let several = judged.iter().any(|metric| metric.condition != judged[0].condition);
    let name = |metric: &MetricComparison| match several {
        true => format!("{} of {}", metric.name, metric.condition),
        false => metric.name.clone(),
    };
    let mut hows: Vec<(String, Vec<String>)> = Vec::new();
    for metric in &judged {
        let (how, name) = (how(metric), name(metric));
        match hows.iter_mut().find(|(known, _)| *known == how) {
            Some((_, names)) => names.push(name),
            None => hows.push((how, vec![name])),
        }
    }
    // Of several sides, each has a metric of the same name.
    let unique: BTreeSet<&String> = hows.iter().flat_map(|(_, names)| names).collect();
    let sentence = |(how, names): &(String, Vec<String>)| match hows.len() {
        1 => format!("Compared {how}."),
        _ if names.len() > NAMED || unique.len() < judged.len() => {
            format!("{} of {} comparisons were made {how}.", names.len(), judged.len())
        }
        _ => format!("{} compared {how}.", list(names)),
    };
    hows.iter().map(sentence).collect::<Vec<_>>().join(" ")
}

fn how(metric: &MetricComparison) -> String {
    let MetricComparison { trials_a, trials_b, left_out, .. } = metric;
    let blocks = count(*trials_a, "block");
    if let (true, Some(machines)) = (metric.paired, metric.machines) {
        return format!("as two runs, machine by machine, over {machines} machines, between which they differ");
    }
    match (metric.paired, left_out) {
        (true, 0) => format!("block by block, over {blocks}"),
        (true, 1) => format!("block by block, over {blocks}; a trial whose block lacks the other side is left out"),
        (true, _) => {
            format!("block by block, over {blocks}; {left_out} trials whose blocks lack the other side are left out")
        }
        (false, _) if metric.one_run => format!(
            "without blocks ({trials_a} and {trials_b} trials), because too few blocks have a trial of both sides: \
             intervals include what changed between blocks"
        ),
        (false, _) => {
            let levels =
                metric.machines.map_or_else(String::new, |n| format!(" and without the levels of {n} machines"));
            format!("as two runs, without blocks{levels} ({trials_a} and {trials_b} trials)")
        }
    }
}

/// The same for sides of several sessions.
pub(crate) fn how_compared_by_session(found: &Sessions) -> String {
    let Sessions { a, b, paired, .. } = found;
    match paired {
        true => format!("Compared session by session, over {}.", count(*a, "session")),
        false => format!("Compared by the means of sessions ({a} and {b})."),
    }
}

/// Continues a sentence or begins a note.
pub(super) const TWO_TRIALS: &str = "two trials are often in one mode by chance, so only a difference far beyond their \
     spread is shown: run at least three";

/// "Compared by block over all 24 trials; spreads are not shown to differ (p 0.34) and are pooled."
pub(super) fn basis(summary: &Summary, results: &Results) -> Option<String> {
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
