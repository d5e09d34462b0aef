//! Sentences on searches for the highest rate under a service-level objective.

use crate::figures::figure;
use tare_findings::latencies::{FEWEST_BEYOND, SearchNotes};
use tare_results::search::{Limit, SearchRecord, StepRecord};
use tare_results::unit::Unit;
use tare_text::count;

pub(super) fn notes(found: &[SearchNotes]) -> Vec<String> {
    found.iter().flat_map(|notes| scarce(notes).into_iter().chain(without_end(notes))).collect()
}

fn scarce(notes: &SearchNotes) -> Option<String> {
    let fewest = notes.fewest_beyond.filter(|_| notes.scarce > 0)?;
    let more_than = if fewest < 1.0 { "more than " } else { "" };
    Some(format!(
        "{}: {} of {} rest on fewer than {FEWEST_BEYOND} transactions beyond the SLO's percentile (the fewest: \
         {}): such a rate is too high on average; a sample_s {more_than}{:.0} times as long gives {FEWEST_BEYOND}",
        notes.condition,
        notes.scarce,
        count(notes.searches, "rate"),
        fewest.floor(),
        (FEWEST_BEYOND / fewest.max(1.0)).ceil(),
    ))
}

fn without_end(notes: &SearchNotes) -> Option<String> {
    let [low, high] = notes.bracket_tps?;
    Some(format!(
        "{}: {} of {} are of searches that did not converge, as lower rates missed the SLO and higher ones met \
         it: the highest rate lies between {} and {}, and the server or the machine changed during the search",
        notes.condition,
        notes.without_end,
        count(notes.searches, "rate"),
        figure(low, Unit::PerS),
        figure(high, Unit::PerS),
    ))
}

/// What follows the verdict on a step: why it did not meet the SLO, if that is known, and whether it was measured
/// again.
pub(crate) fn step_remarks(search: &SearchRecord, step: &StepRecord) -> String {
    let reason = match step.limit.filter(|_| !step.met) {
        Some(Limit::Client(why)) => format!(", the client's limit: {why}"),
        Some(Limit::Server) if search.fell_behind(step) => ", a queue grew".to_owned(),
        _ => String::new(),
    };
    if step.repeated { reason + "; measured again" } else { reason }
}

/// Milliseconds with as many digits as show on which side of the limit they are.
pub fn in_ms(value: f64, limit: f64) -> String {
    let is_within = |value: f64| value <= limit;
    let mut texts = (3..=9).map(|digits| format!("{value:.digits$}"));
    let says_so = |text: &String| text.parse().is_ok_and(|rounded| is_within(rounded) == is_within(value));
    texts.find(says_so).unwrap_or_else(|| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_never_rounded_to_the_other_side_of_its_limit() {
        let of = |value| in_ms(value, 0.0125);
        assert_eq!([0.0125, 0.01251, 0.0119, 2.0].map(of), ["0.0125", "0.013", "0.012", "2.000"]);
        assert_eq!(in_ms(5.0004, 5.0), "5.0004");
    }

    #[test]
    fn rates_of_few_transactions_and_searches_without_an_end_are_reported() {
        let notes = SearchNotes {
            condition: "base".into(),
            searches: 5,
            scarce: 2,
            fewest_beyond: Some(20.0),
            without_end: 1,
            bracket_tps: Some([700.0, 1090.0]),
        };
        let [scarce, without_end] = super::notes(&[notes]).try_into().unwrap();
        assert!(scarce.starts_with("base: 2 of 5 rates rest on fewer than 100"), "{scarce}");
        assert!(scarce.ends_with("a sample_s 5 times as long gives 100"), "{scarce}");
        assert!(without_end.contains("between 700 /s and 1.09 k/s"), "{without_end}");
    }
}
