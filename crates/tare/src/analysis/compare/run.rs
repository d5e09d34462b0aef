//! The comparison from end to end.

use super::model::{CompareError, Comparison, Options, Side};
use super::pairs::{Matched, Pair, conditions, matched, metrics_of, unmatched};
use super::verdicts::{gate, judge, verdicts};
use crate::analysis::{differences, modes};
use tare_results::metric;

/// Compares B with A.
///
/// # Errors
/// [`CompareError`] when conditions or metrics do not match.
pub fn compare(a: Side<'_>, b: Side<'_>, options: &Options) -> Result<Comparison, CompareError> {
    let (of_a, of_b) = (conditions(a)?, conditions(b)?);
    let matched = matched(&of_a, &of_b)?;
    let mut notes = unmatched(&of_a, &of_b, &matched);
    let mut pairs: Vec<Pair> = matched.iter().flat_map(|(a, b)| metrics_of(a, b)).collect();
    judge(&mut pairs, &options.judged)?;
    notes.extend(cautions(&matched, &pairs));
    let (judged, others): (Vec<Pair>, Vec<Pair>) = pairs.into_iter().partition(|pair| pair.comparison.judged);
    let judged = verdicts(judged, options.min_effect);
    let gate = options.fail_if_slower.map(|margin| gate(&judged, margin));
    let metrics = judged.into_iter().chain(verdicts(others, options.min_effect)).map(|pair| pair.comparison).collect();
    let mut differences = differences::between(a.results, b.results);
    if let [(one, other)] = matched.as_slice() {
        differences.splice(0..0, differences::of_levels(one.levels, other.levels));
    }
    Ok(Comparison { differences, metrics, gate, notes })
}

/// Too few trials, two modes, and trials left out.
fn cautions(matched: &Matched<'_, '_>, pairs: &[Pair]) -> Vec<String> {
    let mut notes = Vec::new();
    for (side, label) in matched.iter().flat_map(|(a, b)| [(*a, "A"), (*b, "B")]) {
        let left_out = side.failed.len() + side.contaminated.len();
        if left_out > 0 {
            notes.push(format!(
                "{label}, {}: {} failed and {} contaminated, not compared",
                side.name,
                side.failed.len(),
                side.contaminated.len()
            ));
        }
        for name in pairs.iter().filter(|pair| pair.comparison.judged).map(|pair| &pair.comparison.name) {
            let unit = metric::describe(name).unit;
            if !modes::find(side, name, unit, None).0.is_empty() {
                let note =
                    format!("{label}, {}: {name} has two modes; a ratio of means describes no trial of it", side.name);
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
    }
    let single = pairs.iter().any(|pair| pair.comparison.judged && pair.a.len().min(pair.b.len()) < 2);
    if single {
        notes.push("a side with a single trial has no interval: nothing can be concluded from it".to_owned());
    }
    notes
}
