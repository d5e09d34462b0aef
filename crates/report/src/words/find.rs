//! Sentences of a race: the answer, the line after each block, and why it stopped.

use super::terms::first_that_fits;
use crate::figures::times;
use tare_findings::find::{Candidate, Fate, Find, Knob, Open, TAIL};
use tare_results::laps::RaceStop;
use tare_stats::{Estimate, Interval};
use tare_text::{count, duration, list, percent, small_percent, was};

/// One sentence of at most 25 words; with long names, it leaves out times, which are in the table.
pub fn sentence(find: &Find) -> String {
    first_that_fits([true, false].map(|timed| written(find, timed)))
}

fn written(find: &Find, timed: bool) -> String {
    let spent = if timed { format!(" in {}", duration(find.elapsed_s)) } else { String::new() };
    let trials = format!("{}{spent}", count(find.trials, "trial"));
    let all = find.candidates.len();
    let disturbed = match find.disturbed {
        0 => String::new(),
        trials if timed => format!(", {trials} of them disturbed"),
        trials => format!(", {trials} disturbed"),
    };
    if let Some(replaced) = find.replaced.and_then(|place| find.candidates.get(place)) {
        return format!("No verdict after {trials}: the program of {} was replaced between its trials.", replaced.name);
    }
    match find.ahead() {
        None => format!("No candidate of {all} has a result after {trials}{disturbed}."),
        Some(named) if find.decided => {
            let (name, effect, sure) = (&named.name, small_percent(find.rule.minimum_effect), confidence(find));
            // Nothing is known of candidates without results.
            let all = match find.candidates.iter().filter(|candidate| candidate.fate == Fate::Lost).count() {
                0 => all.to_string(),
                lost => format!("{} ({lost} failed)", all - lost),
            };
            format!(
                "{name} is the best of {all}, or within {effect} of the best ({sure} confidence): {trials}{disturbed}."
            )
        }
        Some(ahead) => {
            let (left, name, alone) = (find.left().count(), &ahead.name, open_and_disturbed(find).count());
            let after = format!("Undecided after {trials}");
            let were = was(alone);
            match find.open() {
                Some(Open::FailsMore) => {
                    format!("{after}: {left} of {all} remain; {name} leads, but its attempts failed more often.")
                }
                Some(Open::BestOfOthers) if alone + 1 == all => {
                    format!("{after}: every candidate but {name} was disturbed more often, so there is no verdict.")
                }
                Some(Open::BestOfOthers) => {
                    let effect = small_percent(find.rule.minimum_effect);
                    format!(
                        "{after}: {alone} of {all} {were} disturbed more often; {name} is the best of the others, or \
                         within {effect}."
                    )
                }
                Some(Open::DisturbedAlone) => {
                    let at_most = |ratio| format!(", or is at most {} behind", over(ratio));
                    let behind = find.known_behind().map_or_else(String::new, at_most);
                    format!(
                        "{after}: {left} of {all} remain, {alone} disturbed more often; {name} leads the \
                         others{behind}."
                    )
                }
                Some(Open::Behind(ratio)) => format!(
                    "{after}{disturbed}: {left} of {all} remain, {name} is ahead, or at most {} behind the best.",
                    over(ratio)
                ),
                None => format!("{after}{disturbed}: {left} of {all} remain, {name} is ahead; {}.", to_go(find, timed)),
            }
        }
    }
}

/// By how much a ratio exceeds 1, in percent.
fn over(ratio: f64) -> String {
    percent((ratio - 1.0).max(0.0))
}

fn confidence(find: &Find) -> String {
    percent(1.0 - find.rule.alpha)
}

fn to_go(find: &Find, timed: bool) -> String {
    match (find.trials_to_go, find.to_go_s) {
        (Some(trials), Some(_)) if !timed => format!("about {} to go", count(trials, "trial")),
        (Some(trials), Some(seconds)) => format!("about {} ({}) to go", count(trials, "trial"), duration(seconds)),
        _ => "the remaining time is unknown".to_owned(),
    }
}

pub fn line(find: &Find) -> String {
    let left = find.left().count();
    let head = format!("block {}: {left} of {} remain", find.blocks, find.candidates.len());
    let Some(ahead) = find.ahead() else { return format!("{head}, none with a result") };
    let open = match find.open() {
        _ if find.decided => String::new(),
        Some(Open::FailsMore) => "; no verdict for it, as its attempts failed more often".to_owned(),
        Some(Open::BestOfOthers | Open::DisturbedAlone) => {
            let names = list(&named_as_disturbed(find));
            format!("; undecided while these are disturbed more often than the leader: {names}")
        }
        Some(Open::Behind(ratio)) => {
            let cov = find.cov.map_or_else(String::new, |cov| format!(" (CoV of a trial {})", percent(cov)));
            format!(", at most {} behind the best; not decided by the last look if the spread stays{cov}", over(ratio))
        }
        None => format!("; {}", to_go(find, true)),
    };
    format!("{head}, {} is ahead{open}", ahead.name)
}

pub(crate) fn fate(candidate: &Candidate, find: &Find) -> String {
    let after = candidate.after.map(|after| format!(", block {after}")).unwrap_or_default();
    match candidate.fate {
        Fate::Named => "named".to_owned(),
        Fate::Left => "remains".to_owned(),
        Fate::Worse => format!("worse{after}"),
        Fate::Close => format!("not {} better{after}", small_percent(find.rule.minimum_effect)),
        Fate::Lost => format!("no results{after}"),
    }
}

/// Which candidates left the race and when, the last first, and why it stopped undecided; adds to [`sentence`].
pub(crate) fn ended(find: &Find) -> Vec<String> {
    const LISTED: usize = 4;
    let mut gone: Vec<&Candidate> = find.candidates.iter().filter(|candidate| candidate.after.is_some()).collect();
    gone.sort_by_key(|candidate| std::cmp::Reverse(candidate.after));
    let named = gone.iter().take(LISTED).map(|candidate| format!("{} ({})", candidate.name, fate(candidate, find)));
    let more = gone.len().saturating_sub(LISTED);
    let names: Vec<String> = named.chain((more > 0).then(|| format!("{more} more"))).collect();
    let of = find.candidates.len();
    let dropped = (!gone.is_empty()).then(|| format!("Dropped {} of {of}: {}.", gone.len(), list(&names)));
    let stopped = stopped(find).map(|why| format!("Stopped: {why}."));
    let disturbed = disturbed(find).map(|what| format!("Disturbed: {what}."));
    let failed = failed(find).map(|what| format!("Failed: {what}."));
    dropped.into_iter().chain(stopped).chain(disturbed).chain(failed).collect()
}

/// The candidates whose attempts failed more often; `None` if there are none.
pub(crate) fn failed(find: &Find) -> Option<String> {
    let often = |of: &Candidate| {
        let trials = count(of.trials.max(of.with_failed_attempts), "trial");
        format!("{} ({} of {trials})", of.name, of.with_failed_attempts)
    };
    let names: Vec<String> = find.failing_more().map(often).collect();
    (!names.is_empty()).then(|| {
        format!(
            "attempts of {} failed alone more often than those of others: the other ones may be a selection of the \
             fast ones, so nothing is claimed in their favour; see the reasons with tare show, and race again without \
             what fails",
            list(&names)
        )
    })
}

/// The candidates that could not be dropped because they were disturbed alone; `None` if that prevents no decision.
pub(crate) fn disturbed(find: &Find) -> Option<String> {
    let names = named_as_disturbed(find);
    (!names.is_empty()).then(|| {
        format!(
            "{}, more often than the leader: they cannot be dropped, and more trials do not help while this lasts; \
             find the cause with tare show, stop it or leave the candidate out, and race again",
            list(&names)
        )
    })
}

/// The remaining candidates that were disturbed alone.
fn open_and_disturbed(find: &Find) -> impl Iterator<Item = &Candidate> {
    find.disturbed_alone().filter(|of| of.fate == Fate::Left)
}

/// Their names, with the number of disturbed trials.
fn named_as_disturbed(find: &Find) -> Vec<String> {
    let often = |of: &Candidate| format!("{} ({} of {})", of.name, of.disturbed, count(of.trials, "trial"));
    open_and_disturbed(find).map(often).collect()
}

/// The trade-off between throughput and tail latency: the best candidate of each.
pub(crate) fn trade(find: &Find) -> Option<String> {
    let ahead = find.ahead()?;
    ahead.p99_ms?;
    let Some(tail) = &find.tail else {
        let is_compared = find.candidates.iter().filter(|candidate| candidate.p99_ms.is_some()).count() > 1;
        return is_compared.then(|| format!("{TAIL}: no other candidate's is lower than that of {}", ahead.name));
    };
    let other = find.candidates.get(tail.candidate)?;
    let (low, paid) = (ratio(tail.p99_ratio), other.ratio.map_or_else(String::new, ratio));
    let shown = tail.p99_ratio.ci.is_some_and(|ci| ci.high < 1.0);
    let sure = if shown { "" } else { "; not shown to be lower" };
    let metric = find.metric.as_deref().unwrap_or("the metric");
    Some(format!("{TAIL}: lowest with {}, {low} of that of {}{sure}; its {metric} is {paid}", other.name, ahead.name))
}

/// The cost of a level compared with the named one.
pub(crate) fn knob(knob: &Knob) -> String {
    format!("{}: {} in place of {} is {}", knob.factor, knob.level, knob.best, ratio(knob.ratio))
}

/// The interval, unless it is too wide to be useful: if it contains 1 and is wider than a hundredfold, as after two
/// blocks.
pub(crate) fn shown_interval(ci: Option<Interval>) -> Option<Interval> {
    ci.filter(|ci| !ci.contains(1.0) || ci.high < 100.0 * ci.low)
}

fn ratio(of: Estimate) -> String {
    match shown_interval(of.ci) {
        Some(Interval { low, high }) => format!("{} ({} to {})", times(of.value), times(low), times(high)),
        None => times(of.value),
    }
}

/// Why it stopped undecided; `None` if it is decided or still running.
pub(crate) fn stopped(find: &Find) -> Option<String> {
    let why = match find.stop? {
        RaceStop::Decided => return None,
        RaceStop::LastLook => return Some(last_look(find)),
        RaceStop::Budget => "no further block fits into the time",
        RaceStop::NoneLeft => "no candidate has a result: its trials failed, or the metric is 0 or below",
        RaceStop::FailsMore => {
            "the other trials of a candidate that fails more often may be a selection: it is not named"
        }
        RaceStop::Replaced => "begin another race, with programs that stay: blocks of two programs do not add up",
    };
    Some(why.to_owned())
}

fn last_look(find: &Find) -> String {
    let ended = "the last planned look is over";
    match (find.open(), find.cov) {
        (Some(Open::FailsMore | Open::BestOfOthers | Open::DisturbedAlone), _) => ended.to_owned(),
        (Some(Open::Behind(ratio)), Some(cov)) => format!(
            "{ended}: at a CoV of {} between trials, a --minimum-effect of about {} would be decided; for {} quieten \
             the machine (tare doctor) or measure longer samples",
            percent(cov),
            over(ratio),
            small_percent(find.rule.minimum_effect)
        ),
        _ => format!("{ended}: use a larger --minimum-effect"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_findings::find::Tail;
    use tare_results::schema::{Levels, Race};
    use tare_stats::racing::Question;

    /// Candidates with their fates and the number of their 8 trials that were disturbed; from 3 on they count as
    /// disturbed alone.
    fn made_up(of: &[(&str, Fate, usize)], rule: Race) -> Find {
        let candidate = |(name, fate, disturbed): &(&str, Fate, usize)| Candidate {
            name: (*name).to_owned(),
            levels: Levels::default(),
            fate: *fate,
            after: None,
            trials: 8,
            disturbed: *disturbed,
            disturbed_alone: *disturbed > 2,
            with_failed_attempts: 0,
            fails_more: false,
            value: None,
            ratio: None,
            p99_ms: None,
        };
        Find {
            metric: None,
            candidates: of.iter().map(candidate).collect(),
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
            behind: None,
            trials_to_go: None,
            to_go_s: None,
            replaced: None,
            stop: Some(RaceStop::LastLook),
            rule,
        }
    }

    fn rule() -> Race {
        Race::of(Vec::new(), Question { minimum_effect: 0.02, alpha: 0.05 }, 1)
    }

    #[test]
    fn an_interval_without_information_is_left_out() {
        let message = |low, high| ratio(Estimate { value: 0.5, ci: Some(Interval { low, high }) });
        assert_eq!(message(1e-17, 1.4e16), "0.50x");
        assert_eq!(message(0.4, 1.2), "0.50x (0.40x to 1.20x)");
        assert!(message(0.001, 0.9).contains("to 0.90x"), "{}", message(0.001, 0.9));
    }

    #[test]
    fn a_candidate_without_results_is_none_of_those_that_the_best_is_the_best_of() {
        let best_of = |fate| {
            let of = [("a", Fate::Named, 0), ("b", Fate::Worse, 0), ("c", fate, 0)];
            sentence(&Find { decided: true, ..made_up(&of, rule()) })
        };
        let all = best_of(Fate::Worse);
        assert!(all.starts_with("a is the best of 3, or within 2.0% of the best (95% confidence): "), "{all}");
        let known = best_of(Fate::Lost);
        assert!(known.starts_with("a is the best of 2 (1 failed), or within 2.0%"), "{known}");
        assert!(known.split_whitespace().count() <= 25, "{known}");
        let mut find = made_up(&[("a", Fate::Named, 0), ("b", Fate::Lost, 0)], rule());
        find.candidates[0].p99_ms = Some(2.0);
        assert_eq!(trade(&find), None, "there is no other one");
        find.candidates[1].p99_ms = Some(3.0);
        assert_eq!(trade(&find).as_deref(), Some("latency_ms_p99: no other candidate's is lower than that of a"));
    }

    #[test]
    fn the_price_of_a_level_and_of_the_lowest_latency_is_in_both_directions() {
        let of = |value: f64| Estimate { value, ci: Some(Interval { low: value - 0.05, high: value + 0.05 }) };
        let [best, level] = ["8G", "1G"].map(str::to_owned);
        let found = Knob { factor: "pool".to_owned(), best, level, ratio: of(0.8), pairs: 2 };
        assert_eq!(knob(&found), "pool: 1G in place of 8G is 0.80x (0.75x to 0.85x)");
        let mut find = made_up(&[("a", Fate::Named, 0), ("b", Fate::Worse, 0)], rule());
        find.candidates.iter_mut().for_each(|one| one.p99_ms = Some(4.0));
        assert_eq!(trade(&find).unwrap(), format!("{TAIL}: no other candidate's is lower than that of a"));
        find.candidates[1].ratio = Some(of(0.9));
        find.metric = Some("tps".to_owned());
        find.tail = Some(Tail { candidate: 1, p99_ratio: of(0.7) });
        let expected = "lowest with b, 0.70x (0.65x to 0.75x) of that of a; its tps is 0.90x (0.85x to 0.95x)";
        assert_eq!(trade(&find).unwrap(), format!("{TAIL}: {expected}"));
        find.tail = Some(Tail { candidate: 1, p99_ratio: of(0.98) });
        assert!(trade(&find).unwrap().contains("; not shown to be lower; its tps"));
    }

    #[test]
    fn an_undecided_race_names_candidates_that_alone_were_disturbed() {
        let of = [("a", Fate::Left, 0), ("b", Fate::Left, 5), ("c", Fate::Left, 1), ("d", Fate::Worse, 4)];
        let find = made_up(&of, rule());
        let message = disturbed(&find).unwrap();
        assert!(message.starts_with("b (5 of 8 trials), more often than the leader"), "{message}");
        assert!(ended(&find).last().is_some_and(|last| last.contains(&message)), "{:?}", ended(&find));
        // Another candidate remains that was not disturbed.
        let text = sentence(&Find { behind: Some(1.048), ..find.clone() });
        assert!(
            text.contains("3 of 4 remain, 1 disturbed more often; a leads the others, or is at most 4.8%"),
            "{text}"
        );
        assert!(
            line(&find).contains("undecided while these are disturbed more often than the leader: b (5 of 8"),
            "{}",
            line(&find)
        );
        let mut candidates = find.candidates.clone();
        candidates[2].fate = Fate::Close;
        // It may still be far behind the leader.
        assert_eq!(fate(&candidates[2], &find), "not 2.0% better");
        let others = Find { behind: Some(1.011), candidates, ..find.clone() };
        let text = sentence(&others);
        assert!(
            text.contains("1 of 4 was disturbed more often; a is the best of the others, or within 2.0%"),
            "{text}"
        );
        // Too far behind to be named.
        assert!(!sentence(&Find { behind: Some(1.021), ..others }).contains("the best of"));
        assert_eq!(disturbed(&Find { candidates: Vec::new(), ..find }), None);
    }

    #[test]
    fn a_leader_that_fails_more_often_is_not_named_and_it_is_said() {
        let mut find = made_up(&[("a", Fate::Left, 0), ("b", Fate::Left, 0), ("c", Fate::Lost, 0)], rule());
        find.stop = Some(RaceStop::FailsMore);
        for (place, failed) in [(0, 5), (2, 8)] {
            (find.candidates[place].with_failed_attempts, find.candidates[place].fails_more) = (failed, true);
        }
        assert!(sentence(&find).ends_with("2 of 3 remain; a leads, but its attempts failed more often."));
        assert!(line(&find).ends_with("a is ahead; no verdict for it, as its attempts failed more often"));
        let why = failed(&find).unwrap();
        // Of a candidate without results there is nothing to select from.
        assert!(why.starts_with("attempts of a (5 of 8 trials) failed alone more often than those of others"), "{why}");
        assert!(stopped(&find).is_some_and(|why| why.ends_with("it is not named")));
        assert!(ended(&find).last().is_some_and(|last| last.contains(&why)), "{:?}", ended(&find));
    }

    #[test]
    fn an_undecided_race_reports_what_it_shows_and_what_would_decide_it() {
        let of = [("a", Fate::Left, 0), ("b", Fate::Left, 1)];
        let find = Find { behind: Some(1.094), cov: Some(0.14), ..made_up(&of, rule()) };
        assert!(
            sentence(&find).ends_with("2 of 2 remain, a is ahead, or at most 9.4% behind the best."),
            "{}",
            sentence(&find)
        );
        assert!(line(&find).contains("at most 9.4% behind the best; not decided by the last look"), "{}", line(&find));
        let why = stopped(&find).unwrap();
        assert!(why.contains("a --minimum-effect of about 9.4%") && why.contains("for 2.0% quieten"), "{why}");
        // A limit that is too large to be useful is not printed.
        let unknown = Find { behind: Some(2.6e8), ..find };
        assert!(sentence(&unknown).ends_with("a is ahead; the remaining time is unknown."), "{}", sentence(&unknown));
    }
}
