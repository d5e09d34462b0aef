//! `tare history` as a program: known steps in CSV files and in results directories.

use crate::draws::Draws;
use crate::report::commands::{path, tare};
use crate::report::fake::{self, Fake, Study};
use crate::support::{self, one_line};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A CSV file per run with three trials, at these levels, with noise of 0.5% between runs.
fn runs_of(folder: &Path, levels: &[f64]) {
    let mut noise = Draws::new(3);
    for (run, level) in levels.iter().enumerate() {
        let of_run = level * (1.0 + 0.005 * noise.normal());
        let mut text = "condition,trial,sample,metric,value\n".to_owned();
        for trial in 0..3 {
            let tps = of_run * (1.0 + 0.002 * noise.normal());
            text.push_str(&format!("base,{trial},0,tps,{tps}\nbase,{trial},0,cpu_us,{}\n", 1e6 / tps));
        }
        fs::write(folder.join(format!("run-{run:03}.csv")), text).unwrap();
    }
}

fn json(arguments: &[&str]) -> serde_json::Value {
    let (code, out, err) = tare(arguments);
    assert_eq!(code, 0, "{out}{err}");
    support::json(&out)
}

fn stepped(at: usize, runs: usize, to: f64) -> Vec<f64> {
    (0..runs).map(|run| if run < at { 1000.0 } else { to }).collect()
}

#[test]
fn a_step_of_two_percent_is_reported_with_its_runs_and_fails_the_gate() {
    let dir = tempfile::tempdir().unwrap();
    let mut levels = stepped(18, 30, 980.0);
    levels[7] = 700.0;
    runs_of(dir.path(), &levels);
    let found = json(&["history", path(dir.path()), "--json"]);
    assert_eq!((&found["schema"], &found["version"]), (&"tare-history".into(), &1.into()), "{found}");
    let [line] = found["metrics"].as_array().unwrap().as_slice() else { panic!("{found}") };
    let [change] = line["changes"].as_array().unwrap().as_slice() else { panic!("{found}") };
    assert_eq!(
        (&line["name"], &change["after"], &change["before"]),
        (&"tps".into(), &"run-017".into(), &"run-018".into())
    );
    let figure = |of: &serde_json::Value, name: &str| of[name].as_f64().unwrap();
    assert!((figure(change, "ratio") - 0.98).abs() < 0.006, "{change}");
    assert!(figure(change, "ci_low") < 0.98 && figure(change, "ci_high") < 1.0 && figure(change, "p") < 0.04);
    assert_eq!(
        (&line["runs"][7]["outlier"], &change["environment"]),
        (&true.into(), &serde_json::Value::Null),
        "{line}"
    );
    assert!((figure(&line["segments"][1]["against_first"], "ratio") - 0.98).abs() < 0.006);

    let (code, out, _) = tare(&["history", path(dir.path()), "--fail-if-slower", "1"]);
    assert_eq!(code, 1, "{out}");
    let flat = one_line(&out);
    assert!(
        flat.contains("tps slower between run-017 and run-018 (95% range: between run-016 and run-019): -"),
        "{out}"
    );
    assert!(flat.contains("; whether the environment changed there is not recorded."), "{out}");
    assert!(flat.contains("run-007 lies far from the neighbouring runs"), "{out}");
    assert!(flat.contains("gate failed"), "{out}");
    assert!(flat.starts_with(found["text"].as_str().unwrap()) && line["not_tested"].is_null(), "{out}{found}");
    assert_eq!(tare(&["history", path(dir.path()), "--fail-if-slower", "5"]).0, 0);
    let large = json(&["history", path(dir.path()), "--minimum-effect", "5", "--json"]);
    assert_eq!(large["metrics"][0]["changes"].as_array().unwrap().len(), 0);
    let other = json(&["history", path(dir.path()), "--metric", "cpu_us", "--json"]);
    assert_eq!(other["metrics"][0]["changes"][0]["before"], "run-018");
}

/// A throughput of 0 is no result, and it is said; another metric may be 0.
#[test]
fn trials_of_a_csv_file_that_did_nothing_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let rows = |values: [&str; 3]| {
        let row = |(trial, value): (usize, &str)| format!("base,{trial},0,tps,{value}\nbase,{trial},0,waits,0\n");
        let rows: String = values.into_iter().enumerate().map(row).collect();
        format!("condition,trial,sample,metric,value\n{rows}")
    };
    let [a, b] = [("a.csv", ["100", "101", "102"]), ("b.csv", ["100", "0", "-1"])].map(|(name, values)| {
        fs::write(dir.path().join(name), rows(values)).unwrap();
        dir.path().join(name)
    });
    const WHY: &str = "2 trials count as failed because tps is 0 or below";
    let (_, _, err) = tare(&["history", path(&a), path(&b)]);
    assert!(err.contains(&format!("b.csv: {WHY}")) && !err.contains("a.csv"), "{err}");
    let (_, out, _) = tare(&["compare", path(&a), path(&b)]);
    assert!(one_line(&out).contains(&format!("B, base: {WHY}")), "{out}");
    let found = json(&["compare", path(&a), path(&b), "--json"]);
    assert!(found["notes"].to_string().contains(WHY), "{found}");
}

#[test]
fn a_last_run_in_which_everything_failed_passes_no_gate() {
    let dir = tempfile::tempdir().unwrap();
    runs_of(dir.path(), &[1000.0; 8]);
    let gated = ["history", path(dir.path()), "--fail-if-slower", "5"];
    assert_eq!(tare(&gated).0, 0);
    let dead: String = (0..3).map(|trial| format!("base,{trial},0,tps,0\n")).collect();
    fs::write(dir.path().join("run-008.csv"), format!("condition,trial,sample,metric,value\n{dead}")).unwrap();
    let (code, out, _) = tare(&gated);
    assert_eq!(code, 5, "{out}");
    assert!(out.contains("Without a result: run-008.") && out.contains("the last run has no result"), "{out}");
    let (code, out, _) = tare(&[&gated[..], &["--json"]].concat());
    let found = support::json(&out);
    assert_eq!((code, &found["gate"], &found["without_result"][0]), (5, &"inconclusive".into(), &"run-008".into()));
}

#[test]
fn missing_results_and_names_are_usage_errors_and_too_few_runs_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let (code, _, err) = tare(&["history", path(dir.path())]);
    assert!(code == 2 && err.contains("this folder contains no results") && err.contains("do now: "), "{code} {err}");
    runs_of(dir.path(), &stepped(2, 5, 500.0));
    let (code, out, _) = tare(&["history", path(dir.path())]);
    assert!(code == 0 && out.contains("5 runs: fewer than 6 runs"), "{code} {out}");
    let (code, out, _) = tare(&["history", path(dir.path()), "--fail-if-slower", "5"]);
    assert!(code == 0 && out.contains("gate passed without a test: changes cannot be assessed"), "{code} {out}");
    let (code, _, err) = tare(&["history", path(dir.path()), "--metric", "tpss"]);
    assert!(code == 2 && err.contains("did you mean `tps`?"), "{err}");
    let (code, _, err) = tare(&["history", path(dir.path()), "--condition", "bas"]);
    assert!(code == 2 && err.contains("did you mean `base`?"), "{err}");
}

#[test]
fn a_slow_drift_without_a_step_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let levels: Vec<f64> = (0..40).map(|run| 1000.0 - 1.2 * f64::from(run)).collect();
    runs_of(dir.path(), &levels);
    let found = json(&["history", path(dir.path()), "--json"]);
    let line = &found["metrics"][0];
    assert!((line["drift"]["ratio"].as_f64().unwrap() - 0.953).abs() < 0.01, "{found}");
    assert_eq!(line["changes"].as_array().unwrap().len(), 0, "{found}");
    let (_, out, _) = tare(&["history", path(dir.path())]);
    assert!(out.contains("tps drifts, slower from the first run to the last"), "{out}");
}

/// The results directory of a run, numbered in the order of their times.
fn night(folder: &Path, run: usize) -> PathBuf {
    folder.join(format!("night-{:02}", (run * 7) % 16))
}

/// A results directory like that of `tare run` at this level, in this year, with parts of its files replaced.
fn made(folder: &Path, year: usize, level: f64, edits: &[(&str, &str, &str)]) {
    let condition = Fake { name: "placement=same-pu", tps: vec![level], between: 0.002, cpus: vec![[0, 4, 2, 6]] };
    let study = Study { name: "nightly", conditions: vec![condition], trials: 3, samples: 1, bad: vec![], missing: 0 };
    fs::create_dir(folder).unwrap();
    fake::write(&study, folder);
    let started = format!("\"started_at\":\"{year}");
    for (file, from, to) in edits.iter().copied().chain([("trials.jsonl", "\"started_at\":\"2026", &*started)]) {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        assert!(text.contains(from), "{file} has no {from}");
        fs::write(folder.join(file), text.replace(from, to)).unwrap();
    }
}

const NEW_KERNEL: (&str, &str, &str) = ("environment.json", "6.12.48+deb13-amd64", "6.18.1-amd64");

/// The record of a server: its build id, its flags and the value of each of ten settings.
fn server(build: &str, flags: &str, value: usize) -> String {
    let set: Vec<String> = (0..10).map(|name| format!("\"set_{name}\":{{\"value\":\"{value}\"}}")).collect();
    format!(
        "\"server\":{{\"product\":\"MariaDB\",\"version\":\"11.8\",\"path\":\"/m\",\"build_id\":\"{build}\",\
         \"build\":{{\"CFLAGS\":\"{flags}\"}},\"arguments\":[],\"changed\":{{\"port\":{{\"value\":\"{build}\"}},{}}}}},\
         \"server_program\"",
        set.join(",")
    )
}

/// Names whose order differs from their times. Server, kernel and microcode change with the level.
fn nights(dir: &Path) {
    let mut noise = Draws::new(5);
    for run in 0..16 {
        let is_new = run >= 9;
        let level = if is_new { 4700.0 } else { 5000.0 } * (1.0 + 0.005 * noise.normal());
        // A setting that changes in every run explains no step.
        let restless = format!(
            "\"/proc/sys/kernel/randomize_va_space\": \"{}\",\"/sys/devices/system/cpu/cpu0/microcode/version\": \"{}\"",
            run % 3,
            if is_new { "0x2b1" } else { "0x2b0" }
        );
        let flags = format!("-O2{} -march={}", " -g".repeat(200), if is_new { "native" } else { "x86-64" });
        let server = if is_new { server("aa01", &flags, 2) } else { server("aa00", &flags, 1) };
        let mut edits = vec![
            ("environment.json", "\"/proc/sys/kernel/randomize_va_space\": \"2\"", &*restless),
            ("trials.jsonl", "\"server_program\"", &*server),
        ];
        edits.extend(is_new.then_some(NEW_KERNEL));
        edits.extend(is_new.then_some(("trials.jsonl", "11.8.3-MariaDB", "11.8.4-MariaDB")));
        made(&night(dir, run), 2026 + run, level, &edits);
    }
}

#[test]
fn what_else_changed_at_the_step_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    nights(dir.path());
    let found = json(&["history", path(dir.path()), "--json"]);
    assert_eq!(found["by_time"], true);
    // Other steps may be found by chance; the known one must be found.
    let changes = found["metrics"][0]["changes"].as_array().unwrap();
    let change = changes.iter().find(|change| change["before"] == "night-15").unwrap_or_else(|| panic!("{found}"));
    let called = |run: usize| format!("night-{:02}", (run * 7) % 16);
    let ends = serde_json::json!({ "after": called(8), "before": called(9) });
    assert_eq!((&change["after"], &change["range"]), (&called(8).into(), &ends), "{found}");
    let facts = change["environment"].as_array().unwrap();
    assert!(facts.iter().all(|fact| fact["run"] == called(9)), "{found}");
    let whats: Vec<&str> = facts.iter().map(|fact| fact["what"].as_str().unwrap()).collect();
    let settings: Vec<String> = (0..10).map(|name| format!("server setting set_{name}")).collect();
    let mut expected = vec![
        "server version",
        "server build: CFLAGS",
        "server build: build id",
        "kernel",
        "/sys/devices/system/cpu/cpu0/microcode/version",
    ];
    expected.extend(settings.iter().map(String::as_str));
    assert_eq!(whats, expected, "{found}");
    let (_, out, _) = tare(&["history", path(dir.path())]);
    let flat = one_line(&out);
    let named = "the environment changed there as well, and may be the cause: server version (11.8.3-MariaDB -> \
                 11.8.4-MariaDB in night-15), ";
    assert!(flat.contains(named) && flat.contains("kernel (6.12.48"), "{out}");
    assert!(flat.contains(" and 11 more.") && !flat.contains(&" -g".repeat(30)), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 120), "{out}");
}

/// The two runs before the change of the kernel are low by chance, so the step is estimated to be before them.
#[test]
fn a_kernel_change_two_runs_from_the_estimate_is_in_the_range_of_the_step() {
    let dir = tempfile::tempdir().unwrap();
    let noise = [4, -7, 9, -2, 6, -9, 1, 8, 2, -11, -10, 3, -6, 8, -1, 5, -8, 2, 7, -4];
    let called = |run: usize| format!("night-{run:02}-c0ffe{run:02}");
    for (run, noise) in noise.into_iter().enumerate() {
        let level = if run >= 11 { 4900.0 } else { 5000.0 } * (1.0 + 0.0014 * f64::from(noise));
        // Another setting changes at the estimate, but also elsewhere.
        let aslr = format!("randomize_va_space\": \"{}\"", usize::from((4..9).contains(&run)));
        let mut edits = vec![("environment.json", "randomize_va_space\": \"2\"", &*aslr)];
        edits.extend((run >= 11).then_some(NEW_KERNEL));
        made(&dir.path().join(called(run)), 2026 + run, level, &edits);
    }
    let page = dir.path().join("page.html");
    let found = json(&["history", path(dir.path()), "--json", "--out", path(&page)]);
    let [change] = found["metrics"][0]["changes"].as_array().unwrap().as_slice() else { panic!("{found}") };
    assert_eq!(change["before"], called(9), "the estimate: {found}");
    let facts: Vec<(&serde_json::Value, &serde_json::Value)> =
        change["environment"].as_array().unwrap().iter().map(|fact| (&fact["what"], &fact["run"])).collect();
    let aslr = "/proc/sys/kernel/randomize_va_space";
    assert_eq!(facts, [(&"kernel".into(), &called(11).into()), (&aslr.into(), &called(9).into())], "{found}");
    let ends = ["after", "before"].map(|end| change["range"][end].as_str().unwrap().to_owned());
    assert!(ends[0] <= called(10) && ends[1] >= called(11), "{found}");
    let commits = ends.clone().map(|end| end.split('-').next_back().unwrap().to_owned());
    assert_eq!(change["commits"], serde_json::json!(commits), "{found}");
    let (_, out, _) = tare(&["history", path(dir.path())]);
    let flat = one_line(&out);
    let said = format!("between {} and {} (95% range: between {} and {})", called(8), called(9), ends[0], ends[1]);
    assert!(
        flat.contains(&said) && flat.contains(&format!("-> 6.18.1-amd64 #1 SMP PREEMPT_DYNAMIC in {}", called(11))),
        "{out}"
    );
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("between (95%)") && page.contains(&format!("{}..{}", ends[0], ends[1])), "{page}");
}

/// Each of two steps, and each run of a drift, stays below the limit.
#[test]
fn a_gate_is_not_passed_by_small_steps() {
    let of = |levels: &[f64]| {
        let dir = tempfile::tempdir().unwrap();
        runs_of(dir.path(), levels);
        let (code, out, err) = tare(&["history", path(dir.path()), "--fail-if-slower", "2"]);
        (code, format!("{}{err}", one_line(&out)))
    };
    let segments = |levels: &[f64]| levels.iter().flat_map(|level| [*level; 12]).collect::<Vec<f64>>();
    let (code, out) = of(&segments(&[1000.0, 985.0]));
    assert!(
        code == 0 && out.contains("gate passed: nothing is shown to be slower now than in an earlier segment"),
        "{code} {out}"
    );
    for levels in [[1000.0, 985.0, 970.0], [1000.0, 950.0, 965.0]] {
        let (code, out) = of(&segments(&levels));
        let named = "gate failed: now slower than before by more than 2.0%: base tps, -";
        assert!(code == 1 && out.contains(named) && out.contains("the segment from run-000 on"), "{code} {out}");
    }
    let drift: Vec<f64> = (0..40).map(|run| 1000.0 - 1.2 * f64::from(run)).collect();
    let (code, out) = of(&drift);
    assert!(code == 1 && out.contains("% by its drift"), "{code} {out}");
}

#[test]
fn a_run_that_is_named_twice_counts_once() {
    let dir = tempfile::tempdir().unwrap();
    runs_of(dir.path(), &[1000.0; 8]);
    let again = dir.path().join("run-003.csv");
    let (code, out, err) = tare(&["history", path(dir.path()), path(&again)]);
    assert!(code == 0 && out.contains("8 runs") && !out.contains("9 runs"), "{code} {out}{err}");
}

/// A run whose name has blanks, and one that failed in one of two conditions.
#[test]
fn a_last_run_without_one_of_its_conditions_passes_no_gate() {
    let dir = tempfile::tempdir().unwrap();
    let csv = |name: &str, rows: &[(&str, f64)]| {
        let rows: String = rows.iter().map(|(condition, tps)| format!("{condition},0,0,tps,{tps}\n")).collect();
        fs::write(dir.path().join(name), format!("condition,trial,sample,metric,value\n{rows}")).unwrap();
    };
    (0..8).for_each(|run| csv(&format!("run {run}.csv"), &[("one", 100.0 + f64::from(run % 3)), ("two", 50.0)]));
    let gated = ["history", path(dir.path()), "--fail-if-slower", "5"];
    assert_eq!(tare(&gated).0, 0);
    csv("run 8.csv", &[("one", 101.0), ("two", 0.0)]);
    let (code, out, _) = tare(&gated);
    assert!(code == 5 && out.contains("gate not decided: the last run has no result of two"), "{code} {out}");
    // As a line of a file as well, and not of conditions that nothing was asked of.
    let file = dir.path().join("runs.jsonl");
    let (code, out, _) = tare(&[&gated[..], &["--keep", path(&file)]].concat());
    assert_eq!((code, tare(&[gated[0], path(&file), gated[2], gated[3]]).0), (5, 5), "{out}");
    assert_eq!(tare(&[&gated[..], &["--condition", "one"]].concat()).0, 0);
    let commits = dir.path().join("commits");
    fs::write(&commits, "run 3 abc1234\nrun 4.csv abc1234\n\n").unwrap();
    let (code, out, err) = tare(&[&gated[..], &["--keep", path(&file), "--commits", path(&commits)]].concat());
    assert!(code == 5 && err.contains("commits: 1 line with a name that no run has"), "{code} {out}{err}");
    assert!(fs::read_to_string(&file).unwrap().contains("\"run\":\"run 3\",\"time\":null,\"commit\":\"abc1234\""));
    fs::write(&commits, "alone\n").unwrap();
    assert_eq!(tare(&[&gated[..], &["--commits", path(&commits)]].concat()).0, 2);
}

#[test]
fn the_newest_runs_may_begin_a_change_and_one_commit_on_both_sides_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let mut levels = stepped(10, 20, 950.0);
    levels.extend([700.0, 950.0, 950.0, 950.0, 700.0]);
    runs_of(dir.path(), &levels);
    let commits = dir.path().join("commits");
    fs::write(&commits, (0..25).map(|run| format!("run-{run:03} 9cf9f09\n")).collect::<String>()).unwrap();
    let (_, out, err) = tare(&["history", path(dir.path()), "--commits", path(&commits)]);
    let flat = one_line(&out);
    assert!(flat.contains("run-020 lies far from the neighbouring runs: it is no change and not part"), "{out}{err}");
    assert!(
        flat.contains("run-024 lies far from the neighbouring runs: it may begin a change, which takes 3"),
        "{out}"
    );
    assert!(flat.contains(", commit 9cf9f09 on both sides, so not a change of the commit"), "{out}");
}

#[test]
fn a_change_is_reported_with_its_commits_and_the_history_is_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join("nightly");
    fs::create_dir(&runs).unwrap();
    runs_of(&runs, &stepped(10, 20, 950.0));
    let list: String = (0..20).map(|run| format!("run-{run:03} {:07x}abc1\n", run * 1000)).collect();
    let (commits, page, picture) = (dir.path().join("commits"), dir.path().join("h.html"), dir.path().join("h.svg"));
    fs::write(&commits, list).unwrap();
    let words = ["history", path(&runs), "--commits", path(&commits)];
    let found = json(&[&words[..], &["--json", "--out", path(&picture)]].concat());
    let change = &found["metrics"][0]["changes"][0];
    assert_eq!(change["commits"], serde_json::json!(["0002328abc1", "0002710abc1"]), "{found}");
    let (code, out, err) = tare(&[&words[..], &["--out", path(&page)]].concat());
    assert!(code == 0 && out.contains("0002328abc1..0002710abc1") && err.contains("written: "), "{out}{err}");
    let (picture, page) = (fs::read_to_string(picture).unwrap(), fs::read_to_string(page).unwrap());
    assert!(picture.starts_with("<svg xmlns=") && picture.matches("<title>run-0").count() == 20, "{picture}");
    assert!(page.contains("<svg class=\"chart\"") && page.contains("0002328abc1..0002710abc1"), "{page}");
    let (code, _, err) = tare(&[words[0], words[1], "--commits", "nowhere"]);
    assert!(code == 2 && err.contains("name one that exists"), "{err}");
    let pixels = dir.path().join("h.png");
    assert_eq!(tare(&["history", path(&runs), "--out", path(&pixels)]).0, 0);
    assert!(fs::read(pixels).unwrap().starts_with(b"\x89PNG"));
    assert_eq!(tare(&["history", path(&runs), "--out", "h.pdf"]).0, 2);
    fs::write(&commits, "run-000 ".repeat(140_000)).unwrap();
    let (code, out, err) = tare(&words);
    assert!(code != 0 && one_line(&err).contains("larger than 1048576 bytes"), "{code} {out}{err}");
}

#[test]
fn too_many_history_lines_are_refused_with_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let rows: String = (1..=501).map(|condition| format!("c{condition},0,0,tps,{condition}\n")).collect();
    let text = format!("condition,trial,sample,metric,value\n{rows}");
    (0..6).for_each(|run| fs::write(dir.path().join(format!("{run}.csv")), &text).unwrap());
    let (code, _, err) = tare(&["history", path(dir.path())]);
    assert!(code == 2 && err.contains("501 lines") && err.contains("at most 500"), "{code} {err}");
    assert_eq!(tare(&["history", path(dir.path()), "--condition", "c7"]).0, 0);
}

#[test]
fn too_many_history_runs_are_refused_with_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    (0..2_001).for_each(|run| fs::write(dir.path().join(format!("{run}.csv")), "").unwrap());
    let (code, _, err) = tare(&["history", path(dir.path())]);
    assert!(code == 2 && err.contains("too many runs") && err.contains("at most 2000"), "{code} {err}");
}

#[test]
fn runs_kept_in_a_file_have_the_history_of_their_results() {
    let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    nights(dir.path());
    let file = elsewhere.path().join("runs.jsonl");
    let keep = |results: &Path| tare(&["history", path(results), "--keep", path(&file), "--json"]);
    for run in 0..15 {
        let (code, out, err) = keep(&night(dir.path(), run));
        assert!(code == 0 && err.contains(&format!("1 run added, {} in all", run + 1)), "{out}{err}");
    }
    // Calls at one time lose no run of another.
    let together = elsewhere.path().join("together.jsonl");
    std::thread::scope(|scope| {
        for run in 0..8 {
            let (folder, together) = (night(dir.path(), run), &together);
            scope.spawn(move || assert_eq!(tare(&["history", path(&folder), "--keep", path(together)]).0, 0));
        }
    });
    assert_eq!(fs::read_to_string(&together).unwrap().lines().count(), 8);
    // The rest, and runs that the file has.
    let (_, last, err) = keep(dir.path());
    assert!(err.contains("1 run added, 16 in all"), "{err}");
    let (_, of_results, _) = tare(&["history", path(dir.path()), "--json"]);
    let (_, of_file, _) = tare(&["history", path(&file), "--json"]);
    assert!(of_results.contains("6.18.1-amd64"), "{of_results}");
    assert_eq!([&last, &of_file], [&of_results; 2]);
    let written = fs::metadata(&file).unwrap().ino();
    let (_, both, err) = tare(&["history", path(&file), path(dir.path()), "--keep", path(&file), "--json"]);
    assert_eq!((&both, fs::metadata(&file).unwrap().ino()), (&of_results, written), "{err}");

    // A run with another trial has the place of the earlier one, and its commit.
    let commits = elsewhere.path().join("commits");
    fs::write(&commits, "night-00 abc1234\n").unwrap();
    assert_eq!(tare(&["history", path(&file), "--keep", path(&file), "--commits", path(&commits)]).0, 0);
    let records = night(dir.path(), 0).join("trials.jsonl");
    let fewer: String = fs::read_to_string(&records).unwrap().lines().take(2).map(|line| format!("{line}\n")).collect();
    fs::write(&records, fewer).unwrap();
    fs::set_permissions(night(dir.path(), 0), fs::Permissions::from_mode(0o700)).unwrap();
    let (_, _, err) = keep(&night(dir.path(), 0));
    assert!(err.contains("0 runs added, 16 in all"), "{err}");
    let first = fs::read_to_string(&file).unwrap().lines().next().unwrap().to_owned();
    assert!(first.contains("\"run\":\"night-00\"") && first.contains("\"commit\":\"abc1234\""), "{first}");
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o077, 0, "private as its source");
}

#[test]
fn a_file_of_runs_that_is_damaged_is_refused_with_the_line_and_stays() {
    let dir = tempfile::tempdir().unwrap();
    runs_of(dir.path(), &[1000.0; 3]);
    let (file, csv) = (dir.path().join("runs.jsonl"), dir.path().join("run-000.csv"));
    assert_eq!(tare(&["history", path(dir.path()), "--keep", path(&file)]).0, 0);
    let good = fs::read_to_string(&file).unwrap();
    let refused = |text: &str, expected: &[&str]| {
        fs::write(&file, text).unwrap();
        let (code, out, err) = tare(&["history", path(&csv), "--keep", path(&file)]);
        assert_eq!(code, 2, "{out}{err}");
        assert!(expected.iter().all(|part| one_line(&err).contains(part)), "{err}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    };
    refused(&format!("{good}{{\"run\":"), &["runs.jsonl:4", "not a run of a history"]);
    refused(&good.replace("\"version\":2", "\"version\":3"), &["runs.jsonl:1", "version 3"]);
    // A kind of fact that only a later version knows: its line is not advised to be deleted.
    let later = good.replacen("\"facts\":[", "\"facts\":[[\"later\",\"a\",\"b\"],", 1);
    refused(&later, &["runs.jsonl:1", "do now: read it with the version of tare that wrote it"]);
    refused(&good.replace("tare-history-run", "tare-show"), &["runs.jsonl:1", "`tare-show`"]);
    let mean = good.split("\"mean\":").nth(1).unwrap().split('}').next().unwrap();
    refused(&good.replace(mean, "1e999"), &["runs.jsonl:1", "`1e999` is not a finite number"]);
    let means = good.split("\"means\":[").nth(1).unwrap();
    let first = &means[..=means.find('}').unwrap()];
    refused(&good.replacen(first, &format!("{first},{first}"), 1), &["runs.jsonl:1", "two means of one metric"]);
    refused(&good.replace(mean, &format!("{mean}7")), &["other values of a run with the name run-000"]);
    // Version 1 did not list conditions without a value.
    fs::write(&file, good.replace("\"version\":2", "\"version\":1").replace("\"lacks\":[],", "")).unwrap();
    assert_eq!(tare(&["history", path(&csv), "--keep", path(&file)]).0, 0);
    assert_eq!(tare(&["history", path(&csv), "--keep", "runs.csv"]).0, 2);
    let (code, _, err) = tare(&["history", path(&dir.path().join("none.jsonl"))]);
    assert!(code == 2 && err.contains("these results do not exist"), "{err}");
}
