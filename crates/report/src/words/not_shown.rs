//! First sentences where no difference is shown: each with the largest one and its interval, as far as there is room.

use super::find;
use super::terms::{first_that_fits, interval_of_change, interval_of_ratio, query, small_change};
use crate::figures::times;
use tare_findings::factors::{Extremes, Term, number_of};
use tare_findings::verdict::{Moved, MovedAlone, OfLoad, Verdict};
use tare_text::list;

/// That no factor is shown to have an effect, with the largest effect.
pub(super) fn moved(what: &str, terms: &[Term], largest: Option<&Moved>, alone: &[MovedAlone]) -> String {
    let names: Vec<String> = terms.iter().map(ToString::to_string).collect();
    let lead = match names.as_slice() {
        [one] => format!("{one} is not shown to move {what}"),
        [one, other] => format!("Neither {one} nor {other} is shown to move {what}"),
        all => format!("None of {} is shown to move {what}", list(all)),
    };
    let short = format!("None of the {} factors is shown to move {what}", number_of(terms));
    let figures = largest.and_then(|effect| {
        let figures = undecided(&Extremes { ratio: effect.ratio, ci: effect.ci })?;
        let sides = format!("{} against {}: {figures}", effect.high, effect.low);
        Some(match terms {
            [_] => [sides, figures],
            _ => [format!("largest {}, {sides}", effect.term), format!("largest {}: {figures}", effect.term)],
        })
    });
    let with = |lead: &String| figures.iter().flatten().map(|own| format!("{lead} ({own})")).collect::<Vec<_>>();
    denied(&[with(&lead), with(&short), vec![lead, short]].concat(), alone)
}

/// That no condition differs from another; `ends` are the extreme means.
pub(super) fn ranked(
    what: &str,
    between: &str,
    ends: Option<String>,
    extremes: Option<&Extremes>,
    alone: &[MovedAlone],
) -> String {
    let lead = format!("No difference of {what} is shown between {between}");
    let figures = extremes.and_then(undecided);
    let both = ends.iter().zip(&figures).map(|(ends, figures)| format!("{ends}: {figures}"));
    let all = both.chain(figures.clone()).chain(ends.clone()).map(|aside| format!("{lead} ({aside})"));
    denied(&all.chain([lead.clone()]).collect::<Vec<_>>(), alone)
}

/// That no level is better than another; `lead` says so.
pub(super) fn ranked_levels(lead: &str, what: &str, extremes: Option<&Extremes>, alone: &[MovedAlone]) -> String {
    let figures = extremes.and_then(undecided).map(|figures| format!("{lead} ({what}: {figures})"));
    denied(&figures.into_iter().chain([lead.to_owned()]).collect::<Vec<_>>(), alone)
}

/// The largest difference under any of several loads, none of which is shown.
pub(super) fn largest_of(loads: &[OfLoad]) -> Option<String> {
    let of = |own: &'_ OfLoad| match &own.verdict {
        Verdict::NotMoved { largest, .. } => {
            let Moved { high, low, ratio, ci, .. } = largest.as_ref()?;
            Some((format!("on {}, {high} against {low}", own.load), Extremes { ratio: *ratio, ci: *ci }))
        }
        Verdict::NotRanked { extremes, .. } | Verdict::NotRankedLevels { extremes, .. } => {
            Some((format!("on {}", own.load), (*extremes)?))
        }
        // Shown on its own, but not with all loads.
        _ => None,
    };
    let all = loads.iter().map(of).collect::<Option<Vec<_>>>()?;
    let size = |extremes: &Extremes| extremes.ratio.ln().abs();
    let (of, extremes) = all.into_iter().max_by(|(_, a), (_, b)| size(a).total_cmp(&size(b)))?;
    Some(format!("{of}: {}", undecided(&extremes)?))
}

/// The ratio of means that are not shown to differ: with an interval that contains 1, because the claims of a study
/// share its errors, so that an interval without 1 is no contradiction but looks like one.
fn undecided(extremes: &Extremes) -> Option<String> {
    let ci = find::shown_interval(extremes.ci).filter(|ci| ci.contains(1.0))?;
    Some(match small_change(extremes.ratio) {
        Some(by) => format!("{by}, {}", interval_of_change(ci)),
        None => format!("{}, {}", times(extremes.ratio), interval_of_ratio(ci)),
    })
}

/// A sentence that no change is shown, with the single metrics that are exceptions: "; single metrics move: Q1 2.0x
/// and Q2 0.50x".
fn denied(sentences: &[String], alone: &[MovedAlone]) -> String {
    let named: Vec<String> = alone.iter().map(|one| format!("{} {}", query(&one.metric), times(one.ratio))).collect();
    let ends = match alone.len() {
        0 => vec![".".to_owned()],
        n => vec![format!("; single metrics move: {}.", list(&named)), format!("; {} single metrics move.", n)],
    };
    first_that_fits(ends.iter().flat_map(|end| sentences.iter().map(move |sentence| format!("{sentence}{end}"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::headline::headline;
    use tare_findings::factors::TermFactor;
    use tare_findings::verdict::{Measured, Range, Tested};
    use tare_results::unit::Unit;
    use tare_stats::Interval;
    use tare_stats::blocks::{Analysis, Spread};

    fn tested(count: usize, of: usize) -> Tested {
        Tested { count, of, analysis: Analysis { by_block: true, spread: Spread::Own, trials: 24, of: 24 } }
    }

    #[test]
    fn queries_that_cancel_are_named() {
        let term = |name: &str| Term(vec![TermFactor { factors: vec![name.to_owned()], level: None }]);
        let alone = |metric: &str, ratio| MovedAlone {
            metric: metric.to_owned(),
            by: Some(term("aslr")),
            high: "on".to_owned(),
            low: "off".to_owned(),
            ratio,
        };
        let moved = |alone: Vec<MovedAlone>| {
            let what = Measured { metric: "query_s_q1".to_owned(), metrics: 22, steps: None };
            let (terms, tested) = (vec![term("ahi"), term("aslr")], tested(2, 2));
            headline(&Verdict::NotMoved { what, terms, largest: None, tested, alone })
        };
        assert_eq!(
            moved(vec![alone("query_s_q1", 2.01), alone("query_s_q2", 0.5)]),
            "Neither ahi nor aslr is shown to move the 22 queries on average; single metrics move: Q1 2.0x and Q2 \
             0.50x."
        );
        let many = (1..=22).map(|n| alone(&format!("query_s_q{n}"), 2.0)).collect();
        assert!(moved(many).ends_with("on average; 22 single metrics move."));
        assert!(moved(Vec::new()).ends_with("move the 22 queries on average."));
    }

    #[test]
    fn a_sentence_without_a_difference_has_the_largest_one_and_its_interval() {
        let term = |name: &str| Term(vec![TermFactor { factors: vec![name.to_owned()], level: None }]);
        let effect = |low, high| Moved {
            term: term("aslr"),
            high: "on".to_owned(),
            low: "off".to_owned(),
            ratio: 1.01,
            ci: Some(Interval { low, high }),
            p_value: Some(0.2),
            shown: false,
        };
        let of = |names: &[&str], effect: Moved| {
            let terms: Vec<Term> = names.iter().map(|name| term(name)).collect();
            moved("throughput", &terms, Some(&effect), &[])
        };
        let one = of(&["aslr"], effect(0.99, 1.03));
        assert_eq!(one, "aslr is not shown to move throughput (on against off: +1.0%, 95% interval -1.0% to +3.0%).");
        let two = of(&["aslr", "ahi"], effect(0.99, 1.03));
        assert!(two.ends_with(" (largest aslr, on against off: +1.0%, 95% interval -1.0% to +3.0%)."), "{two}");
        // Shown on its own, but not with all claims of the study.
        assert_eq!(of(&["aslr"], effect(1.001, 1.02)), "aslr is not shown to move throughput.");
        let levels = ranked_levels("No p of 3 is better", "throughput", Some(&Extremes { ratio: 1.2, ci: None }), &[]);
        assert_eq!(levels, "No p of 3 is better.");
        let ci = Some(Interval { low: 0.9, high: 1.6 });
        let levels = ranked_levels("No p of 3 is better", "throughput", Some(&Extremes { ratio: 1.2, ci }), &[]);
        assert_eq!(levels, "No p of 3 is better (throughput: 1.20x, 95% interval 0.90x to 1.60x).");
    }

    /// The ratio is that of geometric means within blocks.
    #[test]
    fn means_that_do_not_divide_to_the_ratio_are_not_next_to_it() {
        let said = |low: f64, high: f64| {
            let what = Measured { metric: "tps".to_owned(), metrics: 1, steps: None };
            let ci = Some(Interval { low: 0.99, high: 1.02 });
            let extremes = Some(Extremes { ratio: 1.0059, ci });
            let range = Some(Range { low: ("a".to_owned(), low), high: ("b".to_owned(), high), unit: Unit::PerS });
            let (conditions, tested, alone) = (2, tested(1, 1), Vec::new());
            headline(&Verdict::NotRanked { what, conditions, extremes, range, fewest_trials: 9, tested, alone })
        };
        let lead = "No difference of throughput is shown between the 2 conditions";
        assert_eq!(said(997.0, 999.0), format!("{lead} (+0.59%, 95% interval -1.0% to +2.0%)."));
        assert_eq!(said(993.0, 999.0), format!("{lead} (993 to 999 /s: +0.59%, 95% interval -1.0% to +2.0%)."));
    }

    #[test]
    fn only_tested_differences_are_reported_as_not_shown() {
        let not_ranked = |count| {
            let what = Measured { metric: "tps".to_owned(), metrics: 1, steps: None };
            let (conditions, tested) = (600, tested(count, 179_700));
            let (extremes, range, alone) = (None, None, Vec::new());
            headline(&Verdict::NotRanked { what, conditions, extremes, range, fewest_trials: 9, tested, alone })
        };
        assert_eq!(not_ranked(179_700), "No difference of throughput is shown between the 600 conditions.");
        assert!(not_ranked(1_197).ends_with("between either extreme and another of the 600 conditions."));
    }
}
