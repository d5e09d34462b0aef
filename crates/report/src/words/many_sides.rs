//! The first sentence of a comparison of several sides with the first.

use super::comparison::{fails_more, figures, has_interval, is_beyond, size};
use super::fitting::first_that_fits;
use tare_findings::compare::groups::word;
use tare_findings::compare::{AgainstFirst, ManyComparison, Verdict};
use tare_text::percent;

/// The largest change of a judged metric compared with the first side, or that none is shown, in at most 25 words.
pub fn many_sentence(found: &ManyComparison, min_effect: f64) -> String {
    let base = found.sides.first().map_or("", String::as_str);
    if let Some(failing) = found.losses.iter().find(|lost| lost.b_fails_more) {
        return fails_more(failing) + ".";
    }
    let judged: Vec<&AgainstFirst> = found.metrics.iter().filter(|row| row.metric.judged).collect();
    // Smaller changes were not tested.
    let limit = if min_effect > 0.0 { format!(" by more than {}", percent(min_effect)) } else { String::new() };
    let by_size = |a: &&&AgainstFirst, b: &&&AgainstFirst| size(&a.metric).total_cmp(&size(&b.metric));
    let largest = |is: &dyn Fn(&AgainstFirst) -> bool| judged.iter().filter(|row| is(row)).max_by(by_size).copied();
    let one_condition = judged.windows(2).all(|two| two[0].metric.condition == two[1].metric.condition);
    let at = |row: &AgainstFirst| match one_condition {
        true => String::new(),
        false => format!(" at {}", row.metric.condition),
    };
    let said = |lead: String, row: &AgainstFirst| format!("{lead}{}{}.", at(row), figures(&row.metric));
    if let Some(row) = largest(&|row| matches!(row.metric.verdict, Verdict::Faster | Verdict::Slower)) {
        return said(format!("{} is {} than {base}", row.against, word(row.metric.verdict)), row);
    }
    if let Some(row) = largest(&|row| is_beyond(&row.metric, min_effect)) {
        return said(format!("Undecided whether {} differs from {base}", row.against), row);
    }
    let lead = match !judged.is_empty() && judged.iter().all(|row| row.metric.verdict == Verdict::Equivalent) {
        true => format!("Every side is equivalent to {base} within {}", percent(min_effect)),
        false => format!("No side is shown to differ from {base}{limit}"),
    };
    let with = match judged.as_slice() {
        [one] => vec![said(lead.clone(), one)],
        _ => {
            let of = |row: &AgainstFirst| format!("{lead}; largest {}", row.against);
            let most = largest(&|row| has_interval(&row.metric));
            let both = |row| [said(of(row), row), format!("{}{}.", of(row), figures(&row.metric))];
            most.into_iter().flat_map(both).collect()
        }
    };
    first_that_fits(with.into_iter().chain([format!("{lead}.")]))
}
