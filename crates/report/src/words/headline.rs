//! The first sentence: at most 25 words, without the intervals, exceptions and ties that stand below it.

use super::steadiness::many;
use super::terms::phrase;
use tare_findings::figures::{Scale, count, figure, list, percent, times};
use tare_findings::level_words::words_of;
use tare_findings::verdict::{Alone, ByChance, LessStep, LevelsOf, Measured, Moved, Range, Ranked, Untested, Verdict};
use tare_stats::Interval;

/// As many as a reader takes in at once.
pub(super) const MOST_WORDS: usize = 25;
/// Two lines of a terminal: a single word may be a whole command line.
const MOST_LETTERS: usize = 160;

/// The verdict in one sentence.
pub(super) fn headline(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Untested(why) => nothing_tested(why),
        Verdict::Moved { what, first, rest, .. } => moved(what, first, rest.len()),
        Verdict::NotMoved { what, terms } => {
            let names: Vec<String> = terms.iter().map(ToString::to_string).collect();
            let what = measured(what);
            let named = match names.as_slice() {
                [one] => format!("{one} is not shown to move {what}."),
                [one, other] => format!("Neither {one} nor {other} is shown to move {what}."),
                all => format!("None of {} is shown to move {what}.", list(all)),
            };
            first_that_fits([named, format!("None of the {} factors is shown to move {what}.", names.len())])
        }
        Verdict::Ranked { what, factors, ranking, range, .. } => ranked(what, factors, ranking, range.as_ref()),
        Verdict::NotRanked { what, conditions, range, .. } => {
            let lead = format!("No difference of {} is shown between the {conditions} conditions", measured(what));
            let spread = range.as_ref().map(|range| {
                let scale = Scale::new(range.unit, range.high.1, 3);
                format!("{lead} ({} to {}).", scale.number(range.low.1), scale.figure(range.high.1))
            });
            first_that_fits(spread.into_iter().chain([format!("{lead}.")]))
        }
        Verdict::RankedLevels { what, of, ranking } => ranked_levels(what, of, ranking),
        Verdict::NotRankedLevels(of) => {
            let rest = format!("{} of {} is shown to be better than another.", of.factor, of.levels);
            at_most(of, |capital| format!("{} {rest}", if capital { "No" } else { "no" }))
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
        Verdict::Steps { less, ladders } => steps(less, *ladders),
    }
}

/// "throughput", or "the 22 queries on average".
fn measured(what: &Measured) -> String {
    match what.metrics {
        1 => phrase(&what.metric),
        metrics => format!("the {} on average", many(metrics, &what.metric)),
    }
}

/// The first sentence that is short enough; else the last, which holds no name.
fn first_that_fits(sentences: impl IntoIterator<Item = String>) -> String {
    let mut last = String::new();
    for sentence in sentences {
        last = sentence;
        if last.split_whitespace().count() <= MOST_WORDS && last.chars().count() <= MOST_LETTERS {
            break;
        }
    }
    last
}

fn nothing_tested(why: &Untested) -> String {
    match why {
        Untested::NoTrial => "No trial has been recorded yet.".to_owned(),
        Untested::NoneOk { attempts } => {
            format!("No trial gave a usable result: {} recorded, none of them ok.", count(*attempts, "attempt"))
        }
        Untested::NoValue => "No trial gave a usable result.".to_owned(),
        Untested::Alone(found) => alone(found),
        Untested::NotPositive { metric } => first_that_fits([
            format!("{} is not positive in every trial; the tables show it.", phrase(metric)),
            "A metric is not positive in every trial; the tables show it.".to_owned(),
        ]),
        Untested::SingleTrial { metric, .. } => first_that_fits([
            format!(
                "One trial a condition cannot tell a difference of {} from luck: run at least two.",
                phrase(metric)
            ),
            "One trial a condition cannot tell a difference from luck: run at least two.".to_owned(),
        ]),
        Untested::NotRankable => "The conditions cannot be ranked.".to_owned(),
        Untested::NoSpreadSources => {
            "What makes trials differ cannot be said: too few trials of every combination of the factors.".to_owned()
        }
        Untested::TooFewRungs { .. } => {
            "Whether more nodes or threads help cannot be said: fewer than three numbers of either were measured."
                .to_owned()
        }
        Untested::NoSteps => "Whether more help cannot be said: one trial a rung shows no step.".to_owned(),
    }
}

fn alone(found: &Alone) -> String {
    let (metric, estimate) = (phrase(&found.metric), &found.estimate);
    if !found.modes.is_empty() {
        let means: Vec<f64> = found.modes.iter().map(|mode| mode.mean).collect();
        let either = joined(&means, "or", estimate.unit);
        return first_that_fits([
            format!("Unchanged settings gave {metric} of {either} by chance."),
            format!("Unchanged settings gave {either} by chance."),
        ]);
    }
    let called = if found.condition.is_empty() { "the only condition" } else { &found.condition };
    let mean = figure(estimate.mean, estimate.unit);
    let over = match estimate.ci {
        Some(ci) => format!(
            "95% interval {} to {} over {}",
            figure(ci.low, estimate.unit),
            figure(ci.high, estimate.unit),
            count(estimate.trials, "trial")
        ),
        None => "a single trial".to_owned(),
    };
    first_that_fits([
        format!("Only {called} was measured: {metric} {mean} ({over})."),
        format!("One condition was measured: {metric} {mean} ({over})."),
        format!("One condition was measured: {mean}."),
    ])
}

fn moved(what: &Measured, first: &Moved, others: usize) -> String {
    let (what, ratio) = (measured(what), times(first.ratio));
    let sides = format!("{} against {}", first.high, first.low);
    let interval = interval(first.ci);
    let more = match others {
        0 => String::new(),
        n => format!("; {} moved it too", count(n, "other factor")),
    };
    let term = &first.term;
    first_that_fits([
        format!("{term} moved {what} {ratio} ({sides}{interval}){more}."),
        format!("{term} moved {what} {ratio} ({sides}){more}."),
        format!("{term} moved {what} {ratio}{more}."),
        format!("One factor moved {what} {ratio}."),
    ])
}

fn ranked(what: &Measured, factors: &[String], ranking: &Ranked, range: Option<&Range>) -> String {
    let (what, ratio) = (measured(what), times(ranking.ratio));
    let conditions = format!("The conditions differ {ratio} in {what}");
    let lead = match factors {
        [] => conditions.clone(),
        several => format!("{} moved {what} {ratio}", list(several)),
    };
    let (best, worst) = (level_of(&ranking.best, factors), level_of(&ranking.worst, factors));
    let ends = range.and_then(|range| {
        let value =
            |name: &str| [&range.low, &range.high].into_iter().find(|(of, _)| of == name).map(|(_, mean)| *mean);
        let (of_best, of_worst) = (value(&ranking.best)?, value(&ranking.worst)?);
        Some(format!("{} at {best}, {} at {worst}", figure(of_best, range.unit), figure(of_worst, range.unit)))
    });
    let ends = ends.unwrap_or_else(|| format!("{best} is best, {worst} worst"));
    first_that_fits([
        format!("{lead}: {ends}."),
        format!("{conditions}: {ends}."),
        format!("{lead}."),
        format!("{conditions}."),
    ])
}

fn ranked_levels(what: &Measured, of: &LevelsOf, ranking: &Ranked) -> String {
    let (what, ratio) = (measured(what), times(ranking.ratio));
    let (best, worst) = (&ranking.best, &ranking.worst);
    // What the best is not told from is not beaten.
    let is_best = if ranking.best_ties.is_empty() { "is the best" } else { "is among the best" };
    let full = at_most(of, |_| {
        format!("{best} {is_best} {} of {}, {worst} the worst: {what} differs {ratio}.", of.factor, of.levels)
    });
    first_that_fits([
        full,
        format!("{best} {is_best} of {}: {what} differs {ratio}.", of.levels),
        format!("The {} levels differ {ratio} in {what}.", of.levels),
    ])
}

/// What is said at the largest number of threads or nodes; `rest` is told whether it begins the sentence.
fn at_most(of: &LevelsOf, rest: impl Fn(bool) -> String) -> String {
    match of.at {
        Some((over, most)) => format!("At {most} {over}, {}", rest(false)),
        None => rest(true),
    }
}

fn steps(less: &[LessStep], ladders: usize) -> String {
    let Some(first) = less.first() else {
        return match ladders {
            1 => "On no step of the ladder is more shown to give less.".to_owned(),
            n => format!("On no step of {} is more shown to give less.", count(n, "ladder")),
        };
    };
    let step = format!("{} to {} {} gave {}", first.from, first.to, first.over, times(first.ratio));
    let at = if first.levels.is_empty() { String::new() } else { format!(" at {}", words_of(&first.levels)) };
    let more = match less.len() - 1 {
        0 => String::new(),
        n => format!("; {} gave less", count(n, "more step")),
    };
    first_that_fits([
        format!("More stops helping: {step}{at}{more}."),
        format!("More stops helping: {step}{more}."),
        "More stops helping on some steps.".to_owned(),
    ])
}

/// With and without the name of the condition.
fn by_chance(found: &ByChance) -> (String, String) {
    let what = joined(&found.means, if found.are_modes { "or" } else { "to" }, found.unit);
    let short = format!("Unchanged settings gave {what} by chance");
    (format!("{short} at {}", found.condition), short)
}

/// "13.0 or 65.4 k/s", on one scale.
fn joined(means: &[f64], word: &str, unit: &str) -> String {
    let scale = Scale::new(unit, means.iter().copied().fold(0.0, f64::max), 3);
    let Some((last, before)) = means.split_last() else { return String::new() };
    let before: Vec<String> = before.iter().map(|mean| scale.number(*mean)).collect();
    format!("{} {word} {}", before.join(", "), scale.figure(*last))
}

fn interval(ci: Option<Interval>) -> String {
    ci.map_or_else(String::new, |ci| format!(", 95% interval {} to {}", times(ci.low), times(ci.high)))
}

/// A condition that one factor tells from the others by its level alone, where the level is a word.
fn level_of<'n>(name: &'n str, factors: &[String]) -> &'n str {
    let [factor] = factors else { return name };
    let level = name.strip_prefix(factor.as_str()).and_then(|rest| rest.strip_prefix('='));
    level.filter(|level| !level.contains(' ') && level.starts_with(char::is_alphabetic)).unwrap_or(name)
}
