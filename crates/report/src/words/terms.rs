//! Phrases that several sentences and tables share, names of groups of conditions, and how long a first sentence may
//! be.

use super::steadiness::many;
use crate::figures::{Scale, change, changes_of, figure, times_between};
use std::collections::HashMap;
use tare_findings::factors::words_of;
use tare_findings::mode::{InCommon, Mode, ModeCause, ModeSide};
use tare_findings::placement::Place;
use tare_findings::places::{Category, Property, Shared};
use tare_findings::verdict::Measured;
use tare_results::metric::Better;
pub(super) use tare_results::metric::short as query;
use tare_results::schema::{Levels, Plan};
use tare_results::unit::Unit;
use tare_stats::Interval;
use tare_text::{count, decimal, list, percent};
use tare_topology::Pairing;

/// Both limits of an interval, `0.98x to 1.03x`, or `none`.
pub(crate) fn between(ci: Option<Interval>, none: &str, end: impl Fn(f64) -> String) -> String {
    ci.map_or_else(|| none.to_owned(), |ci| format!("{} to {}", end(ci.low), end(ci.high)))
}

/// `tare run` with these arguments.
pub(super) fn run_of(arguments: &[String]) -> String {
    let words: Vec<String> = arguments.iter().map(|word| tare_text::quoted(word)).collect();
    format!("tare run {}", words.join(" "))
}

pub(super) fn interval_of_ratio(ci: Interval) -> String {
    format!("95% interval {}", times_between(ci))
}

/// A ratio near 1 as a change in percent, `-2.9%`; `None` if two digits of a ratio are enough.
pub(super) fn small_change(ratio: f64) -> Option<String> {
    (0.92..1.09).contains(&ratio).then(|| change(ratio - 1.0))
}

pub(super) fn interval_of_change(ci: Interval) -> String {
    format!("95% interval {}", changes_of(ci))
}

/// "throughput", "the 22 queries on average", or "the rates of 9 steps on average".
pub(super) fn measured(what: &Measured) -> String {
    match (what.metrics, what.steps) {
        (1, _) => phrase(&what.metric),
        (_, Some(1)) => "the rates of the step on average".to_owned(),
        (_, Some(steps)) => format!("the rates of {steps} steps on average"),
        (metrics, None) => format!("the {} on average", many(metrics, &what.metric)),
    }
}

pub(crate) fn phrase(metric: &str) -> String {
    match metric {
        "tps" => "throughput".to_owned(),
        other => other.to_owned(),
    }
}

/// `24.4 k/s in 60% of trials and 37.2 k/s in 40%`.
pub(crate) fn modes(modes: &[Mode], unit: Unit) -> String {
    let words: Vec<String> = modes
        .iter()
        .enumerate()
        .map(|(index, mode)| {
            let of = if index == 0 { " of trials" } else { "" };
            format!("{} in {}{of}", figure(mode.mean, unit), percent(mode.weight))
        })
        .collect();
    list(&words)
}

/// The short name of a condition by index: A, B ... Z, AA ... ZZ, AAA ...
pub(crate) fn letter(index: usize) -> String {
    let last = char::from(b'A' + (index % 26) as u8);
    match (index / 26).checked_sub(1) {
        Some(before) => format!("{}{last}", letter(before)),
        None => last.to_string(),
    }
}

pub(crate) fn best_first(several_loads: bool) -> &'static str {
    if several_loads { "best first of each number of threads" } else { "best first" }
}

pub(crate) fn better_word(better: Better) -> &'static str {
    match better {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better",
    }
}

/// A location with its CPUs on this machine, for a table's head.
pub(crate) fn place(place: &Place) -> String {
    match &place.cpus {
        Some(cpus) => format!("{} (CPU {cpus})", place.location),
        None => place.location.clone(),
    }
}

/// Which covariate explains the modes: "pairs same-pu at 66.0 k/s, pairs other-node at 13.0 k/s", or "migrations per
/// sample 22.2 on average at 90.2 ms, 31.3 at 148 ms".
pub(crate) fn mode_cause(cause: &ModeCause, unit: Unit) -> String {
    let name = &cause.covariate;
    let means = cause.sides.iter().filter_map(|side| match side.in_common {
        InCommon::Number(mean) => Some(mean.abs()),
        _ => None,
    });
    // Three significant digits of the largest.
    let decimals = (2.0 - means.fold(1e-4, f64::max).log10().floor()).max(0.0) as usize;
    let side = |(index, side): (usize, &ModeSide)| {
        let what = match &side.in_common {
            InCommon::Number(share) if *name == Property::FullestNode => {
                format!("{} of threads on one node", percent(*share))
            }
            InCommon::Number(mean) if index == 0 => format!("{name} {} on average", decimal(*mean, decimals)),
            InCommon::Number(mean) => decimal(*mean, decimals),
            InCommon::Pairs { relation, share } => pairs(*relation, *share),
            InCommon::Unknown => format!("{name} unknown"),
            InCommon::Category { category, trials, of } => {
                let share = if trials == of { String::new() } else { format!(" in {trials} of {of} trials") };
                match category {
                    Category::Relation(own) => format!("client and server thread {}{share}", relation(*own)),
                    Category::Cpu(cpu) => format!("{name} mostly on CPU {cpu}{share}"),
                    Category::Plan(plan) => format!("{name} {plan}{share}"),
                }
            }
        };
        format!("{what} at {}", figure(side.mean, unit))
    };
    cause.sides.iter().enumerate().map(side).collect::<Vec<_>>().join(", ")
}

/// The levels of other factors as part of a sentence, " at rows=10"; empty without any.
pub(crate) fn at(levels: &Levels) -> String {
    if levels.is_empty() { String::new() } else { format!(" at {}", words_of(levels)) }
}

/// A sentence with the first of these steps; `None` without any.
pub(super) fn negative_scaling(mut steps: Vec<String>, listed: usize) -> Option<String> {
    let more = steps.len().saturating_sub(listed);
    steps.truncate(listed);
    let more = if more == 0 { String::new() } else { format!("; and {} more", count(more, "step")) };
    (!steps.is_empty()).then(|| format!("Negative scaling: {}{more}.", steps.join("; ")))
}

/// The relation of two CPUs as part of a sentence: "on one PU".
fn relation(relation: Pairing) -> &'static str {
    match relation {
        Pairing::SamePu => "on one PU",
        Pairing::SmtSibling | Pairing::SameCore => "on two PUs of one core",
        Pairing::SameCache => "on two cores under one cache",
        Pairing::OtherCache => "on two cores of one node, under different caches",
        Pairing::SameNode => "on two cores of one node",
        Pairing::OtherNode => "on different nodes",
        Pairing::None => "on different PUs",
    }
}

/// A share of pairs: "every pair on one PU", "40% of pairs on one node".
fn pairs(relation: Shared, share: f64) -> String {
    let place = match relation {
        Shared::Pu => "on one PU",
        Shared::Core => "on one core",
        Shared::Cache => "under one cache",
        Shared::Node => "on one node",
    };
    match share {
        share if share >= 1.0 - 1e-9 => format!("every pair {place}"),
        share if share <= 1e-9 => format!("no pair {place}"),
        share => format!("{} of pairs {place}", percent(share)),
    }
}

/// As many as can be read at a glance.
const MOST_WORDS: usize = 25;
/// Two lines of a terminal, because one word may be a whole command line.
const MOST_LETTERS: usize = 160;

/// The first sentence that is short enough; otherwise the last, which contains no names.
pub(super) fn first_that_fits(sentences: impl IntoIterator<Item = String>) -> String {
    let mut last = String::new();
    for sentence in sentences {
        last = sentence;
        if last.split_whitespace().count() <= MOST_WORDS && last.chars().count() <= MOST_LETTERS {
            break;
        }
    }
    last
}

/// Maximum conditions listed by name when no levels describe them.
const NAMED: usize = 3;

pub type Named<'p> = (&'p str, &'p Levels);

/// Describes some of all conditions, given by index: by levels that only they have, else by their names.
pub fn which(all: &[Named<'_>], places: &[usize]) -> String {
    let chosen: Vec<Named<'_>> = places.iter().filter_map(|place| all.get(*place).copied()).collect();
    let names = |n: usize| chosen.iter().take(n).map(|(name, _)| (*name).to_owned()).collect::<Vec<String>>();
    let Some((_, first)) = chosen.first() else { return String::new() };
    if chosen.len() == 1 || chosen.len() == all.len() {
        let every = if all.len() == 2 { "both conditions".to_owned() } else { format!("all {} conditions", all.len()) };
        return if chosen.len() == 1 { names(1).concat() } else { every };
    }
    let in_all = |of: &[Named<'_>], factor: &String, level: &String| {
        of.iter().all(|(_, levels)| levels.get(factor) == Some(level))
    };
    let common: Levels = first
        .iter()
        .filter(|(factor, level)| in_all(&chosen, factor, level) && !in_all(all, factor, level))
        .map(|(factor, level)| (factor.clone(), level.clone()))
        .collect();
    let only_they_have = |levels: &Levels| {
        let has_them = |of: &Levels| levels.iter().all(|(factor, level)| of.get(factor) == Some(level));
        !levels.is_empty() && all.iter().filter(|(_, of)| has_them(of)).count() == chosen.len()
    };
    // One level is enough if no other condition has it.
    let alone = common.iter().map(|(factor, level)| Levels::from_iter([(factor.clone(), level.clone())]));
    if let Some(levels) = alone.chain([common.clone()]).find(only_they_have) {
        return format!("{} ({})", words_of(&levels), count(chosen.len(), "condition"));
    }
    if chosen.len() <= NAMED {
        return list(&names(NAMED));
    }
    let more = chosen.len() + 1 - NAMED;
    format!("{} and {}", names(NAMED - 1).join(", "), count(more, "more condition"))
}

/// The conditions of a plan that are not possible on this machine, with the reason, grouped by reason.
pub fn not_realizable(plan: &Plan) -> Vec<(String, &str)> {
    let reasons = plan.conditions.iter().map(|condition| condition.reason.as_deref().filter(|_| !condition.realizable));
    let all = named(plan);
    grouped(reasons).into_iter().map(|(places, reason)| (which(&all, &places), reason)).collect()
}

pub(crate) fn named(plan: &Plan) -> Vec<Named<'_>> {
    plan.conditions.iter().map(|condition| (condition.name.as_str(), &condition.levels)).collect()
}

/// Indexes of the conditions with the same text, in the order of first occurrence; conditions without a text are left
/// out.
pub fn grouped<'t>(texts: impl Iterator<Item = Option<&'t str>>) -> Vec<(Vec<usize>, &'t str)> {
    let mut groups: Vec<(Vec<usize>, &str)> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (place, text) in texts.enumerate() {
        let Some(text) = text else { continue };
        let group = *known.entry(text).or_insert_with(|| {
            groups.push((Vec::new(), text));
            groups.len() - 1
        });
        groups[group].0.push(place);
    }
    groups
}

/// The name of a condition, or only its level if one factor distinguishes it and the level is a word.
pub(super) fn level_of<'n>(name: &'n str, factors: &[String]) -> &'n str {
    let [factor] = factors else { return name };
    let of = |text: &'n str| text.strip_prefix(factor.as_str()).and_then(|rest| rest.strip_prefix('='));
    // Words that all conditions share precede or follow the level.
    let level = of(name).or_else(|| name.split(' ').find_map(of));
    level.filter(|level| !level.contains(' ') && level.starts_with(char::is_alphabetic)).unwrap_or(name)
}

/// "13.0 or 65.4 k/s", on one scale: three digits, or as many more as are needed until the first and the last differ.
pub(super) fn joined(means: &[f64], word: &str, unit: Unit) -> String {
    let largest = means.iter().map(|mean| mean.abs()).fold(0.0, f64::max);
    let written = |digits: usize| {
        let scale = Scale::new(unit, largest, digits);
        let (last, before) = means.split_last()?;
        let before: Vec<String> = before.iter().map(|mean| scale.value(*mean)).collect();
        let differ = before.first().is_some_and(|first| *first != scale.value(*last));
        Some((differ, format!("{} {word} {}", before.join(", "), scale.figure(*last))))
    };
    let texts: Vec<(bool, String)> = (3..=7).filter_map(written).collect();
    let found = texts.iter().find(|(differ, _)| *differ).or(texts.first());
    found.map_or_else(String::new, |(_, text)| text.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_named_by_levels_that_only_they_have() {
        let levels: Vec<Levels> = ["a=1 b=x c=0", "a=1 b=y c=0", "a=2 b=x c=0", "a=2 b=y c=0", "a=3 b=x c=0"]
            .iter()
            .map(|name| tare_results::levels_of(name))
            .collect();
        let names: Vec<String> = levels.iter().map(words_of).collect();
        let all: Vec<Named<'_>> = names.iter().map(String::as_str).zip(&levels).collect();
        assert_eq!(which(&all, &[0, 1]), "a=1 (2 conditions)");
        assert_eq!(which(&all, &[0, 2, 4]), "b=x (3 conditions)");
        assert_eq!(which(&all, &[3]), "a=2 b=y c=0");
        assert_eq!(which(&all, &[0, 3]), "a=1 b=x c=0 and a=2 b=y c=0");
        assert_eq!(which(&all, &[0, 1, 3, 4]), "a=1 b=x c=0, a=1 b=y c=0 and 2 more conditions");
        assert_eq!(which(&all, &[0, 1, 2, 3, 4]), "all 5 conditions");
        // Of several common levels, one that only they have is enough.
        let levels = ["a=1 b=x", "a=1 b=x c=0", "a=2 b=y"].map(tare_results::levels_of);
        let all: Vec<Named<'_>> = ["i", "j", "k"].into_iter().zip(&levels).collect();
        assert_eq!(which(&all, &[0, 1]), "a=1 (2 conditions)");
    }

    #[test]
    fn a_cause_of_modes_is_named_once_and_with_three_digits() {
        let side = |switches: f64, mean: f64| ModeSide { mean, in_common: InCommon::Number(switches) };
        let of = |fast: f64, slow: f64| {
            let cause = ModeCause {
                covariate: Property::InvoluntarySwitches,
                sides: vec![side(fast, 0.0902), side(slow, 0.148)],
            };
            mode_cause(&cause, Unit::S)
        };
        assert_eq!(of(22.231, 31.25), "involuntary switches per sample 22.2 on average at 90.2 ms, 31.2 at 148 ms");
        assert_eq!(of(0.0, 1234.6), "involuntary switches per sample 0 on average at 90.2 ms, 1235 at 148 ms");
    }

    #[test]
    fn the_least_and_the_most_are_written_so_that_they_differ() {
        let of = |least, most| joined(&[least, most], "to", Unit::PerS);
        assert_eq!([of(1999.9, 2000.1), of(1e3, 2e3)], ["1.9999 to 2.0001 k/s", "1.00 to 2.00 k/s"]);
        assert_eq!([of(2e3, 2e3), of(-5e4, -4e4)], ["2.00 to 2.00 k/s", "-50.0 to -40.0 k/s"]);
    }
}
