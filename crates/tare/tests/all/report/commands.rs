//! The commands as a user runs them: output, files and exit codes.

use crate::draws::Draws;
use crate::report::fake;
use crate::support::{World, json, one_line};
use assert_cmd::Command;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tare_results::schema::SCHEMA;

pub fn tare(arguments: &[&str]) -> (i32, String, String) {
    tare_in(Path::new("."), arguments)
}

fn tare_in(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::cargo_bin("tare").unwrap();
    let output = command.current_dir(folder).args(arguments).env("NO_COLOR", "1").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

pub fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A CSV file of one condition with `trials` trials around `centre`.
fn made_up(dir: &Path, name: &str, centre: f64, cov: f64, trials: usize) -> PathBuf {
    let mut noise = Draws::new(name.len() as u64 + centre as u64);
    let mut text = "condition,trial,sample,metric,value\n".to_owned();
    for trial in 0..trials {
        text.push_str(&format!("base,{trial},0,tps,{}\n", centre * (1.0 + cov * noise.normal())));
    }
    let file = dir.join(format!("{name}.csv"));
    fs::write(&file, text).unwrap();
    file
}

#[test]
fn report_writes_to_the_requested_file_and_prints_its_path() {
    let dir = fake::dir(&fake::bimodal());
    let (code, out, _) = tare(&["report", path(dir.path())]);
    assert_eq!((code, Path::new(out.trim())), (0, dir.path().join("report.html").as_path()));
    assert!(fs::read_to_string(dir.path().join("report.html")).unwrap().starts_with("<!DOCTYPE html>"));
    let elsewhere = dir.path().join("other.html");
    assert_eq!(tare(&["report", path(dir.path()), "-o", path(&elsewhere)]).0, 0);
    assert!(elsewhere.exists());
    let (code, _, err) = tare(&["report", path(dir.path()), "-o", path(&dir.path().join("no/such/report.html"))]);
    assert_eq!(code, 3);
    assert!(err.contains("cannot write the report") && err.contains("a directory that exists"), "{err}");
}

#[test]
fn compare_is_a_gate_with_three_outcomes() {
    let dir = tempfile::tempdir().unwrap();
    let base = made_up(dir.path(), "base", 10_000.0, 0.01, 10);
    let same = made_up(dir.path(), "same", 10_010.0, 0.01, 10);
    let slower = made_up(dir.path(), "slower", 8_000.0, 0.01, 10);
    let noisy = made_up(dir.path(), "noisy", 9_600.0, 0.2, 4);
    let single = made_up(dir.path(), "single", 10_000.0, 0.01, 1);
    let gate = |b: &Path| tare(&["compare", path(&base), path(b), "--fail-if-slower", "5"]).0;
    assert_eq!(gate(&same), 0);
    assert_eq!(gate(&slower), 1);
    assert_eq!(gate(&noisy), 5);
    assert_eq!(gate(&single), 5);
    // Faster is not a regression, and without a gate nothing fails.
    assert_eq!(tare(&["compare", path(&slower), path(&base), "--fail-if-slower", "5%"]).0, 0);
    let (code, out, _) = tare(&["compare", path(&base), path(&slower), "--json"]);
    assert_eq!(code, 0);
    let json = json(&out);
    let metric = &json["metrics"][0];
    assert_eq!((metric["name"].as_str(), metric["verdict"].as_str()), (Some("tps"), Some("slower")));
    assert!((metric["ratio"].as_f64().unwrap() - 0.8).abs() < 0.02, "{metric}");
    assert!(metric["ci_low"].as_f64().unwrap() < metric["ci_high"].as_f64().unwrap());
}

/// The others are judged too, and their intervals are wide.
#[test]
fn a_failed_gate_names_the_metrics_that_fail_it() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, times: f64| {
        let row = |(t, max): (usize, &f64)| {
            let median = times * (2.0 + 0.01 * t as f64);
            format!("q,{t},0,latency_ms_p50,{median}\nq,{t},0,latency_ms_max,{max}\n")
        };
        let rows: String = [60.0, 95.5, 40.0, 120.5, 75.0, 52.0].iter().enumerate().map(row).collect();
        let file = dir.path().join(name);
        fs::write(&file, format!("condition,trial,sample,metric,value\n{rows}")).unwrap();
        file
    };
    let (a, b) = (file("a.csv", 1.0), file("b.csv", 1.3));
    let (code, out, _) = tare(&["compare", path(&a), path(&b), "--fail-if-slower", "5"]);
    assert_eq!(code, 1, "{out}");
    assert!(one_line(&out).contains("gate failed: slower by more than 5.0% (latency_ms_p50)."), "{out}");
}

#[test]
fn a_metric_that_is_better_when_lower_reverses_the_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, value: f64| {
        let rows: String = (0..8).map(|t| format!("q,{t},0,query_s_q1,{}\n", value + 0.001 * t as f64)).collect();
        let file = dir.path().join(name);
        fs::write(&file, format!("condition,trial,sample,metric,value\n{rows}")).unwrap();
        file
    };
    let (short, long) = (file("short.csv", 1.0), file("long.csv", 1.2));
    assert_eq!(tare(&["compare", path(&short), path(&long), "--fail-if-slower", "5"]).0, 1);
    assert_eq!(tare(&["compare", path(&long), path(&short), "--fail-if-slower", "5"]).0, 0);
}

#[test]
fn conditions_of_one_directory_are_compared_by_name() {
    let dir = fake::dir(&fake::bimodal());
    let side = |condition: &str| format!("{}:{condition}", path(dir.path()));
    let (code, out, _) = tare(&["compare", &side("placement=same-pu"), &side("placement=other-node")]);
    assert_eq!(code, 0);
    assert!(out.contains("factor placement") && out.contains("slower"), "{out}");
    // Of three, each is named once, without its directory; in the document of programs as it was given.
    let three = ["placement=same-pu", "placement=other-node", "placement=float"].map(side);
    let (code, out, err) = tare(&["compare", &three[0], &three[1], &three[2]]);
    assert_eq!(code, 0, "{err}");
    assert!(
        one_line(&out).contains("side metric change 95% interval group verdict placement=other-node tps -"),
        "{out}"
    );
    assert!(!out.contains(&three[0]) && !out.contains("->"), "{out}");
    let (_, out, _) = tare(&["compare", &three[0], &three[1], &three[2], "--json"]);
    assert!(out.contains(&three[1]), "{out}");
    let (code, _, err) = tare(&["compare", &side("placement=same-po"), &side("placement=float")]);
    assert_eq!(code, 2);
    assert!(err.contains("did you mean `placement=same-pu`?"), "{err}");
    let (here, there) = (side("placement=same-pu"), side("placement=other-node"));
    let (code, _, err) = tare(&["compare", &here, &there, "--metric", "tpss"]);
    assert_eq!(code, 2);
    assert!(err.contains("did you mean `tps`?"), "{err}");
    // A comparison of results with themselves, under any name, is refused.
    let again = format!("{}/.", path(dir.path()));
    for same in [[path(dir.path()), path(dir.path())], [path(dir.path()), &again], [&here, &here]] {
        let (code, _, err) = tare(&["compare", same[0], same[1]]);
        assert_eq!(code, 2, "{err}");
        assert!(err.contains("both sides have the same trials") && err.contains("DIR:CONDITION"), "{err}");
    }
    // So is a comparison with a copy, and with a session that counts twice.
    let copy = tempfile::tempdir().unwrap();
    for file in ["plan.json", "study.toml", "environment.json", "trials.jsonl"] {
        fs::copy(dir.path().join(file), copy.path().join(file)).unwrap();
    }
    let copied = |condition: &str| format!("{}:{condition}", path(copy.path()));
    let twice = format!("{here},{}", copied("placement=same-pu"));
    for (command, a, b, what) in [
        ("compare", path(dir.path()), path(copy.path()), "both sides have the same trials"),
        ("compare", &here, &copied("placement=same-pu"), "both sides have the same trials"),
        ("why", &here, &copied("placement=same-pu"), "both sides have the same trials"),
        ("compare", &twice, &there, "two sessions have the same trials"),
    ] {
        let (code, _, err) = tare(&[command, a, b]);
        assert!(code == 2 && err.contains(what) && err.contains(path(copy.path())), "{err}");
    }
    assert_eq!(tare(&["compare", &here, &copied("placement=other-node")]).0, 0);
}

#[test]
fn bad_results_give_file_line_column_and_exit_2() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("bad.csv");
    fs::write(&file, "condition,trial,sample,metric,value\na,0,0,tps,fast\n").unwrap();
    for command in ["show", "report"] {
        let (code, out, err) = tare(&[command, path(&file)]);
        assert_eq!((code, out.as_str()), (2, ""));
        assert!(err.contains("bad.csv, line 2, column 5") && err.contains("a finite number"), "{err}");
        assert!(err.contains("do now: correct that line; tare export --table values writes such a file"), "{err}");
    }
    assert!(!dir.path().join("bad.html").exists());
    let (code, _, err) = tare(&["show", path(&dir.path().join("nowhere"))]);
    assert_eq!(code, 2);
    assert!(err.contains("nowhere"), "{err}");
    let newer = SCHEMA + 1;
    fs::write(dir.path().join("plan.json"), format!("{{\"schema\":{newer}}}")).unwrap();
    let (code, _, err) = tare(&["show", path(dir.path())]);
    assert_eq!(code, 2);
    assert!(err.contains(&format!("schema {newer}, which this version of tare cannot read")), "{err}");
    assert!(err.contains(&format!("schema {SCHEMA} or older")), "{err}");
}

#[test]
fn a_slowdown_decided_by_disturbed_trials_is_inconclusive() {
    let study = || {
        let mut study = fake::bimodal();
        study.conditions.drain(..1);
        study.bad.clear();
        study
    };
    let (base, hog) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for dir in [&base, &hog] {
        fake::write(&study(), dir.path());
    }
    fake::disturb(hog.path(), &|_| true, 0.716);
    let gate = |b: &Path| tare(&["compare", path(base.path()), path(b), "--fail-if-slower", "5", "--metric", "tps"]);
    fake::each_record(hog.path(), |record| {
        record["server_program"] = "b00b".into();
        record["disturbed_by"] = serde_json::json!([{"program": "stress", "cpus": 0.76}]);
    });
    let (code, out, _) = gate(hog.path());
    assert_eq!(code, 5, "{out}");
    assert!(out.starts_with("Undecided at placement="), "{out}");
    assert!(one_line(&out).contains(", because trials were disturbed: throughput -28%"), "{out}");
    assert!(out.contains("disturbed: inconclusive"), "{out}");
    assert!(one_line(&out).contains("quieter machine, or both in one study"), "{out}");
    let note = format!(
        "B: 20 of 20 trials were disturbed and counted; stress took up to 76% of a CPU in 20 of 20 disturbed attempts; \
         each by itself: tare show {} --all",
        path(hog.path())
    );
    assert!(one_line(&out).contains(&note) && out.matches("disturbed and counted").count() == 1, "{out}");
    // Two levels of one study ran together already.
    let both = fake::dir(&fake::bimodal());
    fake::disturb(both.path(), &|trial| trial % 2 == 0, 0.99);
    let side = |condition: &str| format!("{}:{condition}", path(both.path()));
    let (a, b) = (side("placement=same-pu"), side("placement=other-node"));
    let (_, out, _) = tare(&["compare", &a, &b, "--fail-if-slower", "408", "--metric", "tps"]);
    let (out, advice) = (one_line(&out), ["in one study", "in one session"]);
    assert!(out.contains("gate inconclusive") && out.contains("quieter machine"), "{out}");
    assert!(!advice.iter().any(|advice| out.contains(advice)), "{out}");
    // A few disturbed trials that change nothing keep the verdict, and are mentioned.
    let some = fake::dir(&study());
    fake::disturb(some.path(), &|_| true, 0.716);
    fake::each_record(some.path(), |record| {
        if record["trial"].as_u64().unwrap() >= 4 {
            record["reason"] = serde_json::Value::Null;
        }
    });
    let (code, out, _) = gate(some.path());
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("disturbed: slower"), "{out}");
    let (_, out, _) = tare(&["show", path(hog.path()), "--json"]);
    let json = json(&out);
    assert_eq!(
        (&json["conditions"][0]["clean_trials"], &json["conditions"][0]["disturbed_trials"]),
        (&0.into(), &10.into())
    );
    assert_eq!(json["answer"]["disturbed"], true);
    assert!(
        json["answer"]["text"].as_str().unwrap().starts_with("Inconclusive: all 20 trials were disturbed"),
        "{}",
        json["answer"]
    );
}

#[test]
fn compare_exports_changes_as_csv_rows() {
    let dir = tempfile::tempdir().unwrap();
    made_up(dir.path(), "base", 10_000.0, 0.01, 10);
    made_up(dir.path(), "slower", 8_000.0, 0.01, 10);
    let (code, _, err) = tare_in(dir.path(), &["compare", "base.csv", "slower.csv", "--csv", "rows.csv"]);
    assert_eq!(code, 0, "{err}");
    let text = fs::read_to_string(dir.path().join("rows.csv")).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 2, "{text}");
    let cell = |name: &str| lines[1][lines[0].iter().position(|head| *head == name).unwrap()];
    assert_eq!((cell("side"), cell("metric"), cell("verdict")), ("slower.csv", "tps", "slower"));
    assert!((cell("ratio").parse::<f64>().unwrap() - 0.8).abs() < 0.02, "{text}");
    let (code, _, err) = tare_in(dir.path(), &["compare", "base.csv", "slower.csv", "--csv", "no/such.csv"]);
    assert_eq!(code, 3);
    assert!(err.contains("cannot") && err.contains("no"), "{err}");
}

#[test]
fn many_sides_are_compared_with_the_first() {
    let dir = tempfile::tempdir().unwrap();
    made_up(dir.path(), "base", 10_000.0, 0.01, 10);
    made_up(dir.path(), "slower", 8_000.0, 0.01, 10);
    made_up(dir.path(), "same", 10_010.0, 0.01, 10);
    let page = dir.path().join("changes.html");
    // Short names: a long path of a temporary directory wraps inside its cell.
    let sides = ["compare", "base.csv", "slower.csv", "same.csv", "--html", "changes.html"];
    let (code, out, _) = tare_in(dir.path(), &sides);
    assert_eq!(code, 0, "{out}");
    let rows = &out[out.find("the largest first").unwrap()..];
    let (first, second) = (rows.find("slower.csv").unwrap(), rows.find("same.csv").unwrap());
    assert!(first < second && out.contains("-20%"), "the largest change first: {out}");
    let drawn = fs::read_to_string(&page).unwrap();
    assert_eq!(["<rect", "class=\"key"].map(|part| drawn.matches(part).count()), [2, 8], "cells, and the legend");
    let (_, out, _) = tare_in(dir.path(), &[&sides[..4], &["--json"]].concat());
    let json = json(&out);
    assert_eq!(json["sides"].as_array().unwrap().len(), 3);
    assert_eq!(
        (json["metrics"][0]["verdict"].as_str(), json["metrics"][0]["name"].as_str()),
        (Some("slower"), Some("tps"))
    );
    assert_eq!(tare_in(dir.path(), &[&sides[..4], &["--fail-if-slower", "5"]].concat()).0, 1);
    // The slower side is distinguishable from both others, which are not distinguishable from each other.
    let grouped: Vec<(&str, &str)> = json["groups"][0]["sides"]
        .as_array()
        .unwrap()
        .iter()
        .map(|side| (side["side"].as_str().unwrap(), side["letters"].as_str().unwrap()))
        .collect();
    assert_eq!(grouped.last(), Some(&("slower.csv", "b")), "the best first: {grouped:?}");
    assert!(grouped[..2].iter().all(|(_, letters)| *letters == "a"), "{grouped:?}");
    assert!(rows.contains("base.csv is in a") && rows.contains("group"), "{rows}");
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.contains("Sides that share a letter") && text.contains(">base</td>"), "the base has its letters too");
}

#[test]
fn a_subset_of_levels_selects_every_condition_that_has_them() {
    let dir = fake::dir(&fake::eight());
    let side = |levels: &str| format!("{}:{levels}", path(dir.path()));
    let (code, out, err) = tare(&["compare", &side("aslr=off"), &side("aslr=on"), "--json", "--metric", "tps"]);
    assert_eq!(code, 0, "{err}");
    let json = json(&out);
    let judged: Vec<&str> = json["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|m| m["judged"] == true)
        .map(|m| m["condition"].as_str().unwrap())
        .collect();
    assert_eq!(judged.len(), 4, "a pair for each level of the other two factors: {judged:?}");
    assert!(judged.contains(&"ahi=on aslr=off preload=off -> ahi=on aslr=on preload=off"), "{judged:?}");
    // The order of the levels does not matter, and a single condition per side is still paired.
    let (code, _, err) = tare(&["compare", &side("preload=on aslr=off ahi=on"), &side("ahi=off aslr=off preload=on")]);
    assert_eq!(code, 0, "{err}");
    let (code, _, err) = tare(&["compare", &side("aslr=maybe"), &side("aslr=on")]);
    assert!(code == 2 && err.contains("there is no condition `aslr=maybe`"), "{err}");
}

#[test]
fn a_failed_gate_annotates_a_github_step_and_writes_its_summary() {
    let dir = tempfile::tempdir().unwrap();
    let (fast, slow) = (made_up(dir.path(), "fast", 1000.0, 0.01, 12), made_up(dir.path(), "slow", 800.0, 0.01, 12));
    let summary = dir.path().join("summary.md");
    let gate = |a: &Path, b: &Path| {
        let mut command = Command::cargo_bin("tare").unwrap();
        command.args(["compare", path(a), path(b), "--fail-if-slower", "5", "--json"]);
        let command = command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", &summary);
        command.timeout(Duration::from_secs(60));
        let output = command.output().unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, out, err) = gate(&fast, &slow);
    assert_eq!(code, 1);
    json(&out);
    let marked: Vec<&str> = err.lines().filter(|line| line.starts_with("::error title=tare::tps of base")).collect();
    assert!(marked.len() == 1 && marked[0].contains("is slower") && marked[0].contains("%25"), "{err}");
    assert!(
        fs::read_to_string(&summary).unwrap().contains("| base | tps | 1.0"),
        "{}",
        fs::read_to_string(&summary).unwrap()
    );
    let (code, _, err) = gate(&slow, &fast);
    assert!(code == 0 && !err.contains("::"), "{err}");
    assert!(fs::read_to_string(&summary).unwrap().contains("gate passed"), "a second comparison is appended");
    fs::remove_file(&summary).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &summary, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let (code, _, err) = gate(&slow, &fast);
    assert!(code == 0 && err.contains("note: the step's summary cannot be written"), "no reader is waited for: {err}");
    let file = dir.path().join("elsewhere.md");
    assert_eq!(tare(&["compare", path(&fast), path(&slow), "--markdown", path(&file)]).0, 0);
    let written = fs::read_to_string(file).unwrap();
    assert!(written.starts_with("### tare: comparison") && written.contains("| **slower** |"), "{written}");
}

#[test]
fn plans_and_lists_wrap_at_words_at_the_terminal_width() {
    let world = World::new();
    let commands: [&[&str]; 5] = [
        &["run", "numa-scaling", "--dry-run", "--topology", "package:2 node:2 core:8 pu:2"],
        &["run", "mind-your-core", "--dry-run", "--topology", "package:2 node:2 core:8 pu:2"],
        &["studies"],
        &["studies", "--keys"],
        &["reproduce", "--list"],
    ];
    for words in commands {
        for width in [40, 80] {
            let out = world.tare(words).env("COLUMNS", width.to_string()).output().unwrap();
            let text = String::from_utf8(out.stdout).unwrap();
            // A word that is longer than a line is not broken.
            let breakable = |line: &str| line.split_whitespace().all(|word| word.chars().count() < width - 8);
            let too_long = text.lines().find(|line| line.chars().count() > width && breakable(line));
            assert_eq!(too_long, None, "{words:?} {width}");
            assert!(text.lines().count() > 10, "{words:?}: {text}");
        }
    }
}

#[test]
fn long_commands_are_named_by_letters_at_the_heads_of_columns() {
    let world = World::new();
    let command = |size: &str, name: &str| format!("command=./load --size {size} --rows 1000 --seed 7 --name {name}");
    let rows = |side: String, level: f64| -> String {
        let of = |trial: u32| level + f64::from(trial);
        (0..5).map(|t| format!("{side},{t},0,wall_s,{}\n{side},{t},0,user_s,{}\n", of(t), of(t) / 2.0)).collect()
    };
    let text = rows(command("1", "one"), 100.0) + &rows(command("2", "two"), 200.0);
    fs::write(world.path("v.csv"), format!("condition,trial,sample,metric,value\n{text}")).unwrap();
    let out = world.tare(&["show", "v.csv"]).env("COLUMNS", "80").output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(text.contains("  A = command=./load --size 1"), "{text}");
}

/// Of schema 1: no process ids, no machine in the plan, no scheduler statistics and no captures.
#[test]
fn results_of_version_0_1_0_are_compared_and_explained_and_what_they_lack_is_listed() {
    let dir = fake::dir(&fake::bimodal());
    let keep = |value: &mut serde_json::Value, keys: &str| {
        value.as_object_mut().unwrap().retain(|key, _| keys.split(' ').any(|known| known == key));
    };
    fake::each_record(dir.path(), |record| {
        keep(
            record,
            "schema trial attempt block condition levels outcome reason started_at elapsed_s settings samples",
        );
        record["schema"] = 1.into();
        if record["outcome"] == "disturbed" {
            record["outcome"] = "contaminated".into();
        }
        let samples = record["samples"].as_array_mut().unwrap().iter_mut();
        for thread in samples.flat_map(|sample| sample["threads"].as_array_mut().unwrap()) {
            thread.as_object_mut().unwrap().remove("pid");
        }
    });
    let planned = dir.path().join("plan.json");
    let mut plan: serde_json::Value = serde_json::from_str(&fs::read_to_string(&planned).unwrap()).unwrap();
    keep(&mut plan, "schema study seed conditions trials samples estimated_s");
    plan["schema"] = 1.into();
    let conditions = plan["conditions"].as_array_mut().unwrap().iter_mut();
    conditions.for_each(|condition| keep(condition, "name levels realizable reason placement"));
    fs::write(planned, plan.to_string()).unwrap();

    let [near, far] = ["same-pu", "other-node"].map(|name| format!("{}:placement={name}", path(dir.path())));
    let (code, out, err) = tare(&["why", &near, &far]);
    assert_eq!(code, 0, "{err}");
    let lacks =
        "not recorded, and so part of what is not explained: waits for a CPU (capture.schedule), row-lock waits";
    assert!(one_line(&out).contains(lacks) && out.contains("server kernel time"), "{out}");
    let (code, out, err) = tare(&["compare", &near, &far]);
    assert!(code == 0 && out.contains("slower"), "{out}{err}");
    // Waits for a CPU that the trials of B alone recorded are no difference.
    fake::each_record(dir.path(), |record| {
        let is_b = record["condition"] == "placement=other-node";
        let samples = record["samples"].as_array_mut().unwrap().iter_mut().filter(|_| is_b);
        for thread in samples.flat_map(|sample| sample["threads"].as_array_mut().unwrap()) {
            thread["schedule"] = serde_json::json!({"ran_s": 0.1, "waited_s": 0.2, "slept_s": 0.7});
        }
    });
    let (code, out, err) = tare(&["why", &near, &far]);
    let lacks = "A: not recorded, and so part of what is not explained of both: waits for a CPU (capture.schedule)";
    assert!(code == 0 && one_line(&out).contains(lacks) && !out.contains("waiting for CPU"), "{out}{err}");
    // Trials that were all set aside, and none at all.
    fake::each_record(dir.path(), |record| record["outcome"] = "contaminated".into());
    let (code, _, err) = tare(&["why", path(dir.path())]);
    assert!(code == 2 && err.contains("no trial of `mind-your-core` has a result"), "{err}");
    fs::write(dir.path().join("trials.jsonl"), "").unwrap();
    let (code, _, err) = tare(&["why", &near, &far]);
    assert!(code == 2 && err.contains("expected: results with a trial"), "{err}");
}
