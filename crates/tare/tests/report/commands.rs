//! The commands as a user runs them: output, files and exit codes.

use crate::fake::{self, Noise};
use assert_cmd::Command;
use std::fs;
use std::path::{Path, PathBuf};

fn tare(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin("tare").unwrap().args(arguments).env("NO_COLOR", "1").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A CSV of one condition: `trials` trials about `centre`.
fn made_up(dir: &Path, name: &str, centre: f64, cov: f64, trials: usize) -> PathBuf {
    let mut noise = Noise::new(name.len() as u64 + centre as u64);
    let mut text = "condition,trial,sample,metric,value\n".to_owned();
    for trial in 0..trials {
        text.push_str(&format!("base,{trial},0,tps,{}\n", centre * (1.0 + cov * noise.bell())));
    }
    let file = dir.join(format!("{name}.csv"));
    fs::write(&file, text).unwrap();
    file
}

#[test]
fn show_prints_tables_and_one_json_document() {
    let dir = tempfile::tempdir().unwrap();
    fake::write(&fake::bimodal(), dir.path());
    let (code, out, _) = tare(&["show", path(dir.path())]);
    assert_eq!(code, 0);
    assert!(out.contains("placement=same-pu") && !out.contains('\u{1b}'), "{out}");
    let (code, out, _) = tare(&["show", path(dir.path()), "--json"]);
    assert_eq!(code, 0);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    let metric = &json["conditions"][1]["metrics"][0];
    for key in
        ["name", "unit", "better", "mean", "ci_low", "ci_high", "within_cov", "between_cov", "min", "max", "modes"]
    {
        assert!(metric.get(key).is_some(), "{key} is missing");
    }
    assert!(json["effects"].is_array() && json["scaling"].is_array());
}

#[test]
fn report_writes_where_it_is_told_and_says_where() {
    let dir = tempfile::tempdir().unwrap();
    fake::write(&fake::bimodal(), dir.path());
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
    // Faster is no regression, and without a gate nothing fails.
    assert_eq!(tare(&["compare", path(&slower), path(&base), "--fail-if-slower", "5%"]).0, 0);
    let (code, out, _) = tare(&["compare", path(&base), path(&slower), "--json"]);
    assert_eq!(code, 0);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    let metric = &json["metrics"][0];
    assert_eq!((metric["name"].as_str(), metric["verdict"].as_str()), (Some("tps"), Some("slower")));
    assert!((metric["ratio"].as_f64().unwrap() - 0.8).abs() < 0.02, "{metric}");
    assert!(metric["ci_low"].as_f64().unwrap() < metric["ci_high"].as_f64().unwrap());
}

#[test]
fn a_metric_that_is_better_when_lower_turns_the_verdict_round() {
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
    let dir = tempfile::tempdir().unwrap();
    fake::write(&fake::bimodal(), dir.path());
    let side = |condition: &str| format!("{}:{condition}", path(dir.path()));
    let (code, out, _) = tare(&["compare", &side("placement=same-pu"), &side("placement=other-node")]);
    assert_eq!(code, 0);
    assert!(out.contains("factor placement") && out.contains("slower"), "{out}");
    let (code, _, err) = tare(&["compare", &side("placement=same-po"), &side("placement=float")]);
    assert_eq!(code, 2);
    assert!(err.contains("did you mean `placement=same-pu`?"), "{err}");
    let (code, _, err) = tare(&["compare", path(dir.path()), path(dir.path()), "--metric", "tpss"]);
    assert_eq!(code, 2);
    assert!(err.contains("did you mean `tps`?"), "{err}");
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
    }
    assert!(!dir.path().join("bad.html").exists());
    let (code, _, err) = tare(&["show", path(&dir.path().join("nowhere"))]);
    assert_eq!(code, 2);
    assert!(err.contains("nowhere"), "{err}");
    fs::write(dir.path().join("plan.json"), "{\"schema\":3}").unwrap();
    let (code, _, err) = tare(&["show", path(dir.path())]);
    assert_eq!(code, 2);
    assert!(err.contains("schema 3, newer than this tare reads") && err.contains("schema 2 or older"), "{err}");
}
