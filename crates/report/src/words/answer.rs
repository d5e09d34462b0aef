//! The answer: its first sentence, and below it intervals, exceptions, and conditions that are not distinguishable.

use super::find;
use super::headline::{divides, headline, of_all};
use super::load_steps;
use super::terms::{at, interval_of_ratio, modes, negative_scaling, query};
use crate::figures::{Scale, times};
use serde::Serialize;
use tare_findings::answer::spread_from as spread_source;
use tare_findings::spread::{SpreadFrom, SpreadSources};
use tare_findings::verdict::{
    Alone, Answer, Disturbed, Estimate, LessStep, Moved, MovedAlone, Range, Ranked, Selected, Tested, Untested,
    Verdict, Without,
};
use tare_results::schema::Levels;
use tare_text::{count, duration, list, percent, was};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswerJson {
    /// One sentence of at most 25 words. If some trials were disturbed and enough are left, it is about the clean
    /// trials only.
    pub text: String,
    /// Intervals, exceptions and conditions that are not distinguishable, in a sentence or two each.
    pub details: Vec<String>,
    /// Whether the answer was tested, together with all other claims of the study, see `confidence`.
    pub tested: bool,
    /// Whether trials that count were disturbed.
    pub disturbed: bool,
    /// The findings behind the first sentence; a second finding includes the disturbed trials.
    pub findings: Vec<Verdict>,
}

impl AnswerJson {
    pub fn of(answer: &Answer) -> Self {
        let all = &answer.verdict;
        let (text, mut details, findings) = match &answer.disturbed {
            None => (headline(all), details(all), vec![all]),
            Some(disturbed) => with_disturbed(all, disturbed),
        };
        let is_open = answer.decides().is_none();
        // Without a test of the clean trials, all trials were disturbed.
        let all_disturbed = |found: &Disturbed| found.without == Without::Untested && found.trials == found.of;
        let kind = match (is_open, answer.disturbed.as_ref().is_some_and(all_disturbed), answer.is_rehearsal) {
            (true, _, false) => "Inconclusive: ",
            (true, _, true) => "Inconclusive rehearsal: ",
            (false, true, false) => "Disturbed: ",
            (false, true, true) => "Disturbed rehearsal: ",
            (false, false, true) => "Rehearsal: ",
            (false, false, false) => "",
        };
        let text = format!("{kind}{text}");
        if answer.is_rehearsal {
            details.insert(0, "A rehearsal (--quick) is too short to rely on.".to_owned());
        }
        details.extend(not_measured(answer));
        let findings: Vec<Verdict> = findings.into_iter().cloned().collect();
        let tested = !is_open && all.is_tested();
        Self { text, details, tested, disturbed: answer.disturbed.is_some(), findings }
    }
}

/// Levels that the study requests and this run did not measure.
fn not_measured(answer: &Answer) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    for out in &answer.left_out {
        sentences.push(format!("Without {} = {}: {}.", out.setting, out.level, out.reason));
    }
    if let Some(look) = &answer.ended_early {
        sentences.push(format!(
            "Ended early, after {} of {} blocks (look {} of {}): its question was decided.",
            look.blocks, look.of_blocks, look.number, look.of
        ));
    }
    let ended = |(load, blocks): (&String, &usize)| {
        format!("{load} was measured in {} only: its question was decided then.", count(*blocks, "block"))
    };
    sentences.extend(answer.ended_loads.iter().map(ended));
    let Some((within, conditions)) = &answer.within else { return sentences };
    let mut cut: Vec<String> =
        within.levels.iter().map(|(factor, levels)| format!("{factor} {}", levels.join(", "))).collect();
    if *conditions > 0 {
        cut.push(format!("{} for lack of time", count(*conditions, "condition")));
    }
    if !cut.is_empty() {
        sentences.push(format!("Not measured, to fit {}: {}.", duration(within.requested_s), cut.join("; ")));
    } else if within.stopped > 0 {
        let (trials, were) = (count(within.stopped, "trial"), was(within.stopped));
        sentences
            .push(format!("{trials} {were} not measured: the limit of {} was reached.", duration(within.requested_s)));
    }
    sentences
}

/// Results that include disturbed trials are stated separately from those of clean trials.
fn with_disturbed<'v>(all: &'v Verdict, disturbed: &'v Disturbed) -> (String, Vec<String>, Vec<&'v Verdict>) {
    let (were, them) = (was(disturbed.trials), if disturbed.trials == 1 { "it" } else { "them" });
    let lead = format!("{} of {} {were} disturbed", disturbed.trials, count(disturbed.of, "trial"));
    // A headline is a sentence, and may begin with a name.
    let with_all = format!("With all trials, disturbed or not, the answer is \"{}\"", headline(all));
    let clean =
        |clean: &'v Verdict, what: String| (headline(clean), [details(clean), vec![what]].concat(), vec![clean, all]);
    match &disturbed.without {
        Without::Untested => (headline(all), [details(all), vec![format!("{lead}.")]].concat(), vec![all]),
        Without::Same(same) => {
            clean(same, format!("{lead} and left out of all figures; with {them} the answer is the same."))
        }
        Without::Other(other) => {
            clean(other, format!("{lead} and left out of all figures, which changes the answer. {with_all}"))
        }
        Without::Selected { condition, why, clean } => {
            let (text, what) = selected(*why);
            let without =
                format!("{lead}. At {condition} {what}. Without {them} the answer is \"{}\"", headline(clean));
            (text.to_owned(), vec![without, with_all], vec![clean, all])
        }
        Without::TooFew => {
            let text = match disturbed.trials == disturbed.of {
                true => {
                    format!("all {} were disturbed; repeat this on a quieter machine.", count(disturbed.of, "trial"))
                }
                false => {
                    format!("{lead}, and not every condition has enough clean ones; repeat this on a quieter machine.")
                }
            };
            (text, vec![with_all], vec![all])
        }
    }
}

/// The first sentence when clean trials cannot support one, and how the result depends on disturbed trials.
fn selected(why: Selected) -> (&'static str, &'static str) {
    let slow = "slow trials were disturbed, and are slower than that explains, so clean ones are a biased selection; \
                repeat this on a quieter machine.";
    match why {
        Selected::Beyond => (
            slow,
            "disturbed trials are slower than every clean one, and by more than the CPU time of other programs \
             explains",
        ),
        Selected::OneBeyond => (
            slow,
            "a disturbed trial is slower than the CPU time of other programs explains, and further from the clean ones \
             than they are from each other",
        ),
        Selected::Near => (
            "only clean trials show a difference, and they may be a selection of the fast ones; repeat this on a \
             quieter machine.",
            "disturbed trials are worse than clean ones, by no more than clean ones differ among themselves: that may \
             be chance",
        ),
    }
}

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
        Verdict::Moved { rest, tested, alone, .. } => {
            let rest = moved(rest, tested.count);
            by_steps(verdict).or_else(|| single_ones(alone)).into_iter().chain(rest).collect()
        }
        Verdict::Ranked { ranking, range, fewest_trials, tested, alone, .. } => {
            let means = range.as_ref().and_then(|range| means(range, ranking, *tested));
            let steps = by_steps(verdict).or_else(|| single_ones(alone));
            [ranked(ranking, *tested), means, few(*fewest_trials)].into_iter().chain([steps]).flatten().collect()
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
            super::by_load::details_pooled(pooled).into_iter().chain(alone).collect()
        }
        // The first sentence says that nothing is shown for the other loads.
        Verdict::ByLoad(loads) => {
            let shown = loads.iter().filter(|own| own.shown);
            shown.map(|own| format!("{}: {}", own.load, headline(&own.verdict))).collect()
        }
    }
}

/// The average over all steps, if the first sentence names those that move.
fn by_steps(verdict: &Verdict) -> Option<String> {
    load_steps::moved(verdict).map(|_| of_all(verdict))
}

fn nothing_tested(why: &Untested) -> Vec<String> {
    match why {
        Untested::Alone(Alone { modes, range, estimate: Estimate { mean, ci, unit, .. }, .. }) if modes.is_empty() => {
            let scale = Scale::new(*unit, *mean, 3);
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
        Untested::StepsAlone { .. } => vec![
            "Queries per second, rows per second of steps without queries, and seconds of those without either. There \
             is nothing to compare them with: name builds (--binary) or the values of an option (--option)."
                .to_owned(),
        ],
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
        | Untested::SpreadRounded { .. }
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
    let words = |step: &LessStep| {
        let interval = step.ci.map_or_else(String::new, |ci| format!(" ({})", interval_of_ratio(ci)));
        format!("{} to {} {}{} {}{interval}", step.from, step.to, step.over, at(&step.levels), times(step.ratio))
    };
    negative_scaling(less.iter().map(words).collect(), LISTED_STEPS)
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
    fn a_headline_within_a_sentence_is_quoted() {
        let verdict = |attempts| Verdict::Untested(Untested::NoneOk { attempts, disturbed: 0 });
        let without = Without::Selected { condition: "a=1".to_owned(), why: Selected::Near, clean: verdict(2) };
        let disturbed = Some(Disturbed { trials: 1, of: 3, without });
        let answer = Answer {
            verdict: verdict(3),
            disturbed,
            is_rehearsal: false,
            left_out: Vec::new(),
            within: None,
            ended_early: None,
            ended_loads: [("read_only".to_owned(), 4)].into(),
        };
        let of = |attempts| format!("the answer is \"No trial gave a usable result: {attempts} attempts");
        let details = AnswerJson::of(&answer).details;
        assert!(details[0].contains(&format!("Without it {}", of(2))), "{details:?}");
        assert!(details[1].starts_with(&format!("With all trials, disturbed or not, {}", of(3))), "{details:?}");
        assert_eq!(details[2], "read_only was measured in 4 blocks only: its question was decided then.");
    }

    #[test]
    fn of_many_loads_those_alone_have_a_line_of_which_something_is_shown() {
        let of =
            |load: &str, shown| OfLoad { load: load.to_owned(), shown, verdict: Verdict::Untested(Untested::NoTrial) };
        let found = details(&Verdict::ByLoad(vec![of("scan", false), of("insert", true), of("delete", false)]));
        assert_eq!(found, ["insert: No trial has been recorded yet."]);
    }
}
