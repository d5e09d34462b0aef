//! Reads results directories and CSV files, valid and invalid.

use crate::report::fake;
use std::fs;
use tare_results::schema::SCHEMA;
use tare_results::{ReadError, open};

fn csv(text: &str) -> Result<tare_results::Results, ReadError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.csv");
    fs::write(&path, text).unwrap();
    open(&path)
}

/// Line, column and text of a malformed file.
fn malformed(result: Result<tare_results::Results, ReadError>) -> (usize, usize, String) {
    match result {
        Err(ReadError::Malformed { line, column, what, .. }) => (line, column, what),
        other => panic!("expected a malformed file, got {other:?}"),
    }
}

#[test]
fn a_damaged_line_is_reported_and_skipped_and_the_rest_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let records = fake::write(&fake::bimodal(), dir.path());
    let path = dir.path().join("trials.jsonl");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 40]).unwrap();
    let results = open(dir.path()).unwrap();
    assert_eq!(results.trials.len(), records - 1);
    let cut = &results.damaged[0];
    assert!(cut.line == 32 && cut.what.contains("cut short"), "{cut}");
    assert_eq!(results.warnings, Vec::<String>::new());

    let lines: Vec<&str> = std::str::from_utf8(&whole).unwrap().lines().collect();
    let garbage = [&lines[..2], &["\u{0}garbage", "{\"schema\":1}"], &lines[2..]].concat().join("\n") + "\n";
    fs::write(&path, garbage).unwrap();
    let results = open(dir.path()).unwrap();
    assert_eq!(results.trials.len(), records);
    assert_eq!(results.damaged.iter().map(|d| d.line).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(results.warnings, Vec::<String>::new());
    let shown = tare_report::words::warnings(&tare_findings::summarize(&results), &results);
    let of_lines: Vec<&String> = shown.iter().filter(|line| line.contains("trials.jsonl is damaged")).collect();
    assert_eq!(of_lines.len(), 2, "each is shown once: {shown:?}");
}

#[test]
fn a_duplicate_or_unplanned_record_is_reported_and_not_analysed() {
    let dir = tempfile::tempdir().unwrap();
    let records = fake::write(&fake::bimodal(), dir.path());
    let path = dir.path().join("trials.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    let first: serde_json::Value = serde_json::from_str(whole.lines().next().unwrap()).unwrap();
    let mut stranger = first.clone();
    stranger["trial"] = 100_000.into();
    let mut renamed = first.clone();
    renamed["condition"] = "another".into();
    fs::write(&path, format!("{whole}{first}\n{stranger}\n{renamed}\n")).unwrap();
    let results = open(dir.path()).unwrap();
    assert_eq!(results.trials.len(), records);
    assert!(results.warnings[0].contains("1 record is not analysed"), "{:?}", results.warnings);
    assert!(results.warnings[1].contains("2 records are not analysed"), "{:?}", results.warnings);
}

#[test]
fn links_and_pipes_in_a_results_directory_are_refused_at_once() {
    let dir = fake::dir(&fake::bimodal());
    for file in ["study.toml", "environment.json", "trials.jsonl", "plan.json"] {
        let path = dir.path().join(file);
        let _ = fs::remove_file(&path); // not every fake has every file
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        assert!(matches!(open(dir.path()), Err(ReadError::File(_))), "{file}");
        fs::remove_file(&path).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        assert!(matches!(open(dir.path()), Err(ReadError::File(_))), "{file}");
    }
    assert!(matches!(open(&dir.path().join("plan.json")), Err(ReadError::File(_))), "as a CSV file");
}

#[test]
fn a_newer_schema_is_refused_with_both_numbers() {
    let dir = fake::dir(&fake::bimodal());
    // A newer format need not have the fields of this one.
    fs::write(dir.path().join("trials.jsonl"), "{\"schema\": 99, \"unheard_of\": []}\n").unwrap();
    let error = open(dir.path()).unwrap_err();
    assert!(matches!(error, ReadError::NewerSchema { found: 99, known: SCHEMA, .. }), "{error}");
    assert!(error.to_string().contains("trials.jsonl has schema 99"), "{error}");
}

#[test]
fn missing_or_unreadable_results_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(open(dir.path()), Err(ReadError::NotResults { .. })));
    assert!(matches!(open(&dir.path().join("nowhere")), Err(ReadError::Io { .. })));
    fs::write(dir.path().join("plan.json"), "not json").unwrap();
    assert_eq!(malformed(open(dir.path())).0, 1);
}

#[test]
fn missing_environment_and_trials_are_warnings() {
    let dir = fake::dir(&fake::bimodal());
    fs::remove_file(dir.path().join("environment.json")).unwrap();
    fs::remove_file(dir.path().join("trials.jsonl")).unwrap();
    let results = open(dir.path()).unwrap();
    assert_eq!(results.warnings.len(), 2);
    assert!(results.trials.is_empty());
}

#[test]
fn csv_rows_become_trials_with_levels() {
    let results = csv("metric,condition,trial,sample,value\n\
                       tps,aslr=on ahi=off,1,0,10.5\n\
                       tps,aslr=on ahi=off,1,1,11.5\n\
                       tps,aslr=off ahi=off,1,0,9\n\
                       \"latency_ms_p99\",\"aslr=on ahi=off\",1,0,1.25e-3\n")
    .unwrap();
    assert_eq!(results.trials.len(), 2);
    let trial = &results.trials[0];
    assert_eq!(trial.levels.get("ahi").map(String::as_str), Some("off"));
    assert_eq!(trial.sample_count(), 2);
    assert_eq!(trial.all_samples().next().unwrap().metrics["latency_ms_p99"], 1.25e-3);
    assert_eq!(trial.values("tps"), [10.5, 11.5]);
}

#[test]
fn csv_mistakes_name_line_and_column() {
    let header = "condition,trial,sample,metric,value\n";
    let good = "a,0,0,tps,1\n";
    let cases = [
        ("condition,trial,sample,metric\n".to_owned(), 1, 4, "column `value` is missing"),
        ("condition,trial,sample,metric,value,host\n".to_owned(), 1, 6, "unknown column `host`"),
        ("condition,factor_a,trial,analysed,value\n".to_owned(), 1, 2, "`values` can be read (--table values)"),
        ("condition,trial,trial,metric,value\n".to_owned(), 1, 3, "appears twice"),
        (format!("{header}{good}a,0,1,tps,fast\n"), 3, 5, "`fast` in column `value` is not a number"),
        (format!("{header}{good}a,0,1,tps,NaN\n"), 3, 5, "`NaN`"),
        (format!("{header}{good}a,0,1,tps,inf\n"), 3, 5, "`inf`"),
        (format!("{header}{good}a,-1,1,tps,1\n"), 3, 2, "`-1` in column `trial`"),
        (format!("{header}{good}a,0,1.5,tps,1\n"), 3, 3, "`1.5` in column `sample`"),
        (format!("{header}{good}a,0,1,tps\n"), 3, 5, "the row has 4 fields"),
        (format!("{header}{good}a,0,1,tps,1,2\n"), 3, 6, "the row has 6 fields"),
        (format!("{header}{good},0,1,tps,1\n"), 3, 1, "the condition is empty"),
        (format!("{header}{good}{good}"), 3, 1, "a second value"),
        (header.to_owned(), 1, 1, "no rows"),
        (String::new(), 1, 1, "column `condition` is missing"),
    ];
    for (text, line, column, what) in cases {
        let (found_line, found_column, found) = malformed(csv(&text));
        assert!(found.contains(what), "{text:?}: {found}");
        assert_eq!((found_line, found_column), (line, column), "{text:?}: {found}");
    }
}
