//! The first sentence for every built-in study: an answer to the question in its file, in a whole sentence, for
//! generated records without a difference, with a difference, with disturbed trials, and from a rehearsal.

use crate::report::fake::{self, Fake};
use crate::report::words::summarize;
use crate::support::{World, json};
use regex_lite::{Captures, Regex};
use std::fs;
use std::path::Path;
use tare_findings::mode::Middle;
use tare_report::words::AnswerJson;
use tare_results::open;
use tare_results::question::Question;
use tare_study::language::builtin::BUILTIN;

/// Conditions as from the study's own factors; the first is the base.
fn conditions(study: &str) -> &'static [&'static str] {
    match study {
        "first-look" => &["placement=float", "placement=same-pu", "placement=other-node"],
        "side-by-side" | "insert-benchmark" => &["binary=10.11.5", "binary=10.11.19"],
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
        "node-matrix" => &[
            "client=node:0.core:0 server=node:0.core:1 memory=bind:0",
            "client=node:0.core:0 server=node:1.core:1 memory=bind:0",
            "client=node:1.core:0 server=node:0.core:1 memory=bind:0",
            "client=node:1.core:0 server=node:1.core:1 memory=bind:0",
        ],
        "huge-or-near" => &[
            "memory=bind:0 thp=always",
            "memory=bind:1 thp=always",
            "memory=bind:0 thp=never",
            "memory=bind:1 thp=never",
        ],
        "microbenchmarks" => &[
            "binary=10.11.5 transaction=point_query",
            "binary=10.11.19 transaction=point_query",
            "binary=10.11.5 transaction=scan",
            "binary=10.11.19 transaction=scan",
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

/// The possible first sentences for each question.
fn shapes(question: &Question) -> &'static [&'static str] {
    match question {
        Question::Best(None) => {
            &["no difference of throughput is shown between the", " moved throughput ", "the conditions differ "]
        }
        Question::Best(Some(_)) => &["is shown to be better than another", " is the best ", "levels differ"],
        Question::Spread => &["no factor is shown to make trials vary more", " accounts for "],
        Question::Scaling => &["shows negative scaling", "negative scaling: "],
        Question::Effect => &[
            "shown to move throughput",
            " moved throughput ",
            "the conditions differ ",
            "no difference of throughput is shown",
            "difference is shown on any",
            "shown to move the rates of 3 steps on average",
            " moved the rates of 3 steps on average ",
        ],
    }
}

/// Mistakes that no sentence may contain. Only tare's own words are checked, because names are not changed.
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

/// Generated records of a built-in study; the second condition is `gain` times as fast as the others.
pub fn study(name: &'static str, gain: f64, trials: usize) -> fake::Study {
    let conditions = conditions(name).iter().enumerate().map(|(place, condition)| Fake {
        name: condition,
        tps: vec![20_000.0 * if place == 1 { gain } else { 1.0 }],
        between: 0.01,
        cpus: vec![[0, 4, 2, 6]],
    });
    fake::Study { name, conditions: conditions.collect(), trials, samples: 2, bad: Vec::new(), missing: 0 }
}

/// The answer of a study, and what the table shows of every condition: its mean or its modes, and its range.
struct Reported {
    answer: AnswerJson,
    figures: Vec<f64>,
    /// The ratios in the table of effects, and those of its means.
    ratios: Vec<f64>,
}

/// The study as a user would read it; disturbed trials are marked, or left out as if they had not run.
fn reported(
    text: &str,
    study: &fake::Study,
    quick: bool,
    disturbed: &dyn Fn(u64) -> bool,
    leave_out: bool,
) -> Reported {
    let dir = fake::dir(study);
    fs::write(dir.path().join("study.toml"), text).unwrap();
    change(
        &dir.path().join("environment.json"),
        |all| {
            if quick { all.replace("--engine mariadb", "--quick") } else { all }
        },
    );
    fake::disturb(dir.path(), disturbed, 1.0);
    change(&dir.path().join("trials.jsonl"), |all| {
        let kept = |line: &&str| !leave_out || !line.contains("counted although disturbed");
        all.lines().filter(kept).map(|line| line.to_owned() + "\n").collect()
    });
    let summary = summarize(&open(dir.path()).unwrap());
    let metrics = summary.conditions.iter().flat_map(|condition| &condition.metrics);
    let figures = metrics.flat_map(|metric| match metric.middle() {
        Middle::Mean(mean, _) => vec![mean, metric.min, metric.max],
        Middle::Modes(modes) => modes.iter().map(|mode| mode.mean).chain([metric.min, metric.max]).collect(),
        Middle::Range(least, most) => vec![least, most],
    });
    let figures = figures.collect();
    let effects = summary.effects.iter().map(|effect| effect.mean_ratio);
    let means = || summary.conditions.iter().flat_map(|condition| &condition.metrics).map(|metric| metric.mean);
    let ratios = effects.chain(means().flat_map(|one| means().map(move |other| one / other))).collect();
    Reported { answer: summary.answer, figures, ratios }
}

fn change(path: &Path, how: impl Fn(String) -> String) {
    fs::write(path, how(fs::read_to_string(path).unwrap())).unwrap();
}

#[test]
fn the_answer_begins_with_disturbed_or_rehearsal_if_it_applies() {
    let mut made = study("first-look", 1.0, 1);
    made.conditions.truncate(1);
    let text = BUILTIN.iter().find(|builtin| builtin.name == "first-look").unwrap().text;
    let line = |quick, disturbed: &dyn Fn(u64) -> bool| reported(text, &made, quick, disturbed, false).answer.text;
    let (clean, disturbed) = (line(false, &|_| false), line(false, &|_| true));
    assert!(clean.starts_with("Only ") && disturbed == format!("Disturbed: {clean}"), "{clean} {disturbed}");
    assert_eq!(line(true, &|_| true), format!("Disturbed rehearsal: {clean}"));
}

#[test]
fn every_built_in_study_is_answered_in_one_short_sentence_that_agrees_with_its_table() {
    let mut golden = String::new();
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
            // In a rehearsal, all its trials or none.
            let hits = [(0, &none as &dyn Fn(u64) -> bool), (1, &some), (2, &every)].into_iter();
            for (hit, disturbed) in hits.filter(|(hit, _)| !quick || *hit != 1) {
                let reported = reported(builtin.text, &made, quick, disturbed, false);
                let line = &reported.answer.text;
                let about = format!("{} gain {gain}, {trials} trials, quick {quick}: {line}", builtin.name);
                assert!(line.ends_with('.') && line.split_whitespace().count() <= 25, "{about}");
                if !quick {
                    let how = ["quiet", "a quarter disturbed", "all disturbed"][hit];
                    golden += &format!("{}, second condition x{gain}, {how}:\n  {line}\n", builtin.name);
                }
                for slip in &slips {
                    let of_line =
                        std::iter::once(line).chain(&reported.answer.details).find(|printed| slip.is_match(printed));
                    assert!(of_line.is_none(), "{slip:?} in {of_line:?} of {about}");
                }
                let printed =
                    ["Rehearsal: ", "Inconclusive rehearsal: "].into_iter().find(|kind| line.starts_with(kind));
                assert_eq!(printed.is_some(), quick, "{about}");
                let rest = line.strip_prefix("Rehearsal: ").unwrap_or(line);
                assert!(rest == line || !rest.starts_with("Inconclusive"), "one word for both: {about}");
                let rest = rest.to_lowercase().replacen(" rehearsal: ", ": ", 1);
                let details = reported.answer.details.join(" ");
                let is_inconclusive = rest.starts_with("inconclusive: ");
                let printed = ["was disturbed", "were disturbed", "disturbed: "]
                    .iter()
                    .any(|s| rest.contains(s) || details.contains(s));
                assert_eq!(printed, hit > 0, "{about}");
                assert!(hit > 0 || !is_inconclusive, "{about}");
                let answers = shapes(&question).iter().any(|shape| rest.contains(shape));
                assert!(
                    answers
                        || is_inconclusive
                        || rest.contains("cannot be assessed")
                        || rest.contains("one trial per condition"),
                    "{about}"
                );
                match (hit, is_inconclusive) {
                    (0, _) => borne_out(line, &reported, &about),
                    (1, false) => {
                        let clean = self::reported(builtin.text, &made, quick, disturbed, true);
                        assert_eq!(clean.answer.text, *line, "without its disturbed trials: {about}");
                        assert_eq!(clean.figures, reported.figures, "the table is of other trials: {about}");
                        borne_out(line, &reported, &about);
                    }
                    _ => {}
                }
            }
        }
    }
    are_those_of_the_golden_file(&golden, "first_sentences.txt");
}

#[test]
fn a_mean_that_describes_no_trial_is_in_no_first_sentence() {
    let text = BUILTIN.iter().find(|builtin| builtin.name == "first-look").unwrap().text;
    let mut made = study("first-look", 3.0, 8);
    made.conditions[1].tps = vec![40_000.0, 120_000.0];
    made.conditions[1].cpus = vec![[0, 4, 2, 6]; 2];
    let found = reported(text, &made, false, &|_| false, false);
    let line = &found.answer.text;
    assert!(line.starts_with("placement moved throughput ") && line.contains("same-pu"), "{line}");
    figures_borne_out(line, &found.figures, line);
}

/// Every figure of the sentence must be in the table, and every ratio or change, which is that of geometric means,
/// within a unit of its last digit; its interval must contain it.
fn borne_out(line: &str, reported: &Reported, about: &str) {
    figures_borne_out(line, &reported.figures, about);
    let number = r"([+-]?\d+(?:\.\d+)?)(x|%)";
    let size = |number: &str, unit: &str| {
        let value: f64 = number.parse().unwrap();
        // The last digit of 1.50x is 0.01, of +1.8% 0.001.
        let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len()) as i32;
        let digit = 10f64.powi(-decimals);
        if unit == "x" { (value, digit) } else { (1.0 + value / 100.0, digit / 100.0) }
    };
    let interval = Regex::new(&format!("{number}(?:[^%x]*?)95% interval {number} to {number}")).unwrap();
    for found in interval.captures_iter(line) {
        let [value, low, high] = [1, 3, 5].map(|at| size(&found[at], &found[at + 1]));
        assert!(low.0 - low.1 <= value.0 && value.0 <= high.0 + high.1, "{} of {about}", &found[0]);
    }
    let without = Regex::new(&format!("95% interval {number} to {number}")).unwrap().replace_all(line, "");
    let is_change = |found: &Captures<'_>| &found[2] == "x" || found[1].starts_with(['+', '-']);
    for found in Regex::new(number).unwrap().captures_iter(&without).filter(is_change) {
        let (value, digit) = size(&found[1], &found[2]);
        let near = |ratio: &f64| (*ratio - value).abs() <= 1.5 * digit;
        let ratios = &reported.ratios;
        assert!(ratios.iter().any(near), "{}: {ratios:?} of {about}", &found[0]);
    }
}

fn figures_borne_out(line: &str, figures: &[f64], about: &str) {
    let figure = Regex::new(r"(\d+\.\d+)(?: to (\d+\.\d+)| or (\d+\.\d+))? k/s").unwrap();
    let printed = figure
        .captures_iter(line)
        .flat_map(|found| found.iter().skip(1).flatten().map(|number| number.as_str().to_owned()).collect::<Vec<_>>());
    for printed in printed {
        assert!(
            figures.iter().any(|figure| format!("{:.1}", figure / 1e3) == printed),
            "{printed}: {figures:?} of {about}"
        );
    }
}

/// Compares the first sentences with the golden file, word for word: `TARE_UPDATE_DOCS=1` writes it again.
pub fn are_those_of_the_golden_file(all: &str, name: &str) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/report").join(name);
    if std::env::var_os("TARE_UPDATE_DOCS").is_some() {
        fs::write(&golden, all).unwrap();
    }
    let known = fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(known, all, "first sentences changed; read them, then TARE_UPDATE_DOCS=1 writes {}", golden.display());
}

#[test]
fn several_loads_are_answered_separately_and_never_averaged() {
    let world = World::new();
    let mut lines = "condition,trial,sample,metric,value\n".to_owned();
    for (load, base, effect) in [("range", 1000.0, 0.964), ("point", 20000.0, 1.0)] {
        for (build, factor) in [("old", 1.0), ("new", effect)] {
            for trial in 0..8 {
                let noise = 1.0 + 0.001 * f64::from((trial * 5 + build.len() as i32 * 3 + load.len() as i32) % 7 - 3);
                let value = base * factor * noise;
                lines += &format!("workload={load} build={build},{trial},0,tps,{value}\n");
            }
        }
    }
    fs::write(world.path("loads.csv"), lines).unwrap();
    let (out, _) = world.exits(0, &["show", "loads.csv", "--json"]);
    let answer = &json(&out)["answer"];
    let text = answer["text"].as_str().unwrap();
    assert!(text.starts_with("build moved throughput by -3.") && text.contains("% on range"), "{answer}");
    assert!(text.ends_with("; no difference is shown on point."), "{answer}");
    let details = answer["details"].as_array().unwrap();
    let range = details.iter().find_map(|line| line.as_str().filter(|line| line.starts_with("range: "))).unwrap();
    assert!(range.contains("from old to new, 95% interval -"), "{answer}");
}

/// The figures of the article on 1.6 million QPS, relative to one node. The distribution of keys has no effect.
#[test]
fn a_csv_file_of_ladders_is_answered_as_one_and_no_factor_without_effect_is_named() {
    let world = World::new();
    let file = |rungs: &[(u32, [f64; 2])]| {
        let mut lines = "condition,trial,sample,metric,value,block\n".to_owned();
        for (place, load) in ["point_select", "read_only"].iter().enumerate() {
            for (nodes, gains) in rungs {
                for (other, distribution) in ["uniform", "zipfian"].iter().enumerate() {
                    for trial in 0..6 {
                        let noise = (trial * 5 + *nodes as usize * 3 + other * 2 + place) % 7;
                        let value = 600e3 * gains[place] * (1.0 + 0.001 * (noise as f64 - 3.0));
                        lines += &format!("workload={load} distribution={distribution} nodes={nodes},");
                        lines += &format!("{trial},0,qps,{value},{trial}\n");
                    }
                }
            }
        }
        fs::write(world.path("ladders.csv"), lines).unwrap();
        let (out, _) = world.exits(0, &["show", "ladders.csv", "--json"]);
        json(&out)["answer"]["text"].as_str().unwrap().to_owned()
    };
    let text = file(&[(1, [1.0, 1.0]), (2, [1.9, 1.86]), (4, [1.65, 2.23])]);
    assert!(text.contains("2 to 4 nodes gave 0.87x") && text.contains("point_select"), "{text}");
    let text = file(&[(1, [1.0, 1.0]), (2, [1.9, 1.86])]);
    assert!(text.contains("on point_select") && !text.contains("distribution"), "{text}");
}
