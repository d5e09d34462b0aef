//! The first sentence of every command, word for word: short, and with the figures of the table below it.

use super::first_lines::are_those_of_the_golden_file;
use super::why_sentences::whys;
use crate::support::one_line;
use regex_lite::Regex;
use tare_findings::ab::{Ab, AbVerdict, Control, Needed, ToGo};
use tare_findings::bisect::{Bisection, Cell, Commit};
use tare_findings::find::{Candidate, Fate, Find};
use tare_findings::history::{Change, History, MetricHistory, NotTested, Place, Point, Segment};
use tare_findings::reproduce::{Figure, Open, Reproduced, Why as NotYet};
use tare_report::terminal::{self, Style};
use tare_report::words::{ab, ab_rows, bisect, find, history_sentence, reproduce, why};
use tare_results::claim::Cannot;
use tare_results::laps::RaceStop;
use tare_results::levels_of;
use tare_results::metric::Better;
use tare_results::pairs::{Rule, Stop};
use tare_results::schema::{Duet, Race, Session, Settle};
use tare_results::unit::Unit;
use tare_stats::change_points::Drift;
use tare_stats::racing::Question;
use tare_stats::{Estimate, Interval};

const MOST_WORDS: usize = 25;

/// A comparison whose B takes `value` times as long as A.
fn compared(verdict: AbVerdict, value: f64, low: f64, high: f64) -> Ab {
    let sides = ["side=a".to_owned(), "side=b".to_owned()];
    Ab {
        metric: Some("tps".to_owned()),
        verdict,
        ratio: Some(1.0 / value),
        ci: Some(Interval { low: 1.0 / high, high: 1.0 / low }),
        slowdown: Some(Estimate { value, ci: Some(Interval { low, high }) }),
        pairs: 6,
        lost: 0,
        disturbed: 0,
        disturbed_alone: [0; 2],
        lost_alone: [0; 2],
        failed_alone: [0; 2],
        replaced: [false; 2],
        last_failed: None,
        elapsed_s: 87.0,
        pair_s: 12.4,
        hidden: 0.0,
        smallest_detectable: Some(0.034),
        to_go: ToGo::Pairs { about: Needed::More(11), at_most: Some(Needed::More(31)) },
        slot: None,
        sessions: 1,
        controls: Vec::new(),
        stop: None,
        by_turns: false,
        rule: Settle { minimum_effect: 0.02, budget_s: Some(600.0), ..Settle::between(sides, Rule::Looks, 1) },
    }
}

fn comparisons() -> Vec<(&'static str, Ab)> {
    let slower = || compared(AbVerdict::Slower, 1.031, 1.022, 1.04);
    let equivalent = || compared(AbVerdict::Equivalent, 1.001, 0.992, 1.01);
    let halves = Some(Duet { a: "side=a half=1".to_owned(), b: "side=b half=1".to_owned() });
    let duet = Settle { duet: halves, ..equivalent().rule };
    let undecided = || compared(AbVerdict::Undecided, 1.011, 0.985, 1.038);
    let moved = Control {
        name: "probe_chain_ns".to_owned(),
        ratio: Some(Estimate { value: 1.023, ci: Some(Interval { low: 1.012, high: 1.034 }) }),
        moved: true,
    };
    let over_sessions = |begun: usize, found: Ab| {
        let session = Session { first_block: 0, boot_id: None };
        let rule = Settle { rule: Rule::Sessions, sessions: 5, begun: vec![session; begun], ..found.rule.clone() };
        Ab { sessions: begun, rule, ..found }
    };
    let anew = ToGo::Pairs { about: Needed::Anew(29), at_most: Some(Needed::Anew(60)) };
    let sessions_more = ToGo::Sessions { about: Some(9), at_most: Some(20) };
    let open = Ab { ci: None, slowdown: None, ..undecided() };
    vec![
        ("slower", slower()),
        ("faster", compared(AbVerdict::Faster, 0.9, 0.8, 0.95)),
        ("equivalent", equivalent()),
        ("equivalent, disturbed", Ab { disturbed: 5, elapsed_s: 4800.0, ..equivalent() }),
        ("equivalent at once, disturbed", Ab { disturbed: 5, elapsed_s: 4800.0, rule: duet, ..equivalent() }),
        ("undecided", undecided()),
        ("undecided after the last look", Ab { to_go: anew, disturbed: 5, pair_s: 190.0, pairs: 18, ..undecided() }),
        ("undecided, nothing settles it", Ab { to_go: ToGo::TooMany, ..undecided() }),
        ("too few pairs", Ab { pairs: 3, to_go: ToGo::TooFew { first_look: 4 }, ..open.clone() }),
        ("no interval", Ab { pairs: 7, to_go: ToGo::Unknown, ..open.clone() }),
        ("none has a result", Ab { pairs: 0, lost: 5, stop: Some(Stop::LeftOut), ..open.clone() }),
        ("slower, disturbed", Ab { disturbed: 5, ..slower() }),
        ("undecided, disturbed", Ab { disturbed: 5, ..undecided() }),
        ("an untouched metric moved", Ab { controls: vec![moved], stop: Some(Stop::Control), ..slower() }),
        ("one side disturbed", Ab { disturbed_alone: [1, 5], stop: Some(Stop::OneSided), ..undecided() }),
        ("one side failed", Ab { lost: 6, failed_alone: [1, 5], stop: Some(Stop::FailsMore), ..undecided() }),
        ("a side was replaced", Ab { replaced: [false, true], stop: Some(Stop::Replaced), ..undecided() }),
        ("5 sessions", over_sessions(5, slower())),
        ("5 sessions, undecided", over_sessions(5, Ab { to_go: sessions_more, ..undecided() })),
        ("5 sessions, disturbed", over_sessions(5, Ab { disturbed: 5, ..slower() })),
        ("2 sessions of 5", over_sessions(2, open)),
    ]
}

fn race(decided: bool, values: [Option<f64>; 3]) -> Find {
    let names = ["placement=same-pu", "placement=same-node", "placement=float"];
    let candidate = |(name, value): (&str, Option<f64>)| Candidate {
        name: name.to_owned(),
        levels: levels_of(name),
        fate: Fate::Left,
        after: None,
        trials: 8,
        disturbed: 0,
        disturbed_alone: false,
        with_failed_attempts: 0,
        fails_more: false,
        ratio: None,
        value,
        p99_ms: None,
    };
    Find {
        metric: Some("tps".to_owned()),
        candidates: names.into_iter().zip(values).map(candidate).collect(),
        leader: values.iter().position(Option::is_some),
        decided,
        knobs: Vec::new(),
        tail: None,
        left_out: Vec::new(),
        blocks: 8,
        trials: 24,
        without_value: 0,
        disturbed: 0,
        elapsed_s: 150.0,
        cov: Some(0.01),
        behind: None,
        trials_to_go: Some(6),
        to_go_s: Some(40.0),
        replaced: None,
        stop: None,
        rule: Race::of(names.map(str::to_owned).to_vec(), Question { minimum_effect: 0.02, alpha: 0.05 }, 1),
    }
}

fn bisection(ends: Option<Ab>, chances: &[f64], cell: Option<Cell>) -> Bisection {
    let commit = |n: usize| Commit {
        id: n.to_string().repeat(40),
        subject: Some(format!("change {n}")),
        author_date: Some("2026-03-01T10:00:00+01:00".to_owned()),
        merged: Vec::new(),
    };
    let step = cell.as_ref().map(|_| compared(AbVerdict::Slower, 1.03, 1.02, 1.04));
    Bisection {
        line: (0..=4).map(commit).collect(),
        usable: vec![true; 5],
        chances: chances.to_vec(),
        confidence: 0.95,
        ends,
        cell,
        step,
        pairs: 31,
        disturbed: 4,
        builds: 4,
        elapsed_s: 1860.0,
    }
}

/// `runs` runs of two metrics, with a step at the seventh, a drift, or neither.
pub(super) fn history(step: Option<f64>, drift: Option<f64>, runs: usize) -> History {
    let line = |name: &str, ratio: Option<f64>, better: Better| {
        let first_end = if ratio.is_some() { 6 } else { runs };
        let estimate = |value: f64| Estimate { value, ci: Some(Interval { low: value - 0.01, high: value + 0.01 }) };
        let mean = |first: usize| if first == 0 { 1000.0 } else { 1000.0 * ratio.unwrap_or(1.0) };
        MetricHistory {
            condition: "base".to_owned(),
            name: name.to_owned(),
            unit: Unit::Plain,
            better,
            points: (0..runs)
                .map(|run| Point { run: format!("run-{run:03}"), time: None, value: mean(run / 6), outlier: false })
                .collect(),
            segments: [0..first_end, first_end..runs]
                .into_iter()
                .filter(|runs| !runs.is_empty())
                .map(|runs| Segment {
                    mean: mean(runs.start),
                    ci: None,
                    against_first: ratio.filter(|_| runs.start > 0).map(estimate),
                    runs,
                })
                .collect(),
            changes: ratio
                .map(|ratio| Change {
                    place: Place { first_after: 6, earliest: 6, latest: 6 },
                    ratio: estimate(ratio),
                    p_value: 0.01,
                    commits: None,
                    environment: Some(Vec::new()),
                })
                .into_iter()
                .collect(),
            drift: drift.map(|ratio| Drift { ratio: estimate(ratio), p_value: 0.01 }),
            not_tested: (runs < 6).then_some(NotTested::TooFewRuns),
        }
    };
    let lines =
        vec![line("tps", step, Better::Higher), line("latency_ms_p99", step.map(|step| 1.01 / step), Better::Lower)];
    History { lines, by_time: true, minimum_effect: 0.01, without: Vec::new(), gate: None }
}

/// Steps that may be one run before or two after the estimated place.
pub(super) fn uncertain(mut found: History) -> History {
    for change in found.lines.iter_mut().flat_map(|line| &mut line.changes) {
        let at = change.place.first_after;
        change.place = Place { earliest: at - 1, latest: at + 2, ..change.place };
    }
    found
}

fn claims() -> Vec<(&'static str, Vec<Option<Reproduced>>)> {
    let figure =
        Figure { value: 0.79, ci: None, again: None, trials: 6, disturbed: 0, servers: Vec::new(), compiled: None };
    let open = |why| Some(Reproduced::NotDecided(Open { figure: None, why, needs_s: Some(240.0) }));
    let cannot = || Some(Reproduced::CannotBeTested(Cannot::Nodes { needs: 2, has: 1 }));
    let holds = || Some(Reproduced::Holds(figure.clone()));
    vec![
        ("all hold", vec![holds(), holds()]),
        (
            "of each",
            vec![holds(), Some(Reproduced::DoesNotHold(figure.clone())), open(NotYet::Crosses), cannot(), cannot()],
        ),
        ("disturbed", vec![holds(), open(NotYet::Disturbed), open(NotYet::Disturbed), None]),
        ("one claim", vec![cannot()]),
    ]
}

fn races() -> Vec<(String, Find)> {
    let mut races = Vec::new();
    let values = [Some(30_100.0), Some(29_900.0), Some(20_000.0)];
    for (what, found) in
        [("named", race(true, values)), ("undecided", race(false, values)), ("no result", race(false, [None; 3]))]
    {
        let disturbed = Find { disturbed: 5, ..found.clone() };
        races.push((format!("{what}, disturbed"), disturbed));
        races.push((what.to_owned(), found));
    }
    let open = Find { trials_to_go: None, to_go_s: None, behind: Some(1.048), ..race(false, values) };
    let alone = |places: &[usize]| {
        let mut candidates = open.candidates.clone();
        places.iter().for_each(|place| candidates[*place].disturbed_alone = true);
        Find { candidates, ..open.clone() }
    };
    let mut failing = Find { stop: Some(RaceStop::FailsMore), ..open.clone() };
    (failing.candidates[0].with_failed_attempts, failing.candidates[0].fails_more) = (5, true);
    races.push(("a leader that fails".to_owned(), failing.clone()));
    let best_of_others = Find { behind: Some(1.004), ..alone(&[1, 2]) };
    // Names of three words, and the longest numbers.
    let long_names = |decided, open: Find| {
        let mut candidates = open.candidates.clone();
        for (place, candidate) in candidates.iter_mut().enumerate() {
            candidate.name = format!("client=node:0.core:{place} server=node:1.core:2 memory=interleave:all");
        }
        if decided {
            candidates[2].fate = Fate::Lost;
        }
        Find { candidates, decided, disturbed: 112, elapsed_s: 4800.0, to_go_s: open.to_go_s.map(|_| 4800.0), ..open }
    };
    races.push(("named, long names".to_owned(), long_names(true, race(true, values))));
    races.push(("undecided, long names".to_owned(), long_names(false, race(false, values))));
    let mut one_of_others = Find { behind: Some(1.004), ..alone(&[1]) };
    one_of_others.candidates[2].fate = Fate::Worse;
    for (what, found) in [
        ("by its spread", open.clone()),
        ("a failing leader", failing),
        ("disturbed alone", alone(&[1])),
        ("all disturbed alone", best_of_others.clone()),
        ("one disturbed alone", one_of_others),
    ] {
        races.push((format!("undecided {what}, long names"), long_names(false, found)));
    }
    for (what, found) in
        [("by its spread", open.clone()), ("disturbed alone", alone(&[1])), ("all disturbed alone", best_of_others)]
    {
        races.push((format!("undecided {what}"), Find { disturbed: 12, ..found }));
    }
    races
}

#[test]
fn every_command_answers_in_one_short_sentence_that_agrees_with_its_table() {
    let mut sentences: Vec<(String, String)> = Vec::new();
    let figure = Regex::new(r"\d+(\.\d+)?%?").unwrap();
    for (what, found) in comparisons() {
        let (sentence, rows) = (ab::sentence(&found), ab_rows::rows(&found));
        for number in figure.find_iter(&sentence) {
            let is_there = rows.iter().any(|(name, value)| {
                let row = format!("{name} {value}");
                figure.find_iter(&row).any(|own| own.as_str() == number.as_str())
            });
            assert!(is_there, "{} of {sentence:?} stands in no row of {rows:#?}", number.as_str());
        }
        sentences.push((format!("ab, {what}"), sentence));
    }
    sentences.extend(races().iter().map(|(what, found)| (format!("find, {what}"), find::sentence(found))));
    let slower = || Some(compared(AbVerdict::Slower, 1.031, 1.022, 1.04));
    let chances = [0.01, 0.97, 0.01, 0.01];
    let cell = |commits| Some(Cell { commits, chance: 0.97 });
    let other = |verdict, value| Some(compared(verdict, value, value - 0.01, value + 0.01));
    for (what, found) in [
        ("one commit", bisection(slower(), &chances, cell(2..=2))),
        ("two commits", bisection(slower(), &chances, cell(2..=3))),
        (
            "not confirmed",
            Bisection { step: other(AbVerdict::Equivalent, 1.001), ..bisection(slower(), &chances, cell(2..=3)) },
        ),
        ("most likely", bisection(slower(), &chances, None)),
        ("no difference", bisection(other(AbVerdict::Equivalent, 1.001), &[], None)),
        ("faster", bisection(other(AbVerdict::Faster, 0.9), &[], None)),
        ("undecided", bisection(other(AbVerdict::Undecided, 1.01), &[], None)),
    ] {
        sentences.push((format!("bisect, {what}"), bisect::sentence(&found)));
    }
    for (what, found) in whys() {
        let sentence = why::why(&found);
        let tables = terminal::why(&found, Style::default());
        borne_out(&sentence, &tables);
        // Parts have shares only of a difference that is shown.
        assert_eq!(tables.contains("share"), found.own().shown, "{tables}");
        sentences.push((format!("why, {what}"), sentence));
    }
    for (what, found) in [
        ("a step", history(Some(0.979), None, 12)),
        ("a step of uncertain place", uncertain(history(Some(0.979), None, 12))),
        ("a drift", history(None, Some(0.95), 12)),
        ("nothing", history(None, None, 12)),
        ("too few", history(None, None, 5)),
    ] {
        let sentence = history_sentence(&found);
        borne_out(&sentence, &terminal::history(&found, None, Style::default()));
        sentences.push((format!("history, {what}"), sentence));
    }
    for (what, found) in claims() {
        let sentence = reproduce::sentence(found.iter().map(Option::as_ref));
        let counts: Vec<usize> = figure.find_iter(&sentence).map(|own| own.as_str().parse().unwrap()).collect();
        let verdicts: Vec<&str> = found.iter().map(|own| reproduce::verdict(own.as_ref())).collect();
        assert_eq!(counts[0], verdicts.iter().filter(|verdict| **verdict == "holds").count(), "{sentence}");
        assert_eq!(counts[1], counts.iter().sum::<usize>() - counts[1], "{sentence}");
        assert_eq!(counts[1], found.len(), "{sentence}");
        sentences.push((format!("reproduce, {what}"), sentence));
    }
    let mut golden = String::new();
    for (what, sentence) in sentences {
        assert!(sentence.ends_with('.') && sentence.split_whitespace().count() <= MOST_WORDS, "{what}: {sentence}");
        golden += &format!("{what}:\n  {sentence}\n");
    }
    are_those_of_the_golden_file(&golden, "first_sentences_of_commands.txt");
}

/// Every figure of the sentence must also be in the text below it.
fn borne_out(sentence: &str, all: &str) {
    let figure = Regex::new(r"\d+(\.\d+)?").unwrap();
    let plain = |number: &str| match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => number.to_owned(),
    };
    let flat = one_line(all);
    let below = flat.replacen(&one_line(sentence), "", 1);
    assert_ne!(below, flat, "{sentence:?} is not the first of {all}");
    let known: Vec<String> = figure.find_iter(&below).map(|own| plain(own.as_str())).collect();
    for number in figure.find_iter(sentence) {
        assert!(
            known.contains(&plain(number.as_str())),
            "{} of {sentence:?} stands nowhere in {below}",
            number.as_str()
        );
    }
}
