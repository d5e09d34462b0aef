//! What a race says: its first sentence, the line after each block, and why it stopped.

use super::ab::duration;
use tare_findings::figures::{list, times};
use tare_findings::find::{Candidate, Fate, Find, Knob, TAIL};
use tare_results::laps::RaceStop;
use tare_stats::{Estimate, Interval};
use tare_text::{count, percent};

/// One sentence of at most 25 words, where the name of a candidate is one.
pub fn sentence(find: &Find) -> String {
    let (trials, within) = (count(find.trials, "trial"), duration(find.elapsed_s));
    let all = find.candidates.len();
    let disturbed = match find.disturbed {
        0 => String::new(),
        trials => format!(", {trials} of them disturbed"),
    };
    match find.ahead() {
        None => format!("No candidate of {all} has a result after {trials} in {within}{disturbed}."),
        Some(named) if find.decided => {
            let (name, effect, sure) = (&named.name, percent(find.rule.minimum_effect), confidence(find));
            format!(
                "{name} is the best of {all}, or within {effect} of the best ({sure} confidence): {trials} in {within}{disturbed}."
            )
        }
        Some(ahead) => {
            let left = find.left().count();
            format!(
                "Undecided after {trials} in {within}{disturbed}: {left} of {all} remain, {} is ahead; {}.",
                ahead.name,
                to_go(find)
            )
        }
    }
}

fn confidence(find: &Find) -> String {
    percent(1.0 - find.rule.alpha)
}

fn to_go(find: &Find) -> String {
    match (find.trials_to_go, find.to_go_s) {
        (Some(trials), Some(seconds)) => format!("about {} ({}) to go", count(trials, "trial"), duration(seconds)),
        _ => "how long it would take is not known".to_owned(),
    }
}

/// What is known after a block, in one line.
pub fn line(find: &Find) -> String {
    let left = find.left().count();
    let head = format!("block {}: {left} of {} remain", find.blocks, find.candidates.len());
    let Some(ahead) = find.ahead() else { return format!("{head}, none with a result") };
    let open = if find.decided { String::new() } else { format!("; {}", to_go(find)) };
    format!("{head}, {} is ahead{open}", ahead.name)
}

pub fn fate(candidate: &Candidate, find: &Find) -> String {
    let after = candidate.after.map(|after| format!(", block {after}")).unwrap_or_default();
    match candidate.fate {
        Fate::Named => "named".to_owned(),
        Fate::Left => "remains".to_owned(),
        Fate::Worse => format!("worse{after}"),
        Fate::Close => format!("within {}{after}", percent(find.rule.minimum_effect)),
        Fate::Lost => format!("no results{after}"),
    }
}

/// Who left the race and when, the last first, and why it stopped undecided: what adds to [`sentence`].
pub fn ended(find: &Find) -> Vec<String> {
    const LISTED: usize = 4;
    let mut gone: Vec<&Candidate> = find.candidates.iter().filter(|candidate| candidate.after.is_some()).collect();
    gone.sort_by_key(|candidate| std::cmp::Reverse(candidate.after));
    let named = gone.iter().take(LISTED).map(|candidate| format!("{} ({})", candidate.name, fate(candidate, find)));
    let more = gone.len().saturating_sub(LISTED);
    let names: Vec<String> = named.chain((more > 0).then(|| format!("{more} more"))).collect();
    let of = find.candidates.len();
    let dropped = (!gone.is_empty()).then(|| format!("Dropped {} of {of}: {}.", gone.len(), list(&names)));
    let stopped = stopped(find).map(|why| format!("Stopped: {why}."));
    dropped.into_iter().chain(stopped).chain(disturbed(find).map(|what| format!("Disturbed: {what}."))).collect()
}

/// Who could not be dropped for what something else did to it alone; none where that holds up no decision.
pub fn disturbed(find: &Find) -> Option<String> {
    let open = |of: &&Candidate| of.fate == Fate::Left && of.disturbed_alone;
    let names: Vec<String> = find
        .candidates
        .iter()
        .filter(open)
        .map(|of| format!("{} ({} of {})", of.name, of.disturbed, count(of.trials, "trial")))
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "{}, more often than the one ahead: nothing is claimed against that; see by what with tare show",
            list(&names)
        )
    })
}

/// Throughput against the tail of latency: who is at either end.
pub fn trade(find: &Find) -> Option<String> {
    let ahead = find.ahead()?;
    ahead.p99_ms?;
    let Some(tail) = &find.tail else {
        return Some(format!("{TAIL}: no other candidate's is lower than that of {}", ahead.name));
    };
    let other = find.candidates.get(tail.candidate)?;
    let (low, paid) = (ratio(tail.p99_ratio), other.ratio.map_or_else(String::new, ratio));
    let shown = tail.p99_ratio.ci.is_some_and(|ci| ci.high < 1.0);
    let sure = if shown { "" } else { "; not shown to be lower" };
    let metric = find.metric.as_deref().unwrap_or("the metric");
    Some(format!("{TAIL}: lowest with {}, {low} of that of {}{sure}; its {metric} is {paid}", other.name, ahead.name))
}

/// What a level costs against the one that is named.
pub fn knob(knob: &Knob) -> String {
    format!("{}: {} in place of {} is {}", knob.factor, knob.level, knob.best, ratio(knob.ratio))
}

fn ratio(of: Estimate) -> String {
    match of.ci {
        Some(Interval { low, high }) => format!("{} ({} to {})", times(of.value), times(low), times(high)),
        None => times(of.value),
    }
}

/// Why it stopped although nothing is decided; none where it is, or goes on.
pub fn stopped(find: &Find) -> Option<&'static str> {
    match find.stop? {
        RaceStop::Decided => None,
        RaceStop::LastLook => Some("the last of its looks is over: give it a larger minimum effect"),
        RaceStop::Budget => Some("no further block fits into the time"),
        RaceStop::NoneLeft => Some("the trials of every candidate failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::schema::{Levels, Race};

    #[test]
    fn an_undecided_race_says_who_was_disturbed_alone() {
        let candidate = |(name, fate, disturbed): (&str, Fate, usize)| Candidate {
            name: name.to_owned(),
            levels: Levels::default(),
            fate,
            after: None,
            trials: 8,
            disturbed,
            disturbed_alone: disturbed > 2,
            value: None,
            ratio: None,
            p99_ms: None,
        };
        let of = [("a", Fate::Left, 0), ("b", Fate::Left, 5), ("c", Fate::Left, 1), ("d", Fate::Worse, 4)];
        let find = Find {
            metric: None,
            candidates: of.map(candidate).to_vec(),
            leader: Some(0),
            decided: false,
            knobs: Vec::new(),
            tail: None,
            left_out: Vec::new(),
            blocks: 8,
            trials: 32,
            without_value: 0,
            disturbed: 10,
            elapsed_s: 60.0,
            cov: None,
            trials_to_go: None,
            to_go_s: None,
            stop: Some(RaceStop::LastLook),
            rule: Race {
                candidates: of.map(|(name, ..)| name.to_owned()).to_vec(),
                metric: None,
                minimum_effect: 0.02,
                alpha: 0.05,
                budget_s: None,
                seed: 1,
                sessions: 1,
            },
        };
        let said = disturbed(&find).unwrap();
        assert!(said.starts_with("b (5 of 8 trials), more often than the one ahead"), "{said}");
        assert!(ended(&find).last().is_some_and(|last| last.contains(&said)), "{:?}", ended(&find));
        assert_eq!(disturbed(&Find { candidates: Vec::new(), ..find }), None);
    }
}
