//! Fuzzes every file of a results directory, and tests the commands that read them.

use crate::fuzz::harness::{fuzz, inputs};
use crate::fuzz::mutation::{Chance, mutated};
use crate::support::World;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tare_files::{Folder, Trust};
use tare_findings::compare::Side;
use tare_findings::history::{self, Run};
use tare_report::export::source::Source;
use tare_report::export::tables::Table;
use tare_report::export::write::{Format, write};
use tare_results::captures::{LockShare, LocksFile, ProfileFile, StatusFile, SymbolShare, WaitKind};
use tare_results::waits::{
    CallerShare, ChargedShare, Doing, FutexOperation, StackSamples, ThreadsTime, TimePart, TimeUse, WaitsFile,
    WakerShare, WakesFile,
};

const STUDY: &str = "name = \"fuzzed\"\n[workload]\nrows = 20\n[sampling]\ntrials = 2\nsamples = 2\nwarmup_s = 0\n\
                     sample_s = 0.05\n[factors]\naslr = [\"on\", \"off\"]\n";

/// Results written by the program itself, with added captures that this machine may not be able to make.
fn results(world: &World) -> PathBuf {
    let study = world.study(STUDY);
    world.exits(0, &["run", &study, "--out", "results"]);
    let place = world.path("results");
    let records = std::fs::read_to_string(place.join("trials.jsonl")).unwrap();
    let mut lines: Vec<Value> = records.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (index, line) in lines.iter_mut().enumerate() {
        let folder = format!("captures/trial-{index:05}-1");
        std::fs::create_dir_all(place.join(&folder)).unwrap();
        for (name, file, text) in captures(index % 2 == 1) {
            std::fs::write(place.join(&folder).join(file), text).unwrap();
            line["captures"][name] = format!("{folder}/{file}").into();
        }
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(place.join("trials.jsonl"), text).unwrap();
    place
}

/// `all`: with the waits for pages and retries, as other engines count them.
fn captures(all: bool) -> Vec<(&'static str, &'static str, String)> {
    use TimeUse::{Client, Flush, OwnFutex, Ran, Read, SharedFutex, WaitedForCpu};
    use WaitKind::{File, Index, Lock, Log, Page, Pause, Process, Retried, Row};
    use tare_results::captures::{FLAME_GRAPH, FOLDED, LOCKS, PROFILE, STATUS, WAITS, WAKES, WALL};
    let symbol = SymbolShare { symbol: "sqlite3_step".into(), self_fraction: 0.5, total_fraction: 0.9 };
    let profile = ProfileFile {
        schema: 2,
        event: "cycles:u".into(),
        frequency_hz: 997,
        scope: "threads".into(),
        call_graph: "fp".into(),
        kernel: false,
        samples: 100,
        symbols: vec![symbol],
    };
    let waits = [Lock, Lock, Row, Index, Log, File, Pause].into_iter().chain(if all {
        vec![Page, Process, Retried]
    } else {
        vec![]
    });
    let lock = |kind| LockShare { kind, name: "log".into(), count: 9, wait_ms: 1.5, wait_fraction: 0.1 };
    let waits = waits.map(lock).collect();
    let locks = LocksFile { schema: 2, source: "made up".into(), elapsed_s: 1.0, threads: 2, waits };
    let counters = ["rows_read", "Innodb_row_lock_time", "Innodb_row_lock_waits"].into_iter().skip(usize::from(all));
    let differences = counters.map(|name| (name.to_owned(), 1000.0)).collect();
    let status = StatusFile { schema: 2, elapsed_s: 1.0, differences };
    let part = |time| TimePart {
        time,
        on: Some("dict_sys".into()),
        operation: Some(FutexOperation::Wait),
        caller: Some("lock".into()),
        addresses: 1,
        threads: 2,
        fraction: 0.3,
    };
    let parts = [SharedFutex, OwnFutex, Client, Flush, Read, Ran, WaitedForCpu].map(part).to_vec();
    let time = ThreadsTime { threads: 2, samples: 300, running_samples: 30, exact: true, parts };
    let chains = ["main;lock", "main;buf_page_get;ssux_lock;syscall", "main;trans_commit;log_write_up_to;syscall"];
    let caller = |chain: &str| CallerShare { chain: chain.into(), fraction: 0.3 };
    let callers: Vec<CallerShare> = [chains, chains].concat().into_iter().map(caller).collect();
    let waits = WaitsFile {
        schema: 2,
        elapsed_s: 1.0,
        looks: 150,
        looking_cpu_s: 0.01,
        connections: time.clone(),
        background: time,
        stacks: Some(StackSamples { read: 90, whole: 81, callers: callers.clone() }),
    };
    let wakes = WakesFile {
        schema: 2,
        elapsed_s: 1.0,
        threads: 2,
        events: 900,
        cut: false,
        slept_fraction: 0.8,
        woken_by: vec![WakerShare { who: "client".into(), wakes: 9, fraction: 0.5 }],
        charged: vec![ChargedShare { who: "background log".into(), doing: Doing::Ran, fraction: 0.3 }],
        callers,
    };
    let json = |value: serde_json::Result<String>| value.unwrap();
    vec![
        (PROFILE, "profile.json", json(serde_json::to_string(&profile))),
        (FOLDED, "profile.folded", "main;step;compare 60\nmain;step 40\n".to_owned()),
        (FLAME_GRAPH, "profile.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>".to_owned()),
        (LOCKS, "locks.json", json(serde_json::to_string(&locks))),
        (WAITS, "waits.json", json(serde_json::to_string(&waits))),
        (WAKES, "wakes.json", json(serde_json::to_string(&wakes))),
        (WALL, "wall.folded", "ran;main 100000\nasleep;shared_futex;dict_sys 900000\n".to_owned()),
        (STATUS, "status.json", json(serde_json::to_string(&status))),
    ]
}

/// Every file below a directory, relative to it, except locks and links.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => folders.push(entry.path()),
                _ if entry.file_name() == ".lock" => {}
                _ => found.push(entry.path().strip_prefix(folder).unwrap().to_owned()),
            }
        }
    }
    found.sort();
    found
}

fn copied(from: &Path, to: &Path) {
    for file in files(from) {
        std::fs::create_dir_all(to.join(&file).parent().unwrap()).unwrap();
        std::fs::copy(from.join(&file), to.join(&file)).unwrap();
    }
}

/// The analyses of show, report, compare, history and why for results that can be read.
pub fn summarised(path: &Path) {
    let Ok(results) = tare_results::open(path) else { return };
    let summary = tare_findings::summarize(&results);
    let _ = tare_report::terminal::show(&results, &summary, tare_report::terminal::Style::of_stdout(None));
    let page = tare_report::html::render(&results, &summary);
    assert_eq!(page.matches("<script").count(), 1, "nothing but our own script is in the page");
    let side = Side { results: &results, condition: None };
    let _ = tare_findings::compare::compare(side, side, &tare_findings::compare::Options::default());
    let style = tare_report::terminal::Style::of_stdout(None);
    let _ = tare_findings::why::times(side).map(|times| tare_report::terminal::times(&times, "results", style));
    let [a, b] = ["aslr=on", "aslr=off"].map(|name| Side { condition: Some(name), ..side });
    let _ = tare_findings::why::why(a, b).map(|found| tare_report::terminal::why(&found, style));
    let _ = tare_findings::why::chains(a, b);
}

#[test]
fn every_file_of_a_results_directory_may_be_fuzzed_without_a_panic() {
    let world = World::new();
    let place = results(&world);
    // Records of other writers are read like the run's own.
    std::fs::copy(place.join("trials.jsonl"), place.join("trials-node-1.jsonl")).unwrap();
    let files = files(&place);
    for wanted in ["plan.json", "environment.json", "study.toml", "captures/trial-00000-1/locks.json"] {
        assert!(files.iter().any(|file| file == Path::new(wanted)), "{wanted} is not among {files:?}");
    }
    for file in &files {
        let name = file.display().to_string();
        // The captures and logs of the trials are alike, so those of one trial are enough.
        let share = match name.as_str() {
            "plan.json" | "environment.json" | "trials.jsonl" | "study.toml" => inputs() / 3,
            _ if name.starts_with("captures/trial-00000-1/") => inputs() / 10,
            _ => inputs() / 200,
        };
        let path = place.join(file);
        let good = std::fs::read(&path).unwrap();
        fuzz(&name, std::slice::from_ref(&good), share, |input| {
            std::fs::write(&path, input).unwrap();
            summarised(&place);
            let folder = Folder::open(&place, Trust::Anyone).unwrap().unwrap();
            let _ = tare_results::store::read_trials_and_damage(&folder);
            let study = tare_results::store::read_study_text(&folder);
            let _ = study.map(|text| tare_study::language::write::parse_written(&text, &place));
        });
        std::fs::write(&path, good).unwrap();
    }
    let kept = Run::of("run".to_owned(), &tare_results::open(&place).unwrap()).to_line().unwrap().into_bytes();
    fuzz("a kept run", std::slice::from_ref(&kept), inputs() / 3, |input| {
        let Ok(run) = Run::from_line(input) else { return };
        assert_eq!(Run::from_line(run.to_line().unwrap().as_bytes()).unwrap(), run);
        let found = history::history(&vec![run; 6], true, &history::Options::default());
        let _ = found.map(|found| tare_report::html::history_page(&found, None));
    });
}

/// Sums, differences and ratios of such numbers, in turn, are infinite, no numbers or too large.
fn extremes(is_whole: bool) -> Vec<[Value; 2]> {
    let whole = [[u64::MAX; 2], [u64::from(u32::MAX), u64::MAX >> 1], [0; 2]].map(|two| two.map(Value::from));
    let others = [[1e308, 1e308], [1e308, -1e308], [1e-308, 1e308], [-1.0, 1.0], [0.0, 0.0]];
    if is_whole { whole.to_vec() } else { others.map(|two| two.map(Value::from)).to_vec() }
}

/// Calls `each` with every number, its name, and whether it is a whole one.
fn numbers(value: &mut Value, name: &str, each: &mut dyn FnMut(&str, bool, &mut Value)) {
    match value {
        Value::Number(known) => {
            let is_whole = !known.is_f64();
            each(name, is_whole, value);
        }
        Value::Array(inner) => inner.iter_mut().for_each(|value| numbers(value, name, each)),
        Value::Object(inner) => inner.iter_mut().for_each(|(name, value)| numbers(value, name, each)),
        _ => {}
    }
}

/// The history of some runs with these results, and every text of `tare export`.
fn exported(path: &Path) {
    use Format::{Benchstat, Bmf, Csv, Junit, Latex, Markdown, Openmetrics, Otava, Svg};
    use Table::{Conditions, Covariates, Relative, Samples, Threads, Trials, Values};
    let Ok(results) = tare_results::open(path) else { return };
    let runs: Vec<Run> = (0..6).map(|run| Run::of(run.to_string(), &results)).collect();
    assert_eq!(Run::from_line(runs[0].to_line().unwrap().as_bytes()).unwrap(), runs[0]);
    let found = history::history(&runs, false, &history::Options { fail_if_slower: Some(0.1), ..Default::default() });
    let _ = found.map(|found| tare_report::html::history_page(&found, Some(0.1)));
    let Ok(source) = Source::new(&results, Vec::new()) else { return };
    let tables = [Samples, Trials, Threads, Covariates, Conditions, Relative, Values].map(|table| (Csv, table));
    let others = [Svg, Latex, Markdown, Junit, Benchstat, Bmf, Otava, Openmetrics].map(|format| (format, Samples));
    for (format, table) in tables.into_iter().chain(others) {
        let _ = write(std::slice::from_ref(&source), format, table, &mut Vec::<u8>::new());
    }
}

#[test]
fn numbers_of_any_size_in_results_cause_no_panic() {
    let world = World::new();
    let place = results(&world);
    let mut panicked = Vec::new();
    let is_json = |file: &PathBuf| file.extension().is_some_and(|kind| kind == "json" || kind == "jsonl");
    for file in files(&place).into_iter().filter(is_json) {
        let path = place.join(&file);
        let good = std::fs::read_to_string(&path).unwrap();
        let documents = serde_json::Deserializer::from_str(&good).into_iter::<Value>();
        let mut documents: Vec<Value> = documents.map(Result::unwrap).collect();
        // The empty name stands for all.
        let mut names = BTreeSet::from([(String::new(), false)]);
        for document in &mut documents {
            numbers(document, "", &mut |name, is_whole, _| {
                names.insert((name.to_owned(), is_whole));
            });
        }
        let cases: Vec<_> =
            names.iter().flat_map(|name| extremes(name.1).into_iter().map(move |two| (name, two))).collect();
        // Of each file `make fuzz` takes at most 400, `make test` 10.
        for ((name, is_whole), two) in cases.iter().step_by(1 + 10 * cases.len() / inputs()) {
            let (mut changed, mut in_turn) = (documents.clone(), two.iter().cycle());
            for document in &mut changed {
                numbers(document, "", &mut |found, whole, value| {
                    if whole == *is_whole && (name.is_empty() || found == name) {
                        value.clone_from(in_turn.next().unwrap());
                    }
                });
            }
            let text: String = changed.iter().map(|document| format!("{document}\n")).collect();
            std::fs::write(&path, text).unwrap();
            if std::panic::catch_unwind(|| (summarised(&place), exported(&place))).is_err() {
                panicked.push(format!("{}: {name} = {two:?}", file.display()));
            }
        }
        std::fs::write(&path, good).unwrap();
    }
    assert_eq!(panicked, Vec::<String>::new());
}

#[test]
fn repair_leaves_records_without_damage() {
    let world = World::new();
    let place = results(&world);
    let path = place.join("trials.jsonl");
    let good = std::fs::read(&path).unwrap();
    fuzz("repair", &[good], inputs() / 4, |input| {
        std::fs::write(&path, input).unwrap();
        let folder = Folder::open(&place, Trust::Anyone).unwrap().unwrap();
        if tare_results::repair(&folder).is_ok() {
            let (_, damaged) = tare_results::store::read_trials_and_damage(&folder).unwrap();
            assert_eq!(damaged, []);
        }
    });
}

#[test]
fn exit_codes_for_fuzzed_files_are_the_documented_ones() {
    let world = World::new();
    let place = results(&world);
    world.exits(0, &["report", "results"]);
    copied(&place, &world.path("whole"));
    let good: Vec<(PathBuf, Vec<u8>)> =
        files(&place).into_iter().map(|file| (place.join(&file), std::fs::read(place.join(&file)).unwrap())).collect();
    let study = std::fs::read(world.path("study.toml")).unwrap();
    let mut chance = Chance::new();
    let commands: [&[&str]; 14] = [
        &["show", "results"],
        &["show", "results", "--json"],
        &["report", "results"],
        &["compare", "results:aslr=on", "results:aslr=off", "--fail-if-slower", "5"],
        &["compare", "results", "results", "results", "--json"],
        &["repair", "results"],
        &["why", "results:aslr=on", "results:aslr=off"],
        &["history", "results", "whole", "--json"],
        &["merge", "results", "--out", "merged"],
        &["export", "results", "--format", "csv", "--out", "exported.csv"],
        &["export", "results", "--format", "svg", "--out", "exported.svg"],
        &["export", "results", "--format", "junit"],
        &["run", "study.toml", "--dry-run"],
        &["run", "study.toml", "--dry-run", "--quick", "--json", "--topology", "node:2 core:4"],
    ];
    for turn in 0..commands.len().max(inputs() / 25) {
        let (path, bytes) = &good[chance.below(good.len())];
        let input = mutated(std::slice::from_ref(bytes), &mut chance);
        std::fs::write(path, &input).unwrap();
        std::fs::write(world.path("study.toml"), mutated(std::slice::from_ref(&study), &mut chance)).unwrap();
        let output = world.output(commands[turn % commands.len()]);
        let (err, code) = (String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code());
        assert!(
            matches!(code, Some(0 | 1 | 2 | 3 | 5)) && !err.contains("panicked"),
            "{:?} of {} ended with {:?}: {err}\n{}",
            commands[turn % commands.len()],
            path.display(),
            output.status,
            input.escape_ascii()
        );
        std::fs::write(path, bytes).unwrap();
    }
}
