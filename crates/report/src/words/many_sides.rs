//! The first sentence of a comparison of several sides with the first.

use super::find::shown_interval;
use super::terms::{interval_of_change, phrase};
use tare_findings::compare::rows::word;
use tare_findings::compare::{AgainstFirst, ManyComparison, Verdict};
use tare_findings::figures::change;

/// The largest change of a judged metric compared with the first side, or that none is shown, in at most 25 words.
pub fn many_sentence(found: &ManyComparison) -> String {
    let base = found.sides.first().map_or("", String::as_str);
    let judged: Vec<&AgainstFirst> = found.metrics.iter().filter(|row| row.metric.judged).collect();
    let size = |row: &AgainstFirst| row.metric.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    let changed = judged.iter().filter(|row| matches!(row.metric.verdict, Verdict::Faster | Verdict::Slower));
    let figures = |row: &AgainstFirst| {
        let interval = shown_interval(row.metric.ci).map_or("no interval".to_owned(), interval_of_change);
        let figures = |ratio| format!(": {} {} ({interval})", phrase(&row.metric.name), change(ratio - 1.0));
        row.metric.ratio.map_or_else(String::new, figures)
    };
    match (changed.max_by(|a, b| size(a).total_cmp(&size(b))), judged.as_slice()) {
        (Some(row), all) => {
            let condition = &row.metric.condition;
            let one = all.iter().all(|other| other.metric.condition == *condition);
            let at = if one { String::new() } else { format!(" at {condition}") };
            format!("{} is {} than {base}{at}{}.", row.against, word(row.metric.verdict), figures(row))
        }
        (None, [one]) => format!("No difference from {base} is shown{}.", figures(one)),
        (None, _) => format!("No side is shown to differ from {base}."),
    }
}
