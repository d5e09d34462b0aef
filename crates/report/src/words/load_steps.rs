//! The steps of a load that move by themselves: their average over all steps says nothing of one of them.

use super::terms::{first_that_fits, level_of, query, small_change};
use crate::figures::times;
use std::collections::BTreeSet;
use tare_findings::verdict::{MovedAlone, Verdict};
use tare_results::metric::{self, Better};
use tare_results::steps::step;
use tare_text::{count, list};

/// What moved single steps, between which two levels, and the metrics of these steps with their ratios, second level
/// to first.
struct Moved<'v> {
    who: String,
    levels: [&'v str; 2],
    metrics: Vec<(&'v str, f64)>,
}

/// The first sentence about the steps that move; none for other verdicts, and if all rates move in the same direction,
/// which their average describes.
pub(super) fn moved(verdict: &Verdict) -> Option<String> {
    let Moved { who, levels: [from, to], metrics } = Moved::of(verdict)?;
    let steps: BTreeSet<&str> = metrics.iter().filter_map(|(name, _)| Some(step(name)?.1)).collect();
    let lead = format!("{who} moved {}", count(steps.len(), "step"));
    let figures: Vec<String> = metrics.iter().map(|(name, ratio)| figure(name, *ratio)).collect();
    let some = |listed: usize| {
        let more = figures.len() - listed;
        let more = (more > 0).then(|| format!("{more} more"));
        list(&figures.iter().take(listed).cloned().chain(more).collect::<Vec<_>>())
    };
    let sentences = (1..=figures.len()).rev().map(|listed| format!("{lead}: {} (from {from} to {to}).", some(listed)));
    Some(first_that_fits(sentences.chain([format!("{lead}: {}.", some(1)), format!("{lead}.")])))
}

/// "l_i0_insert -3.0%", "l_x takes 1.20x".
fn figure(name: &str, ratio: f64) -> String {
    let takes = if metric::describe(name).better == Better::Lower { "takes " } else { "" };
    format!("{} {takes}{}", query(name), small_change(ratio).unwrap_or_else(|| times(ratio)))
}

impl<'v> Moved<'v> {
    fn of(verdict: &'v Verdict) -> Option<Self> {
        let (what, found) = match verdict {
            Verdict::Moved { what, first, alone, .. } => {
                let own = alone.iter().filter(|one| one.by.as_ref() == Some(&first.term));
                let metrics = own.map(|one| (one.metric.as_str(), one.ratio)).collect();
                (what, Self { who: first.term.to_string(), levels: [&first.low, &first.high], metrics })
            }
            Verdict::Ranked { what, factors, by: Some(by), ranking, alone, .. } => {
                let second = ranking.second.as_ref()?;
                let turned = |one: &MovedAlone| if one.high == second.to { one.ratio } else { 1.0 / one.ratio };
                let metrics = alone.iter().map(|one| (one.metric.as_str(), turned(one))).collect();
                let levels = [&second.from, &second.to].map(|name| level_of(name, factors));
                (what, Self { who: by.clone(), levels, metrics })
            }
            _ => return None,
        };
        let rates: Vec<f64> = found.metrics.iter().filter(|one| is_rate(one.0)).map(|one| one.1).collect();
        let all_alike = rates.len() == what.metrics && rates.iter().all(|ratio| (*ratio > 1.0) == (rates[0] > 1.0));
        (!found.metrics.is_empty() && !all_alike).then_some(found)
    }
}

fn is_rate(name: &str) -> bool {
    metric::describe(name).better == Better::Higher
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_findings::factors::{Term, TermFactor};
    use tare_findings::verdict::{Measured, Moved as Effect, Tested};
    use tare_stats::blocks::{Analysis, Spread};

    fn of(alone: &[(&str, f64)]) -> Option<String> {
        let term = || Term(vec![TermFactor { factors: vec!["build".to_owned()], level: None }]);
        let (low, high) = (|| "10.11.5".to_owned(), || "10.11.19".to_owned());
        let one = |(metric, ratio): &(&str, f64)| MovedAlone {
            metric: (*metric).to_owned(),
            by: Some(term()),
            high: high(),
            low: low(),
            ratio: *ratio,
        };
        let analysis = Analysis { by_block: true, spread: Spread::Own, trials: 24, of: 24 };
        moved(&Verdict::Moved {
            what: Measured { metric: "rows_per_s_of_l_i0_insert".to_owned(), metrics: 3, steps: Some(3) },
            first: Effect { term: term(), high: high(), low: low(), ratio: 0.9, ci: None, p_value: None, shown: true },
            rest: Vec::new(),
            tested: Tested { count: 1, of: 1, analysis },
            alone: alone.iter().map(one).collect(),
        })
    }

    #[test]
    fn steps_that_move_are_named_with_their_own_figures() {
        let [i0, qp, x] = ["rows_per_s_of_l_i0_insert", "queries_per_s_of_qp1000_query", "elapsed_s_of_l_x"];
        assert_eq!(
            of(&[(i0, 0.5), (x, 1.2), (qp, 0.97)]).as_deref(),
            Some(
                "build moved 3 steps: l_i0_insert 0.50x, l_x takes 1.20x and qp1000_query -3.0% (from 10.11.5 to \
                 10.11.19)."
            )
        );
        // The average describes rates that all move the same way, and no step if none is shown.
        let i1 = "rows_per_s_of_l_i1_insert";
        assert_eq!(of(&[(i0, 0.5), (qp, 0.97), (i1, 0.9)]), None);
        assert!(of(&[(i0, 0.5), (qp, 1.03), (i1, 0.9)]).is_some());
        assert_eq!(of(&[]), None);
        let many: Vec<String> = (0..30).map(|number| format!("rows_per_s_of_step_{number}_insert")).collect();
        let many: Vec<(&str, f64)> = many.iter().map(|name| (name.as_str(), 0.8)).collect();
        let sentence = of(&many).unwrap();
        assert!(
            sentence.starts_with("build moved 30 steps: ") && sentence.contains(" more (from 10.11.5"),
            "{sentence}"
        );
    }
}
