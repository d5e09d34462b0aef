//! What a user reads first of every built-in study: an answer to the question that its file asks, in a whole sentence,
//! from made-up records with nothing in them, with a difference, with disturbed trials, and from a rehearsal.

use crate::report::fake::{self, Fake};
use crate::report::words::summarize;
use regex_lite::Regex;
use std::fs;
use std::path::Path;
use tare_results::open;
use tare_results::question::Question;
use tare_study::language::builtin::BUILTIN;

/// Conditions as the study's own factors make them; the first is the base.
fn conditions(study: &str) -> &'static [&'static str] {
    match study {
        "first-look" => &["placement=float", "placement=same-pu", "placement=other-node"],
        "tpcc" => &["placement=float", "placement=same-pu", "placement=same-node"],
        "luck" => &["placement=pairs-by-luck", "placement=pairs-by-design"],
        "mind-your-core" => {
            &["client=core:0 server=core:2-", "client=core:0 server=core:2", "bind=thread pairing=same-node"]
        }
        "numa-scaling" => &[
            "nodes=1 threads=2",
            "nodes=2 threads=2",
            "nodes=4 threads=2",
            "nodes=1 threads=4",
            "nodes=2 threads=4",
            "nodes=4 threads=4",
        ],
        "global-counters" => &[
            "generator=faithful strategy=atomic threads=1",
            "generator=faithful strategy=shard-cpu threads=1",
            "generator=faithful strategy=atomic threads=2",
            "generator=faithful strategy=shard-cpu threads=2",
        ],
        "single-thread-stability" => {
            &["aslr=on preload=off", "aslr=on preload=on", "aslr=off preload=off", "aslr=off preload=on"]
        }
        "query-21" => &[
            "preload=off memory=default",
            "preload=off memory=interleave:all",
            "preload=on memory=default",
            "preload=on memory=interleave:all",
        ],
        "no-effect-list" => &["base", "turbo=off", "memory=local", "memory=preferred:0"],
        other => panic!("{other} is a new study: name some of its conditions here"),
    }
}

/// What a first sentence may be, by the question that it answers.
fn shapes(question: &Question) -> &'static [&'static str] {
    match question {
        Question::Best(None) => &["no difference of throughput is shown between the", " moved throughput "],
        Question::Best(Some(_)) => &["is shown to be better than another", " is the best "],
        Question::Spread => &["no factor is shown to make trials vary more", " accounts for "],
        Question::Scaling => &["is more shown to give less", "more stops helping: "],
        Question::Effect => &["shown to move throughput", " moved throughput ", "no difference of throughput is shown"],
    }
}

/// Slips that no sentence may have: a name keeps its letters, so only our own words are looked at.
const SLIPS: [&str; 10] = [
    r"[a-z,] (No|None|The|What|Whether|More|Neither|Only|One) ",
    r"  ",
    r"\.\.",
    r" [,.;:]",
    r"\b1 (trials|conditions|ladders|steps|queries)\b",
    r"\b(NaN|inf)\b",
    r"\(\)",
    r"^[,.;:]",
    r"None of \S+ is",
    r"of 1 (ladder|condition)",
];

/// Made-up records of a built-in study; the second condition is so many times as fast as the others.
pub fn study(name: &'static str, gain: f64, trials: usize) -> fake::Study {
    let conditions = conditions(name).iter().enumerate().map(|(place, condition)| Fake {
        name: condition,
        tps: vec![20_000.0 * if place == 1 { gain } else { 1.0 }],
        between: 0.01,
        cpus: vec![[0, 4, 2, 6]],
    });
    fake::Study { name, conditions: conditions.collect(), trials, samples: 2, bad: Vec::new(), missing: 0 }
}

/// The first line of the study as a user would read it.
fn first_line(text: &str, study: &fake::Study, quick: bool, disturbed: &dyn Fn(u64) -> bool) -> String {
    let dir = tempfile::tempdir().unwrap();
    fake::write(study, dir.path());
    fs::write(dir.path().join("study.toml"), text).unwrap();
    change(
        &dir.path().join("environment.json"),
        |all| {
            if quick { all.replace("--engine mariadb", "--quick") } else { all }
        },
    );
    change(&dir.path().join("trials.jsonl"), |all| {
        let lines = all.lines().map(|line| {
            let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
            if disturbed(record["trial"].as_u64().unwrap()) {
                record["reason"] = "counted although disturbed, for no attempt is left: stress (77) took 76%".into();
            }
            record.to_string() + "\n"
        });
        lines.collect()
    });
    summarize(&open(dir.path()).unwrap()).answer.text
}

fn change(path: &Path, how: impl Fn(String) -> String) {
    fs::write(path, how(fs::read_to_string(path).unwrap())).unwrap();
}

#[test]
fn every_built_in_study_is_answered_in_a_whole_sentence() {
    let slips: Vec<Regex> = SLIPS.iter().map(|slip| Regex::new(slip).unwrap()).collect();
    for builtin in BUILTIN {
        let table: toml::Table = builtin.text.parse().unwrap();
        let question = Question::from_words(table["question"].as_str().unwrap()).unwrap();
        for (gain, trials, quick) in [(1.0, 10, false), (1.5, 10, false), (1.0, 2, true), (1.5, 2, true)] {
            let made = study(builtin.name, gain, trials);
            let all = (made.conditions.len() * trials) as u64;
            let none = |_: u64| false;
            let some = |trial: u64| trial < all / 4;
            let every = |_: u64| true;
            for (hit, disturbed) in [(0, &none as &dyn Fn(u64) -> bool), (1, &some), (2, &every)] {
                let line = first_line(builtin.text, &made, quick, disturbed);
                let about = format!("{} gain {gain}, {trials} trials, quick {quick}: {line}", builtin.name);
                assert!(line.ends_with('.'), "{about}");
                for slip in &slips {
                    assert!(!slip.is_match(&line), "{slip:?} in {about}");
                }
                let rest = line.strip_prefix("A rehearsal (--quick), too short to rely on: ");
                assert_eq!(rest.is_some(), quick, "{about}");
                let rest = rest.unwrap_or(&line).to_lowercase();
                assert_eq!(rest.contains("trials were disturbed"), hit > 0, "{about}");
                let answers = shapes(&question).iter().any(|shape| rest.contains(shape));
                assert!(
                    answers || rest.contains("cannot be answered here") || rest.contains("one trial a condition"),
                    "{about}"
                );
            }
        }
    }
}
