//! The first sentence: at most 25 words, without the intervals, exceptions and ties, which follow below it.

use super::terms::{
    first_that_fits, interval_of_change, interval_of_ratio, joined, level_of, measured, phrase, small_change,
};
use super::{by_load, find, load_steps, not_shown};
use crate::figures::{Scale, divide_as_printed, figure, times};
use tare_findings::factors::number_of;
use tare_findings::load_steps::StepMean;
use tare_findings::spread::ByChance;
use tare_findings::verdict::{Alone, Apart, LevelsOf, Measured, Moved, Range, Ranked, Untested, Verdict};
use tare_results::steps::step;
use tare_results::unit::Unit;
use tare_stats::Interval;
use tare_text::{count, percent, was};

/// The unit of rates.
const RATE: Unit = Unit::PerS;

pub(super) fn headline(verdict: &Verdict) -> String {
    load_steps::moved(verdict).unwrap_or_else(|| of_all(verdict))
}

/// The first sentence, of all metrics together.
pub(super) fn of_all(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Untested(why) => nothing_tested(why),
        Verdict::Moved { what, first, rest, .. } => {
            let all = number_of(rest.iter().chain([first]).map(|effect| &effect.term));
            moved(what, first, all.saturating_sub(1))
        }
        Verdict::NotMoved { what, terms, largest, alone, .. } => {
            not_shown::moved(&measured(what), terms, largest.as_ref(), alone)
        }
        Verdict::Ranked { what, factors, by, ranking, range, .. } => {
            ranked(what, factors, by.as_deref(), ranking, range.as_ref())
        }
        Verdict::NotRanked { what, conditions, extremes, range, tested, alone, .. } => {
            let between = match tested.count < tested.of {
                true => format!("either extreme and another of the {conditions} conditions"),
                false => format!("the {conditions} conditions"),
            };
            // Means that do not divide to the ratio next to them would contradict it.
            let fits = |range: &&Range| {
                let [high, low] = [range.high.1, range.low.1];
                extremes.as_ref().is_none_or(|found| divide_as_printed([high, low], range.unit, found.ratio))
            };
            let ends = range.as_ref().filter(fits).map(|range| joined(&[range.low.1, range.high.1], "to", range.unit));
            not_shown::ranked(&measured(what), &between, ends, extremes.as_ref(), alone)
        }
        Verdict::Raced(race) => find::sentence(race),
        Verdict::RankedLevels { what, of, ranking, .. } => ranked_levels(what, of, ranking),
        Verdict::NotRankedLevels { what, of, extremes, alone, .. } => {
            let rest = format!("{} of {} is shown to be better than another", of.factor, of.levels);
            let lead = at_most(of, |capital| format!("{} {rest}", if capital { "No" } else { "no" }));
            not_shown::ranked_levels(&lead, &measured(what), extremes.as_ref(), alone)
        }
        Verdict::SpreadFrom(from) => {
            let lead = from.by_chance.as_ref().map(by_chance);
            let Some(source) = from.sources.first() else {
                let none = "no factor is shown to make trials vary more";
                return first_that_fits(
                    lead.map(|(long, _)| format!("{long}; {none}."))
                        .into_iter()
                        .chain(["No factor is shown to make trials vary more.".to_owned()]),
                );
            };
            let share = percent(source.share);
            let why = format!("{} accounts for {share} of the variance", source.factor);
            let of_lead = lead.iter().flat_map(|(long, short)| [format!("{long}; {why}."), format!("{short}; {why}.")]);
            let own = [format!("{why} between trials."), format!("One factor accounts for {share} of the variance.")];
            first_that_fits(of_lead.chain(own))
        }
        Verdict::Steps { less, ladders, pooled } => by_load::headline_of_steps(less, *ladders, pooled),
        Verdict::ByLoad(loads) => first_that_fits(by_load::headlines_by_load(loads)),
    }
}

fn nothing_tested(why: &Untested) -> String {
    match why {
        Untested::NoTrial => "No trial has been recorded yet.".to_owned(),
        Untested::NoneOk { attempts, disturbed: 0 } => {
            format!("No trial gave a usable result: {} recorded, none of them ok.", count(*attempts, "attempt"))
        }
        Untested::NoneOk { attempts, disturbed } => format!(
            "No trial counts yet: {disturbed} of {} {} disturbed; resuming repeats them.",
            count(*attempts, "attempt"),
            was(*disturbed)
        ),
        Untested::NoValue => "No trial gave a usable result.".to_owned(),
        Untested::Alone(found) => alone(found),
        Untested::StepsAlone { steps } => steps_alone(steps),
        Untested::LoadsAlone { loads, metric, range } => {
            let lead = format!("{loads} loads were measured, with no builds or options to compare");
            let ends = range.as_ref().map(|Range { low, high, unit }| {
                let [low, high] = [low, high].map(|(load, mean)| format!("{} ({load})", figure(*mean, *unit)));
                format!("{lead}: {} {low} to {high}.", phrase(metric))
            });
            first_that_fits(ends.into_iter().chain([format!("{lead}.")]))
        }
        Untested::NotPositive { metric } => first_that_fits([
            format!("{} is not positive in every trial; the tables show it.", phrase(metric)),
            "A metric is not positive in every trial; the tables show it.".to_owned(),
        ]),
        Untested::Lacking { metric } => first_that_fits([
            format!("More than a third of the trials of a condition have no {}; the tables show it.", phrase(metric)),
            "More than a third of the trials of a condition lack a metric; the tables show it.".to_owned(),
        ]),
        Untested::SingleTrial { metric, .. } => {
            let what = if step(metric).is_some() { "any step".to_owned() } else { phrase(metric) };
            first_that_fits([
                format!(
                    "One trial per condition cannot distinguish a difference of {what} from luck: run at least three."
                ),
                "One trial per condition cannot distinguish a difference from luck: run at least three.".to_owned(),
            ])
        }
        Untested::NotRankable => "The conditions cannot be ranked.".to_owned(),
        Untested::NoSpreadSources => {
            "Causes of the spread cannot be assessed: too few trials of every combination of the factors.".to_owned()
        }
        Untested::SpreadRounded { metric } => first_that_fits([
            format!(
                "Causes of the spread cannot be assessed: trials vary by no more than the rounding of {} hides.",
                phrase(metric)
            ),
            "Causes of the spread cannot be assessed: trials vary by no more than rounding hides.".to_owned(),
        ]),
        Untested::TooFewRungs { .. } => {
            "Scaling cannot be assessed: fewer than three numbers of nodes or threads were measured.".to_owned()
        }
        Untested::NoSteps => "Scaling cannot be assessed: one trial per rung shows no step.".to_owned(),
    }
}

fn alone(found: &Alone) -> String {
    let (metric, estimate) = (phrase(&found.metric), &found.estimate);
    let either = match found.range {
        Some((least, most)) if found.modes.is_empty() => Some(joined(&[least, most], "to", estimate.unit)),
        _ if found.modes.is_empty() => None,
        _ => Some(joined(&found.modes.iter().map(|mode| mode.mean).collect::<Vec<_>>(), "or", estimate.unit)),
    };
    if let Some(either) = either {
        return first_that_fits([
            format!("Unchanged settings gave {metric} of {either} by chance."),
            format!("Unchanged settings gave {either} by chance."),
        ]);
    }
    let called = if found.condition.is_empty() { "the only condition" } else { &found.condition };
    let mean = figure(estimate.mean, estimate.unit);
    let over = match estimate.trials {
        1 => "a single trial".to_owned(),
        trials => format!("mean of {trials} trials"),
    };
    first_that_fits([
        format!("Only {called} was measured: {metric} {mean} ({over})."),
        format!("One condition was measured: {metric} {mean} ({over})."),
        format!("One condition was measured: {mean}."),
    ])
}

/// The usual line of such a load: "10 steps, in k/s: l_i0 123.5, qr100 11.2; l_x 12.3 s."
fn steps_alone(steps: &[StepMean]) -> String {
    let (rates, times): (Vec<&StepMean>, Vec<&StepMean>) = steps.iter().partition(|one| one.unit == RATE);
    let scale = Scale::new(RATE, rates.iter().map(|one| one.mean).fold(0.0, f64::max), 4);
    let named: Vec<String> = rates.iter().map(|one| format!("{} {}", one.step, scale.value(one.mean))).collect();
    let timed = times.iter().map(|one| format!("; {} {}", one.step, figure(one.mean, one.unit))).collect::<String>();
    let (all, were) = (count(steps.len(), "step"), was(steps.len()));
    let line = (!named.is_empty()).then(|| format!("{all}, in {}: {}{timed}.", scale.unit, named.join(", ")));
    first_that_fits(line.into_iter().chain([format!("{all} {were} measured, with no builds or options to compare.")]))
}

fn moved(what: &Measured, first: &Moved, others: usize) -> String {
    let what = measured(what);
    let more = match others {
        0 => String::new(),
        n => format!("; {} moved it too", count(n, "other factor")),
    };
    if let Some(by) = small_change(first.ratio) {
        return changed(&first.term.to_string(), &what, &by, (&first.low, &first.high), first.ci, &more);
    }
    let ratio = times(first.ratio);
    let sides = format!("{} against {}", first.high, first.low);
    let interval = interval(first.ci);
    let term = &first.term;
    first_that_fits([
        format!("{term} moved {what} {ratio} ({sides}{interval}){more}."),
        format!("{term} moved {what} {ratio} ({sides}){more}."),
        format!("{term} moved {what} {ratio}{more}."),
        format!("One factor moved {what} {ratio}."),
    ])
}

/// A change near 1 in percent, from the first level to the second: as a ratio with two digits it would be lost.
fn changed(who: &str, what: &str, by: &str, (from, to): (&str, &str), ci: Option<Interval>, more: &str) -> String {
    let interval = ci.map_or_else(String::new, |ci| format!(", {}", interval_of_change(ci)));
    first_that_fits([
        format!("{who} moved {what} by {by} (from {from} to {to}{interval}){more}."),
        format!("{who} moved {what} by {by} (from {from} to {to}){more}."),
        format!("{who} moved {what} by {by}{more}."),
        format!("One factor moved {what} by {by}."),
    ])
}

fn ranked(what: &Measured, factors: &[String], by: Option<&str>, ranking: &Ranked, range: Option<&Range>) -> String {
    let what = measured(what);
    if let (Some(second), [factor]) = (&ranking.second, factors)
        && let Some(by) = small_change(second.ratio)
    {
        let ends = (level_of(&second.from, factors), level_of(&second.to, factors));
        return changed(factor, &what, &by, ends, second.ci, "");
    }
    let ratio = times(ranking.ratio);
    let conditions = format!("The conditions differ {ratio} in {what}");
    // Which of several factors makes the difference is not tested here.
    let lead = by.map_or_else(|| conditions.clone(), |factor| format!("{factor} moved {what} {ratio}"));
    let (best, worst) = (level_of(&ranking.best, factors), level_of(&ranking.worst, factors));
    let ends = range.filter(|range| divides(range, ranking)).and_then(|range| {
        let value =
            |name: &str| [&range.low, &range.high].into_iter().find(|(of, _)| of == name).map(|(_, mean)| *mean);
        let (of_best, of_worst) = (value(&ranking.best)?, value(&ranking.worst)?);
        let scale = Scale::new(range.unit, of_best.abs().max(of_worst.abs()), 3);
        let [of_best, of_worst] = [of_best, of_worst].map(|mean| scale.value_in_unit(mean));
        Some(format!("{of_best} at {best}, {of_worst} at {worst}"))
    });
    // Extreme means that are not shown to differ do not say which conditions differ.
    let ends = match &ranking.apart {
        Some(apart) => format!("{} against {}", level_of(&apart.high, factors), level_of(&apart.low, factors)),
        None => ends.unwrap_or_else(|| {
            let (of_best, of_worst) = (end(&ranking.best_ties, "best"), end(&ranking.worst_ties, "worst"));
            format!("{best} is {of_best}, {worst} {of_worst}")
        }),
    };
    first_that_fits([
        format!("{lead}: {ends}."),
        format!("{conditions}: {ends}."),
        format!("{lead}."),
        format!("{conditions}."),
    ])
}

/// Whether the extreme means divide to the ratio, all as they are printed. The ratio is that of geometric means within
/// blocks, so they need not if trials are missing and the machine drifts, or trials vary much; nor if both are rounded.
pub(super) fn divides(range: &Range, ranking: &Ranked) -> bool {
    divide_as_printed([range.high.1, range.low.1], range.unit, ranking.ratio)
}

/// A condition is not the only best or worst one if it is not distinguishable from others.
fn end(ties: &[String], which: &str) -> String {
    if ties.is_empty() { format!("the {which}") } else { format!("among the {which}") }
}

fn ranked_levels(what: &Measured, of: &LevelsOf, ranking: &Ranked) -> String {
    let (what, ratio) = (measured(what), times(ranking.ratio));
    let (factor, levels, best, worst) = (&of.factor, of.levels, &ranking.best, &ranking.worst);
    let (of_best, of_worst) = (end(&ranking.best_ties, "best"), end(&ranking.worst_ties, "worst"));
    let named = match &ranking.apart {
        Some(Apart { high, low }) => {
            vec![at_most(of, |_| format!("{factor} moved {what} {ratio}: {high} against {low}."))]
        }
        None => vec![
            at_most(of, |_| {
                format!("{best} is {of_best} {factor} of {levels}, {worst} {of_worst}: {what} differs {ratio}.")
            }),
            format!("{best} is {of_best} of {levels}: {what} differs {ratio}."),
        ],
    };
    first_that_fits(named.into_iter().chain([format!("The {levels} levels differ {ratio} in {what}.")]))
}

/// The result at the largest number of threads or nodes; the argument of `rest` says whether it begins the sentence.
fn at_most(of: &LevelsOf, rest: impl Fn(bool) -> String) -> String {
    match of.at {
        Some((over, most)) => format!("At {most} {over}, {}", rest(false)),
        None => rest(true),
    }
}

/// The sentence with and without the name of the condition.
fn by_chance(found: &ByChance) -> (String, String) {
    let what = joined(&found.means, if found.are_modes { "or" } else { "to" }, found.unit);
    let short = format!("Unchanged settings gave {what} by chance");
    (format!("{short} at {}", found.condition), short)
}

fn interval(ci: Option<Interval>) -> String {
    ci.map_or_else(String::new, |ci| format!(", {}", interval_of_ratio(ci)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_findings::factors::{Second, Term, TermFactor};
    use tare_findings::verdict::{MovedAlone, Tested};
    use tare_stats::blocks::{Analysis, Spread};

    fn tested(count: usize, of: usize) -> Tested {
        Tested { count, of, analysis: Analysis { by_block: true, spread: Spread::Own, trials: 24, of: 24 } }
    }

    #[test]
    fn levels_of_one_factor_are_one_factor() {
        let term = |factor: &str, level: &str| {
            Term(vec![TermFactor { factors: vec![factor.to_owned()], level: Some(level.to_owned()) }])
        };
        let effect = |factor: &str, level: &str, ratio| Moved {
            term: term(factor, level),
            high: level.to_owned(),
            low: "a".to_owned(),
            ratio,
            ci: None,
            p_value: None,
            shown: true,
        };
        let what = || Measured { metric: "tps".to_owned(), metrics: 1, steps: None };
        let moved = |rest: &[&str]| {
            let rest = rest.iter().map(|factor| effect(factor, "c", 1.5)).collect();
            headline(&Verdict::Moved {
                what: what(),
                first: effect("placement", "b", 2.0),
                rest,
                tested: tested(5, 5),
                alone: Vec::new(),
            })
        };
        assert_eq!(moved(&["placement"]), "placement=b moved throughput 2.0x (b against a).");
        assert!(moved(&["placement", "memory"]).ends_with("; 1 other factor moved it too."));
        let terms = (0..30).map(|level| term(["placement", "memory"][level % 2], &level.to_string())).collect();
        let none = headline(&Verdict::NotMoved {
            what: what(),
            terms,
            largest: None,
            tested: tested(30, 30),
            alone: Vec::new(),
        });
        assert_eq!(none, "None of the 2 factors is shown to move throughput.");
    }

    #[test]
    fn a_run_that_was_stopped_while_it_repeated_its_only_trial_says_so() {
        let none = |disturbed| headline(&Verdict::Untested(Untested::NoneOk { attempts: 2, disturbed }));
        assert_eq!(none(0), "No trial gave a usable result: 2 attempts recorded, none of them ok.");
        assert_eq!(none(1), "No trial counts yet: 1 of 2 attempts was disturbed; resuming repeats them.");
    }

    #[test]
    fn a_change_near_1_is_reported_in_percent_from_the_first_level_to_the_second() {
        let name = |name: &str| name.to_owned();
        let ranking = |ratio: f64, low: f64, high: f64| Ranked {
            second: Some(Second {
                from: name("build=17.6"),
                to: name("build=18.1"),
                ratio,
                ci: Some(Interval { low, high }),
            }),
            best: name("build=17.6"),
            best_ties: Vec::new(),
            worst: name("build=18.1"),
            worst_ties: Vec::new(),
            apart: None,
            ratio: 1.0 / ratio,
            ci: Some(Interval { low: 1.0 / high, high: 1.0 / low }),
            differing: 1,
            p_value: 0.001,
        };
        let message = |ranking| {
            let what = Measured { metric: name("tps"), metrics: 1, steps: None };
            let (factors, tested) = (vec![name("build")], tested(1, 1));
            let by = Some(name("build"));
            let (range, alone) = (None, Vec::new());
            headline(&Verdict::Ranked { what, factors, by, ranking, range, fewest_trials: 9, tested, alone })
        };
        assert_eq!(
            message(ranking(0.971, 0.968, 0.974)),
            "build moved throughput by -2.9% (from build=17.6 to build=18.1, 95% interval -3.2% to -2.6%)."
        );
        assert_eq!(
            message(ranking(0.5, 0.4, 0.6)),
            "build moved throughput 2.0x: build=17.6 is the best, build=18.1 the worst."
        );
    }

    #[test]
    fn a_load_in_steps_has_its_usual_line_or_the_number_of_its_steps() {
        let step = |(step, mean): (&str, f64)| {
            let unit = if step == "l_x" { Unit::S } else { RATE };
            StepMean { step: step.to_owned(), mean, unit }
        };
        let measured = [("l_i0", 123_456.0), ("l_x", 12.34), ("l_i1", 50_100.0), ("l_i2", 20_000.0)];
        let queries = ["qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000"];
        let queries = queries.into_iter().enumerate().map(|(at, step)| (step, 11_234.0 - 100.0 * at as f64));
        let alone = |steps: Vec<StepMean>| headline(&Verdict::Untested(Untested::StepsAlone { steps }));
        let line = alone(measured.into_iter().chain(queries).map(step).collect());
        let expected = "10 steps, in k/s: l_i0 123.5, l_i1 50.1, l_i2 20.0, qr100 11.2, qp100 11.1, qr500 11.0, qp500 \
                        10.9, qr1000 10.8, qp1000 10.7; l_x 12.3 s.";
        assert_eq!(line, expected);
        assert!(line.split(' ').count() <= 25);
        let many = (0..40).map(|number| step((&format!("step_{number}"), 1000.0))).collect();
        assert_eq!(alone(many), "40 steps were measured, with no builds or options to compare.");
        let metric = "queries_per_s_of_qp1000_query".to_owned();
        let single = headline(&Verdict::Untested(Untested::SingleTrial { metric: metric.clone(), range: None }));
        assert!(single.starts_with("One trial per condition cannot distinguish a difference of any step from luck"));
        let what = Measured { metric, metrics: 11, steps: Some(9) };
        let alone = vec![MovedAlone {
            metric: "rows_per_s_of_l_i0_insert".to_owned(),
            by: None,
            high: "b".to_owned(),
            low: "a".to_owned(),
            ratio: 0.9,
        }];
        let none = Verdict::NotMoved { what, terms: Vec::new(), largest: None, tested: tested(1, 1), alone };
        let expected = "is shown to move the rates of 9 steps on average; single metrics move: l_i0_insert 0.90x.";
        assert!(headline(&none).ends_with(expected), "{}", headline(&none));
    }

    #[test]
    fn a_pair_that_differs_is_named_where_the_extremes_do_not() {
        let name = |name: &str| name.to_owned();
        let ranking = Ranked {
            second: None,
            best: name("p=noisy"),
            best_ties: vec![name("p=a"), name("p=b")],
            worst: name("p=a"),
            worst_ties: vec![name("p=noisy")],
            apart: Some(Apart { high: name("p=b"), low: name("p=a") }),
            ratio: 1.1,
            ci: Some(Interval { low: 1.05, high: 1.15 }),
            differing: 1,
            p_value: 0.001,
        };
        let range = Some(Range { low: (name("p=a"), 1.0), high: (name("p=noisy"), 2.0), unit: Unit::PerS });
        let what = || Measured { metric: name("tps"), metrics: 1, steps: None };
        let of_all = |ranking: Ranked, range| {
            let (factors, by) = (vec![name("p")], Some(name("p")));
            headline(&Verdict::Ranked {
                what: what(),
                factors,
                by,
                ranking,
                range,
                fewest_trials: 9,
                tested: tested(3, 3),
                alone: Vec::new(),
            })
        };
        let of_levels = |ranking: Ranked| {
            let of = LevelsOf { factor: name("p"), levels: 3, at: Some(("nodes", 4.0)) };
            headline(&Verdict::RankedLevels { what: what(), of, ranking, tested: tested(3, 3) })
        };
        assert_eq!(of_all(ranking.clone(), range), "p moved throughput 1.10x: b against a.");
        assert_eq!(of_levels(ranking.clone()), "At 4 nodes, p moved throughput 1.10x: p=b against p=a.");
        // The extremes differ, but not from each of the others.
        let ends = Ranked { worst_ties: vec![name("p=b")], apart: None, ..ranking };
        let among = "p=noisy is among the best, p=a among the worst";
        assert_eq!(of_all(ends.clone(), None), format!("p moved throughput 1.10x: {}.", among.replace("p=", "")));
        let best = of_levels(ends.clone());
        assert!(best.contains(" is among the best p of 3, p=a among the worst: "), "{best}");
        let alone = of_levels(Ranked { best_ties: Vec::new(), worst_ties: Vec::new(), ..ends });
        assert!(alone.contains(" is the best p of 3, p=a the worst: "), "{alone}");
    }
}
