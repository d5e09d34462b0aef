//! The first sentence of a comparison of several sides with the first.

use super::comparison::{fails_more, figures, is_beyond, size};
use tare_findings::compare::rows::word;
use tare_findings::compare::{AgainstFirst, ManyComparison, Verdict};
use tare_findings::figures::percent;

/// The largest change of a judged metric compared with the first side, or that none is shown, in at most 25 words.
pub fn many_sentence(found: &ManyComparison, min_effect: f64) -> String {
    let base = found.sides.first().map_or("", String::as_str);
    if let Some(failing) = found.losses.iter().find(|lost| lost.b_fails_more) {
        return fails_more(failing) + ".";
    }
    let judged: Vec<&AgainstFirst> = found.metrics.iter().filter(|row| row.metric.judged).collect();
    // Smaller changes were not tested.
    let limit = if min_effect > 0.0 { format!(" by more than {}", percent(min_effect)) } else { String::new() };
    let of_one = if let [one] = judged.as_slice() { figures(&one.metric) } else { String::new() };
    let changed = judged.iter().filter(|row| matches!(row.metric.verdict, Verdict::Faster | Verdict::Slower));
    match (changed.max_by(|a, b| size(&a.metric).total_cmp(&size(&b.metric))), judged.as_slice()) {
        (Some(row), all) => {
            let condition = &row.metric.condition;
            let one = all.iter().all(|other| other.metric.condition == *condition);
            let at = if one { String::new() } else { format!(" at {condition}") };
            format!("{} is {} than {base}{at}{}.", row.against, word(row.metric.verdict), figures(&row.metric))
        }
        (None, [_, ..]) if judged.iter().all(|row| row.metric.verdict == Verdict::Equivalent) => {
            format!("Every side is equivalent to {base} within {}{of_one}.", percent(min_effect))
        }
        (None, [one]) if is_beyond(&one.metric, min_effect) => {
            format!("Undecided whether {} differs from {base}{of_one}.", one.against)
        }
        (None, _) => format!("No side is shown to differ from {base}{limit}{of_one}."),
    }
}
