//! Fuzzing that stays: every reader of text from outside gets thousands of inputs made by mutating good ones. None may
//! make it panic or hang. Short here; `make fuzz` runs 100,000 and more (`TARE_FUZZ_INPUTS`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};
use support::World;
use tare::study::builtin::BUILTIN;
use tare::study::document::Source;
use tare::study::parse::{Overrides, parse};

/// Nothing that people wait for may take longer on one input.
const LONGEST: Duration = Duration::from_secs(10);

fn inputs() -> usize {
    std::env::var("TARE_FUZZ_INPUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000)
}

/// Small, quick, and the same everywhere: an input that fails is found again by its seed and number.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// What parsers stumble over.
const WORDS: [&[u8]; 24] = [
    b"\0",
    b"\n",
    b"\r\n",
    b"\"",
    b"'''",
    b"[[",
    b"]]",
    b"{}",
    b",,",
    b"=",
    b"-1",
    b"1e999",
    b"NaN",
    b"18446744073709551616",
    b"99999999999999999999",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\\u0000",
    b"../",
    b"null",
    b"true",
    b"0x",
    b"-",
    b":",
];

/// One to eight changes of a good input: bits, bytes, words, cuts, repeats, and pieces of another.
fn mutated(corpus: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let mut input = corpus[chance.below(corpus.len())].clone();
    for _ in 0..=chance.below(8) {
        let at = chance.below(input.len() + 1);
        match chance.below(7) {
            0 if at < input.len() => input[at] ^= 1 << chance.below(8),
            1 if at < input.len() => input[at] = chance.next() as u8,
            2 => drop(input.splice(at..at, WORDS[chance.below(WORDS.len())].iter().copied())),
            3 => input.truncate(at),
            4 => {
                let end = (at + chance.below(64)).min(input.len());
                input.drain(at..end);
            }
            5 => {
                let end = (at + chance.below(64)).min(input.len());
                let piece = input[at..end].repeat(1 + chance.below(50));
                input.splice(at..at, piece);
            }
            _ => {
                let other = &corpus[chance.below(corpus.len())];
                let from = chance.below(other.len() + 1);
                let end = (from + chance.below(200)).min(other.len());
                input.splice(at..at, other[from..end].iter().copied());
            }
        }
    }
    input
}

/// Gives `read` the good inputs and then mutated ones.
fn fuzz(name: &str, corpus: &[Vec<u8>], inputs: usize, mut read: impl FnMut(&[u8])) {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let began = Instant::now();
    for number in 0..inputs {
        let input = match corpus.get(number) {
            Some(good) => good.clone(),
            None => mutated(corpus, &mut chance),
        };
        let clock = Instant::now();
        let held = catch_unwind(AssertUnwindSafe(|| read(&input)));
        let took = clock.elapsed();
        assert!(held.is_ok() && took < LONGEST, "{name}, input {number} after {took:?}: {}", input.escape_ascii());
    }
    println!("{name}: {inputs} inputs in {:.1?}", began.elapsed());
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

#[test]
fn study_files() {
    let corpus: Vec<Vec<u8>> = BUILTIN.iter().map(|study| study.text.as_bytes().to_vec()).collect();
    fuzz("study files", &corpus, inputs(), |input| {
        let text = String::from_utf8_lossy(input);
        for quick in [false, true] {
            let overrides = Overrides { quick, ..Overrides::default() };
            let _ = parse(Source { origin: "fuzzed", text: &text }, &overrides);
        }
    });
}

#[test]
fn locations_sets_and_settings() {
    let corpus = texts(&[
        "node:1.core:0-1.pu:0",
        "node:1.core:0-1.pu:0+cpus:4-11,16",
        "all",
        "float",
        "cpus:0-3,8",
        "0-3,8,12-15",
        "package:0.pu:all",
        "bind:0,1",
        "interleave:0-3",
        "preferred:1",
        "local",
        "cpus:2-3",
        "on",
        "defer+madvise",
        "aslr=on ahi=off",
    ]);
    fuzz("locations, sets and settings", &corpus, 4 * inputs(), |input| {
        let text = String::from_utf8_lossy(input);
        let _ = text.parse::<tare_topology::Location>();
        let _ = text.parse::<tare_topology::CpuSet>();
        let _ = text.parse::<tare_topology::MemoryPolicy>();
        let _ = tare_results::levels_of(&text);
        for setting in tare_noise::Setting::ALL {
            let _ = setting.level(&text);
        }
    });
}

#[test]
fn csv_files() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("results.csv");
    let corpus = texts(&[
        "condition,trial,sample,metric,value\naslr=on,0,0,tps,10.5\naslr=on,0,1,tps,11\naslr=off,1,0,tps,9e2\n",
        "metric,condition,trial,sample,value\n\"latency_ms_p99\",\"a b\",1,0,1.25e-3\n",
    ]);
    fuzz("CSV files", &corpus, inputs(), |input| {
        std::fs::write(&path, input).unwrap();
        summarised(&path);
    });
}

#[test]
fn files_of_a_results_directory() {
    // What the program itself writes, made here.
    let world = World::new();
    let study = world.study(
        "name = \"fuzzed\"\n[workload]\nrows = 20\n[sampling]\ntrials = 2\nsamples = 2\nwarmup_s = 0\nsample_s = 0.05\n\
         [factors]\naslr = [\"on\", \"off\"]\n",
    );
    world.exits(0, &["run", &study, "--out", "results"]);
    let place = world.path("results");
    let write = |name: &str, bytes: &[u8]| std::fs::write(place.join(name), bytes).unwrap();
    for name in ["plan.json", "environment.json", "trials.jsonl", "study.toml"] {
        let good = std::fs::read(place.join(name)).unwrap();
        let corpus = [good.clone()];
        fuzz(name, &corpus, inputs() / 2, |input| {
            write(name, input);
            summarised(&place);
            let _ = tare_results::store::read_trials_and_damage(&place);
            let _ = tare::study::written::read_study(&place);
        });
        write(name, &good);
    }
}

/// What show, report and compare do with what they can read.
fn summarised(path: &Path) {
    if let Ok(results) = tare_results::open(path) {
        let summary = tare::analysis::summarize(&results);
        let _ = tare::report::terminal::show(&results, &summary, tare::report::terminal::Style::of_stdout());
    }
}
