//! The sentences below the first one: intervals, exceptions, and conditions that are not distinguishable.

use super::find;
use super::headline::{divides, headline};
use super::terms::{interval_of_ratio, modes, query};
use crate::figures::{Scale, times};
use tare_findings::answer::spread_from as spread_source;
use tare_findings::factors::words_of;
use tare_findings::spread::{SpreadFrom, SpreadSources};
use tare_findings::verdict::{Alone, Estimate, LessStep, Moved, MovedAlone, Range, Ranked, Tested, Untested, Verdict};
use tare_results::schema::Levels;
use tare_text::{count, list, percent};

/// With fewer trials of a condition a caution is added.
const ENOUGH_TRIALS: usize = 5;
/// Maximum names of a list; if only one more would follow, it is printed too.
const LISTED_NAMES: usize = 4;
/// Maximum steps that are printed; the rest are counted.
const LISTED_STEPS: usize = 3;

/// Sentences that add to [`headline`] without repeating it.
pub(super) fn details(verdict: &Verdict) -> Vec<String> {
    match verdict {
        Verdict::Untested(why) => nothing_tested(why),
        Verdict::Moved { rest, tested, .. } => moved(rest, tested.count).into_iter().collect(),
        Verdict::Ranked { ranking, range, fewest_trials, tested, .. } => {
            let means = range.as_ref().and_then(|range| means(range, ranking, *tested));
            [ranked(ranking, *tested), means, few(*fewest_trials)].into_iter().flatten().collect()
        }
        Verdict::NotRanked { fewest_trials, alone, .. } => {
            single_ones(alone).into_iter().chain(few(*fewest_trials)).collect()
        }
        Verdict::Raced(race) => find::ended(race),
        Verdict::RankedLevels { ranking, tested, .. } => ranked(ranking, *tested).into_iter().collect(),
        Verdict::NotMoved { alone, .. } => single_ones(alone).into_iter().collect(),
        Verdict::NotRankedLevels { .. } => Vec::new(),
        Verdict::SpreadFrom(from) if from.sources.is_empty() => Vec::new(),
        Verdict::SpreadFrom(from) => vec![sources(from)],
        Verdict::Steps { less, pooled, .. } => {
            // A result that all ladders share is not repeated for each.
            let alone = if pooled.iter().any(|step| step.less) { None } else { steps(less) };
            super::pooled::details(pooled).into_iter().chain(alone).collect()
        }
        // The first sentence says that nothing is shown for the other loads.
        Verdict::ByLoad(loads) => {
            let shown = loads.iter().filter(|own| own.shown);
            shown.map(|own| format!("{}: {}", own.load, headline(&own.verdict))).collect()
        }
    }
}

fn nothing_tested(why: &Untested) -> Vec<String> {
    match why {
        Untested::Alone(Alone { modes, range, estimate: Estimate { mean, ci, unit, .. }, .. }) if modes.is_empty() => {
            let scale = Scale::new(unit, *mean, 3);
            let interval = ci
                .filter(|ci| range.is_none() && ci.width() <= 2.0 * mean.abs())
                .map(|ci| [ci.low, ci.high].map(|end| scale.value_in_unit(end)))
                .map(|[low, high]| format!("95% interval of its mean {low} to {high}."));
            std::iter::once("There is nothing to compare it with.".to_owned()).chain(interval).collect()
        }
        Untested::Alone(found) => {
            vec![format!(
                "It has modes: {}. There is nothing to compare it with.",
                modes(&found.modes, found.estimate.unit)
            )]
        }
        Untested::SingleTrial { range: Some(range), .. } => {
            let scale = Scale::new(range.unit, range.high.1, 3);
            let at = |(condition, mean): &(String, f64)| format!("{} at {condition}", scale.value_in_unit(*mean));
            vec![format!("From {} to {}; ten trials per condition would show more.", at(&range.low), at(&range.high))]
        }
        Untested::LoadsAlone { .. } => vec![
            "Loads are different work, so they are not compared with each other: name builds (--binary) or the values \
             of an option (--option) to compare each load under."
                .to_owned(),
        ],
        Untested::TooFewRungs { unrealizable, instead } => {
            let cannot = match unrealizable {
                0 => None,
                n => Some(format!("This machine cannot run {}.", count(*n, "condition"))),
            };
            cannot.into_iter().chain([headline(instead)]).chain(details(instead)).collect()
        }
        Untested::NoTrial
        | Untested::NoneOk { .. }
        | Untested::NoValue
        | Untested::NotPositive { .. }
        | Untested::Lacking { .. }
        | Untested::SingleTrial { range: None, .. }
        | Untested::NotRankable
        | Untested::NoSpreadSources
        | Untested::NoSteps => Vec::new(),
    }
}

fn moved(rest: &[Moved], tested: usize) -> Option<String> {
    let others = match (rest, tested) {
        (_, 1) => return None,
        ([], _) => "no other factor is shown to move it by more than 0.5%".to_owned(),
        (rest, _) => {
            let words = rest.iter().map(|effect| format!("{} {}", effect.term, times(effect.ratio))).collect();
            format!("followed by {}", listed(words))
        }
    };
    Some(format!("This is averaged over the other factors; {others}."))
}

/// "95% interval 4.9x to 5.2x for all pairs together; every pair differs." If not all differ: "...; a differs from all
/// others, b is not distinguishable from c; 5 of 6 pairs differ." Of two conditions, the first sentence has all but
/// the interval.
fn ranked(ranking: &Ranked, tested: Tested) -> Option<String> {
    let several = tested.count > 1;
    let together = if several { " for all pairs together" } else { "" };
    let interval = ranking.ci.map(|ci| interval_of_ratio(ci) + together);
    let end = |name: &str, ties: &[String]| match ties {
        [] => format!("{name} differs from all others"),
        ties => format!("{name} is not distinguishable from {}", listed(ties.to_vec())),
    };
    let pairs = || {
        if ranking.differing == tested.of {
            return "every pair differs".to_owned();
        }
        let (best, worst) = (end(&ranking.best, &ranking.best_ties), end(&ranking.worst, &ranking.worst_ties));
        format!("{best}, {worst}; {} of {} differ", ranking.differing, count(tested.count, "pair"))
    };
    let all: Vec<String> = interval.into_iter().chain(several.then(pairs)).collect();
    (!all.is_empty()).then(|| format!("{}.", all.join("; ")))
}

/// Why the ratio is not that of the means in the table, if they are those of the pair.
fn means(range: &Range, ranking: &Ranked, tested: Tested) -> Option<String> {
    let apart = times(range.high.1 / range.low.1);
    // Figures that only rounding keeps from dividing to the ratio need no reason.
    let differs = ranking.apart.is_none() && apart != times(ranking.ratio) && !divides(range, ranking);
    let within = match tested.analysis.by_block {
        true => " within blocks, which drift and missing trials do not move",
        false => "",
    };
    differs.then(|| format!("The means in the table differ {apart}; the ratio is that of geometric means{within}."))
}

/// "Q1 2.0x (aslr on against off) and Q2 0.50x (ahi on against off)."
fn single_ones(alone: &[MovedAlone]) -> Option<String> {
    let words = |one: &MovedAlone| {
        let by = one.by.as_ref().map_or_else(String::new, |factor| format!("{factor} "));
        format!("{} {} ({by}{} against {})", query(&one.metric), times(one.ratio), one.high, one.low)
    };
    (!alone.is_empty()).then(|| format!("{}.", listed(alone.iter().map(words).collect())))
}

/// The sources of the spread between trials, as a separate sentence.
pub(super) fn spread<'l>(sources_of: &SpreadSources, levels: impl Iterator<Item = &'l Levels> + Clone) -> String {
    sources(&spread_source(sources_of, levels))
}

/// "aslr (on rather than off) accounts for 61% of the variance between trials, ahi (on rather than off) for 12%;
/// unexplained 27%."
fn sources(from: &SpreadFrom) -> String {
    let shown: Vec<String> = from
        .sources
        .iter()
        .enumerate()
        .map(|(place, source)| {
            // With more than two levels, the share is that of the trials at these two.
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
        true => "No factor is shown to make trials vary more.".to_owned(),
        false => format!("{}; unexplained {}.", shown.join(", "), percent(from.unexplained)),
    }
}

fn steps(less: &[LessStep]) -> Option<String> {
    if less.is_empty() {
        return None;
    }
    let more = match less.len().saturating_sub(LISTED_STEPS) {
        0 => String::new(),
        n => format!("; and {} more", count(n, "step")),
    };
    let words = |step: &LessStep| {
        let at = if step.levels.is_empty() { String::new() } else { format!(" at {}", words_of(&step.levels)) };
        let interval = step.ci.map_or_else(String::new, |ci| format!(" ({})", interval_of_ratio(ci)));
        format!("{} to {} {}{at} {}{interval}", step.from, step.to, step.over, times(step.ratio))
    };
    let listed: Vec<String> = less.iter().take(LISTED_STEPS).map(words).collect();
    Some(format!("Negative scaling: {}{more}.", listed.join("; ")))
}

fn few(trials: usize) -> Option<String> {
    let few = || format!("{} per condition are few; repeat before relying on it.", count(trials, "trial"));
    (trials < ENOUGH_TRIALS).then(few)
}

/// The first few names of a long list and the number of the others; the table has all.
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
    use tare_findings::verdict::OfLoad;

    #[test]
    fn of_many_loads_those_alone_have_a_line_of_which_something_is_shown() {
        let of =
            |load: &str, shown| OfLoad { load: load.to_owned(), shown, verdict: Verdict::Untested(Untested::NoTrial) };
        let found = details(&Verdict::ByLoad(vec![of("scan", false), of("insert", true), of("delete", false)]));
        assert_eq!(found, ["insert: No trial has been recorded yet."]);
    }
}
