//! A verdict as a sentence, from its own figures alone.

use super::sentence::Sentence;
use super::steadiness::many;
use super::terms::{modes, phrase, query};
use tare_findings::answer::spread_from as spread_source;
use tare_findings::figures::{count, figure, list, percent, times};
use tare_findings::level_words::words_of;
use tare_findings::summary::SpreadSources;
use tare_findings::verdict::{
    Alone, LessStep, LevelsOf, Measured, Moved, MovedAlone, Range, Ranked, SpreadFrom, Untested, Verdict,
};
use tare_results::schema::Levels;
use tare_stats::Interval;

/// The fewest trials of a condition from which anything is said without a caution.
const ENOUGH_TRIALS: usize = 5;
/// Names of a list that are written out; of one more than these there is no "1 more".
const LISTED_NAMES: usize = 4;
/// Steps that are written out; the rest are counted.
const LISTED_STEPS: usize = 3;

pub(super) fn sentence(verdict: &Verdict) -> Sentence {
    match verdict {
        Verdict::Untested(why) => untested(why),
        Verdict::Moved { what, first, rest, tested } => moved(what, first, rest, tested.count),
        Verdict::NotMoved { what, terms, alone, .. } => {
            let names: Vec<String> = terms.iter().map(ToString::to_string).collect();
            let what = format!("{}{}", measured(what), single_ones(alone));
            match names.as_slice() {
                [one] => Sentence::name(format!("{one} is not shown to move {what}.")),
                [one, other] => Sentence::ours(format!("Neither {one} nor {other} is shown to move {what}.")),
                all => Sentence::ours(format!("None of {} is shown to move {what}.", list(all))),
            }
        }
        Verdict::Ranked { what, factors, ranking, range, fewest_trials, .. } => {
            // Extreme means that are not shown to differ say nothing of what does.
            let range = range.as_ref().filter(|_| ranking.apart.is_none());
            let (ratio, from_to, few) = (ratio(ranking), from_to(range), few(*fewest_trials));
            let rest = format!(
                "moved {} {ratio}{from_to}; the best is {}, the worst {}{few}.",
                measured(what),
                end(&ranking.best, &ranking.best_ties),
                end(&ranking.worst, &ranking.worst_ties)
            );
            match factors.as_slice() {
                [] => Sentence::ours(format!("The choice of condition {rest}")),
                [one] => Sentence::name(format!("{one} alone {rest}")),
                several => Sentence::name(format!("{} together {rest}", list(several))),
            }
        }
        Verdict::NotRanked { what, conditions, range, fewest_trials, tested, alone } => {
            let between = match tested.count < tested.of {
                true => format!("either extreme and another of the {conditions} conditions"),
                false => format!("the {conditions} conditions"),
            };
            Sentence::ours(format!(
                "No difference of {} is shown between {between}{}{}{}.",
                measured(what),
                single_ones(alone),
                from_to(range.as_ref()),
                few(*fewest_trials)
            ))
        }
        Verdict::RankedLevels { what, of, ranking, .. } => ranked_levels(what, of, ranking),
        Verdict::NotRankedLevels { of, .. } => {
            let rest = format!("{} of {} is shown to be better than another.", of.factor, of.levels);
            Sentence::ours(match of.at {
                Some((over, most)) => format!("At {most} {over}, no {rest}"),
                None => format!("No {rest}"),
            })
        }
        Verdict::SpreadFrom(from) => spread_from(from),
        Verdict::Steps { less, ladders } => steps(less, *ladders),
    }
}

fn untested(why: &Untested) -> Sentence {
    Sentence::ours(match why {
        Untested::NoTrial => "No trial has been recorded yet.".to_owned(),
        Untested::NoneOk { attempts } => {
            format!("No trial gave a usable result: {} recorded, none of them ok.", count(*attempts, "attempt"))
        }
        Untested::NoValue => "No trial gave a usable result.".to_owned(),
        Untested::Alone(found) => alone(found),
        Untested::NotPositive { metric } => {
            return Sentence::name(format!("{} is not positive in every trial; the tables show it.", phrase(metric)));
        }
        Untested::SingleTrial { metric, range } => format!(
            "One trial a condition cannot tell a difference of {} from luck: {}. Run at least two, better ten.",
            phrase(metric),
            range.as_ref().map_or_else(String::new, extremes)
        ),
        Untested::NotRankable => "The conditions cannot be ranked.".to_owned(),
        Untested::NoSpreadSources => {
            "What makes trials differ cannot be answered here: too few trials of every combination of the factors."
                .to_owned()
        }
        Untested::TooFewRungs { unrealizable, instead } => {
            let cannot = match unrealizable {
                0 => String::new(),
                n => format!(", for this machine cannot do {}", count(*n, "condition")),
            };
            format!(
                "Whether more nodes or threads help cannot be answered here: fewer than three numbers of either were \
                 measured{cannot}. {}",
                sentence(instead).alone()
            )
        }
        Untested::NoSteps => "Whether more help cannot be answered here: one trial a rung shows no step.".to_owned(),
    })
}

fn alone(found: &Alone) -> String {
    let called = if found.condition.is_empty() { "the only condition" } else { &found.condition };
    let (metric, estimate) = (phrase(&found.metric), &found.estimate);
    if !found.modes.is_empty() {
        return format!(
            "Only {called} was measured, and its {metric} has {} modes: {}. There is nothing to compare it with.",
            found.modes.len(),
            modes(&found.modes, estimate.unit)
        );
    }
    let interval = match estimate.ci {
        Some(ci) => format!(
            " (95% interval {} to {} over {})",
            figure(ci.low, estimate.unit),
            figure(ci.high, estimate.unit),
            count(estimate.trials, "trial")
        ),
        None => " in a single trial, which cannot say how much of that is luck".to_owned(),
    };
    let mean = figure(estimate.mean, estimate.unit);
    format!("Only {called} was measured: {metric} {mean}{interval}. There is nothing to compare it with.")
}

/// "throughput", or "the 22 queries on average".
fn measured(what: &Measured) -> String {
    match what.metrics {
        1 => phrase(&what.metric),
        metrics => format!("the {} on average", many(metrics, &what.metric)),
    }
}

fn moved(what: &Measured, first: &Moved, rest: &[Moved], tested: usize) -> Sentence {
    let interval = interval(first.ci);
    let others = if tested > 1 { ", averaged over the other factors" } else { "" };
    let lead = format!(
        "{} moved {} {} ({} against {}{}{others})",
        first.term,
        measured(what),
        times(first.ratio),
        first.high,
        first.low,
        interval.map_or_else(String::new, |interval| format!(", {interval}")),
    );
    let rest = match (rest, tested) {
        ([], 1) => String::new(),
        ([], _) => "; no other factor is shown to".to_owned(),
        (rest, _) => {
            let words = rest.iter().map(|effect| format!("{} {}", effect.term, times(effect.ratio))).collect();
            format!("; after it {}", listed(words))
        }
    };
    Sentence::name(format!("{lead}{rest}."))
}

fn ranked_levels(what: &Measured, of: &LevelsOf, ranking: &Ranked) -> Sentence {
    let tied = match ranking.best_ties.as_slice() {
        [] => "differs from all others".to_owned(),
        ties if ties.len() <= LISTED_NAMES => format!("not distinguishable from {}", list(ties)),
        ties => format!("not distinguishable from {} others", ties.len()),
    };
    let said = format!(
        "{} is the best {} of {} ({tied}) and {} the worst: {} differs {}.",
        ranking.best,
        of.factor,
        of.levels,
        ranking.worst,
        measured(what),
        ratio(ranking)
    );
    match of.at {
        Some((over, most)) => Sentence::ours(format!("At {most} {over}, {said}")),
        None => Sentence::name(said),
    }
}

/// Where the spread between trials comes from, as a sentence of its own.
pub fn spread<'l>(sources: &SpreadSources, levels: impl Iterator<Item = &'l Levels> + Clone) -> String {
    spread_from(&spread_source(sources, levels)).alone()
}

/// "aslr (on rather than off) accounts for 61% of the variance between trials, ahi (on rather than off) for 12%;
/// unexplained 27%."
fn spread_from(from: &SpreadFrom) -> Sentence {
    let shown: Vec<String> = from
        .sources
        .iter()
        .enumerate()
        .map(|(place, source)| {
            // Of many levels the share is that of the trials at these two.
            let of = if source.levels > 2 { "of these two, " } else { "" };
            let who = format!("{} ({of}{} rather than {})", source.factor, source.noisy_level, source.quiet_level);
            let share = percent(source.share);
            match place {
                0 => format!("{who} accounts for {share} of the variance between trials"),
                _ => format!("{who} for {share}"),
            }
        })
        .collect();
    match shown.is_empty() {
        true => Sentence::ours("No factor is shown to make trials vary more."),
        false => Sentence::name(format!("{}; unexplained {}.", shown.join(", "), percent(from.unexplained))),
    }
}

fn steps(less: &[LessStep], ladders: usize) -> Sentence {
    if less.is_empty() {
        let ladders = if ladders == 1 { "the ladder".to_owned() } else { count(ladders, "ladder") };
        return Sentence::ours(format!("On no step of {ladders} is more shown to give less."));
    }
    let more = match less.len().saturating_sub(LISTED_STEPS) {
        0 => String::new(),
        n => format!("; and {} more", count(n, "step")),
    };
    let words = |step: &LessStep| {
        let at = if step.levels.is_empty() { String::new() } else { format!(" at {}", words_of(&step.levels)) };
        let interval = interval(step.ci).map_or_else(String::new, |interval| format!(" ({interval})"));
        format!("{} -> {} {} gave {}{interval}{at}", step.from, step.to, step.over, times(step.ratio))
    };
    let listed: Vec<String> = less.iter().take(LISTED_STEPS).map(words).collect();
    Sentence::ours(format!("More stops helping: {}{more}.", listed.join("; ")))
}

fn interval(ci: Option<Interval>) -> Option<String> {
    ci.map(|ci| format!("95% interval {} to {}", times(ci.low), times(ci.high)))
}

/// "5.1x, 95% interval 4.9x to 5.2x for all pairs together": the larger over the smaller, of the best and the worst or
/// else by name.
fn ratio(ranking: &Ranked) -> String {
    let apart =
        ranking.apart.as_ref().map_or_else(String::new, |apart| format!(" ({} against {})", apart.high, apart.low));
    let interval = interval(ranking.ci).map_or_else(String::new, |words| format!(", {words} for all pairs together"));
    format!("{}{apart}{interval}", times(ranking.ratio))
}

/// "; single ones move: Q1 2.0x and Q2 0.50x (aslr on against off)".
fn single_ones(alone: &[MovedAlone]) -> String {
    let why = |one: &MovedAlone| match &one.by {
        Some(factor) => format!(" ({factor} {} against {})", one.high, one.low),
        None => format!(" ({} against {})", one.high, one.low),
    };
    let together = alone.windows(2).all(|two| why(&two[0]) == why(&two[1]));
    let words = |one: &MovedAlone| {
        let why = if together { String::new() } else { why(one) };
        format!("{} {}{why}", query(&one.metric), times(one.ratio))
    };
    match alone.first() {
        None => String::new(),
        Some(first) => {
            let shared = if together { why(first) } else { String::new() };
            format!("; single ones move: {}{shared}", listed(alone.iter().map(words).collect()))
        }
    }
}

fn from_to(range: Option<&Range>) -> String {
    range.map_or_else(String::new, |range| format!(": {}", extremes(range)))
}

/// "from 13 k/s at a to 65 k/s at b".
fn extremes(range: &Range) -> String {
    let at = |(condition, mean): &(String, f64)| format!("{} at {condition}", figure(*mean, range.unit));
    format!("from {} to {}", at(&range.low), at(&range.high))
}

fn few(trials: usize) -> String {
    match trials < ENOUGH_TRIALS {
        true => format!("; {} a condition are few, repeat before relying on it", count(trials, "trial")),
        false => String::new(),
    }
}

/// A condition at the end of a ranking, and which others it may be.
fn end(name: &str, ties: &[String]) -> String {
    match ties.is_empty() {
        true => format!("{name} (differs from all others)"),
        false => format!("{name} (not distinguishable from {})", listed(ties.to_vec())),
    }
}

/// The first few of a long list and how many more, for the table has them all.
fn listed(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(LISTED_NAMES);
    if more > 1 {
        names.truncate(LISTED_NAMES);
        names.push(format!("{more} more"));
    }
    list(&names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_findings::term::{Term, TermFactor};
    use tare_findings::verdict::{Apart, Tested};
    use tare_stats::blocks::{Analysis, Spread};

    fn tested(count: usize, of: usize) -> Tested {
        Tested { count, of, analysis: Analysis { by_block: true, spread: Spread::Own, trials: 24, of: 24 } }
    }

    fn queries() -> Measured {
        Measured { metric: "query_s_q1".to_owned(), metrics: 22 }
    }

    fn alone(metric: &str, by: Option<&str>, ratio: f64) -> MovedAlone {
        let factor = |name: &str| Term(vec![TermFactor { factors: vec![name.to_owned()], level: None }]);
        let (high, low) = ("on".to_owned(), "off".to_owned());
        MovedAlone { metric: metric.to_owned(), by: by.map(factor), high, low, ratio }
    }

    #[test]
    fn queries_that_cancel_are_named() {
        let term = |name: &str| Term(vec![TermFactor { factors: vec![name.to_owned()], level: None }]);
        let moved = |alone: Vec<MovedAlone>| {
            let terms = vec![term("ahi"), term("aslr")];
            sentence(&Verdict::NotMoved { what: queries(), terms, tested: tested(2, 2), alone }).alone()
        };
        let both = vec![alone("query_s_q1", Some("aslr"), 2.01), alone("query_s_q2", Some("aslr"), 0.5)];
        assert_eq!(
            moved(both),
            "Neither ahi nor aslr is shown to move the 22 queries on average; single ones move: Q1 2.0x and Q2 0.50x \
             (aslr on against off)."
        );
        let several = vec![alone("query_s_q1", Some("aslr"), 2.01), alone("query_s_q2", Some("ahi"), 0.5)];
        assert!(moved(several).ends_with("Q1 2.0x (aslr on against off) and Q2 0.50x (ahi on against off)."));
        assert!(moved(Vec::new()).ends_with("move the 22 queries on average."));
    }

    #[test]
    fn only_what_was_tested_is_denied() {
        let not_ranked = |count| {
            let what = Measured { metric: "tps".to_owned(), metrics: 1 };
            let (conditions, tested) = (600, tested(count, 179_700));
            let none =
                Verdict::NotRanked { what, conditions, range: None, fewest_trials: 9, tested, alone: Vec::new() };
            sentence(&none).alone()
        };
        assert_eq!(not_ranked(179_700), "No difference of throughput is shown between the 600 conditions.");
        assert!(not_ranked(1_197).ends_with("between either extreme and another of the 600 conditions."));
    }

    #[test]
    fn a_pair_that_differs_is_named_where_the_extremes_do_not() {
        let apart = Some(Apart { high: "p=b".to_owned(), low: "p=a".to_owned() });
        let name = |name: &str| name.to_owned();
        let ranking = Ranked {
            best: name("p=noisy"),
            best_ties: vec![name("p=a"), name("p=b")],
            worst: name("p=a"),
            worst_ties: vec![name("p=noisy")],
            apart,
            ratio: 1.1,
            ci: Some(Interval { low: 1.05, high: 1.15 }),
            differing: 1,
            p_value: 0.001,
        };
        let range = Some(Range { low: (name("p=a"), 1.0), high: (name("p=noisy"), 2.0), unit: "1/s" });
        let what = Measured { metric: name("tps"), metrics: 1 };
        let (factors, tested) = (vec![name("p")], tested(3, 3));
        let found = Verdict::Ranked { what, factors, ranking, range, fewest_trials: 9, tested };
        assert_eq!(
            sentence(&found).alone(),
            "p alone moved throughput 1.10x (p=b against p=a), 95% interval 1.05x to 1.15x for all pairs together; the \
             best is p=noisy (not distinguishable from p=a and p=b), the worst p=a (not distinguishable from p=noisy)."
        );
    }
}
