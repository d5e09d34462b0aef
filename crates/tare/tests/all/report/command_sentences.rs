//! What a user reads first of `tare ab`, `tare find` and `tare bisect`, word for word: short, and of `ab` with the
//! figures of the table below it.

use super::first_lines::are_those_of_the_golden_file;
use regex_lite::Regex;
use tare_findings::ab::{Ab, AbVerdict, Control};
use tare_findings::bisect::{Bisection, Cell, Commit};
use tare_findings::find::{Candidate, Fate, Find};
use tare_report::words::{ab, bisect, find};
use tare_results::levels_of;
use tare_results::pairs::{Rule, Stop};
use tare_results::schema::{Race, Session, Settle};
use tare_stats::{Estimate, Interval};

const MOST_WORDS: usize = 25;

/// A comparison whose B takes so many times as long as A.
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
        disturbed: 1,
        elapsed_s: 87.0,
        pair_s: 12.4,
        smallest_detectable: Some(0.034),
        pairs_to_go: Some(11),
        pairs_to_go_at_most: Some(31),
        slot: None,
        sessions: 1,
        controls: Vec::new(),
        stop: None,
        rule: Settle { minimum_effect: 0.02, budget_s: Some(600.0), ..Settle::between(sides, Rule::Looks, 1) },
    }
}

fn comparisons() -> Vec<(&'static str, Ab)> {
    let slower = || compared(AbVerdict::Slower, 1.031, 1.022, 1.04);
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
    let open = Ab { ci: None, slowdown: None, ..undecided() };
    vec![
        ("slower", slower()),
        ("faster", compared(AbVerdict::Faster, 0.9, 0.8, 0.95)),
        ("equivalent", compared(AbVerdict::Equivalent, 1.001, 0.992, 1.01)),
        ("undecided", undecided()),
        ("undecided, nothing settles it", Ab { pairs_to_go: None, pairs_to_go_at_most: None, ..undecided() }),
        ("no interval", Ab { pairs: 1, ..open.clone() }),
        ("all left out", Ab { pairs: 0, disturbed: 5, stop: Some(Stop::LeftOut), ..open.clone() }),
        ("an untouched metric moved", Ab { controls: vec![moved], stop: Some(Stop::Control), ..slower() }),
        ("5 sessions", over_sessions(5, slower())),
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
        elapsed_s: 150.0,
        cov: Some(0.01),
        trials_to_go: Some(6),
        to_go_s: Some(40.0),
        stop: None,
        rule: Race {
            candidates: names.map(str::to_owned).to_vec(),
            metric: None,
            minimum_effect: 0.02,
            alpha: 0.05,
            budget_s: None,
            seed: 1,
            sessions: 1,
        },
    }
}

fn bisection(ends: Option<Ab>, chances: &[f64], cell: Option<Cell>) -> Bisection {
    let commit = |n: usize| Commit {
        id: n.to_string().repeat(40),
        subject: Some(format!("change {n}")),
        author_date: Some("2026-03-01T10:00:00+01:00".to_owned()),
        merged: Vec::new(),
    };
    Bisection {
        line: (0..=4).map(commit).collect(),
        usable: vec![true; 5],
        chances: chances.to_vec(),
        confidence: 0.95,
        ends,
        cell,
        step: None,
        pairs: 31,
        builds: 4,
        elapsed_s: 1860.0,
    }
}

#[test]
fn every_command_answers_in_one_short_sentence_that_its_table_bears_out() {
    let mut said: Vec<(String, String)> = Vec::new();
    let figure = Regex::new(r"\d+(\.\d+)?%?").unwrap();
    for (what, found) in comparisons() {
        let (sentence, rows) = (ab::sentence(&found), ab::rows(&found));
        for number in figure.find_iter(&sentence) {
            let is_there = rows.iter().any(|(name, value)| {
                let row = format!("{name} {value}");
                figure.find_iter(&row).any(|own| own.as_str() == number.as_str())
            });
            assert!(is_there, "{} of {sentence:?} stands in no row of {rows:#?}", number.as_str());
        }
        said.push((format!("ab, {what}"), sentence));
    }
    let values = [Some(30_100.0), Some(29_900.0), Some(20_000.0)];
    for (what, found) in
        [("named", race(true, values)), ("undecided", race(false, values)), ("no result", race(false, [None; 3]))]
    {
        said.push((format!("find, {what}"), find::sentence(&found)));
    }
    let slower = || Some(compared(AbVerdict::Slower, 1.031, 1.022, 1.04));
    let chances = [0.01, 0.97, 0.01, 0.01];
    let cell = |commits| Some(Cell { commits, chance: 0.97 });
    let other = |verdict, value| Some(compared(verdict, value, value - 0.01, value + 0.01));
    for (what, found) in [
        ("one commit", bisection(slower(), &chances, cell(2..=2))),
        ("two commits", bisection(slower(), &chances, cell(2..=3))),
        ("most likely", bisection(slower(), &chances, None)),
        ("no difference", bisection(other(AbVerdict::Equivalent, 1.001), &[], None)),
        ("faster", bisection(other(AbVerdict::Faster, 0.9), &[], None)),
        ("undecided", bisection(other(AbVerdict::Undecided, 1.01), &[], None)),
    ] {
        said.push((format!("bisect, {what}"), bisect::sentence(&found)));
    }
    let mut golden = String::new();
    for (what, sentence) in said {
        assert!(sentence.ends_with('.') && sentence.split_whitespace().count() <= MOST_WORDS, "{what}: {sentence}");
        golden += &format!("{what}:\n  {sentence}\n");
    }
    are_those_of_the_golden_file(&golden, "first_sentences_of_commands.txt");
}
