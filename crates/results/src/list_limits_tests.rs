//! Tests of every list limit with one entry more than allowed.

use super::*;
use crate::cache_lines::LineAccess;
use crate::error::{DirectoryError, ReadError};
use crate::limits::{Found, MOST_BYTES, MOST_DAMAGED, MOST_METRICS_OF_RECORDS, OutOfRange};
use crate::lines;
use crate::schema::{Levels, Outlived, PlannedTrial};
use crate::store::{append_trial, write_plan};
use serde_json::{Value, json};
use std::io::Read;
use tare_files::{Folder, Trust};

fn record() -> TrialRecord {
    let planned = PlannedTrial { trial: 0, block: 0, condition: "base".into(), lifetime: None };
    let mut record = TrialRecord::new(&planned, 1, Levels::new(), String::new());
    record.samples.push(SampleRecord { threads: vec![ThreadRecord::default()], ..SampleRecord::default() });
    record
}

fn names(count: usize) -> Value {
    (0..count).map(|n| Value::from(format!("n{n}"))).collect()
}

fn map(count: usize, value: &Value) -> Value {
    (0..count).map(|n| (format!("n{n}"), value.clone())).collect::<serde_json::Map<_, _>>().into()
}

fn at(document: &Value, pointer: &str, list: Value) -> Value {
    let mut changed = document.clone();
    match changed.pointer_mut(pointer) {
        Some(place) => *place = list,
        None => {
            let (outer, name) = pointer.rsplit_once('/').unwrap();
            changed.pointer_mut(outer).unwrap()[name] = list;
        }
    }
    changed
}

/// Checks a document unchanged, with a list of the maximum length, and with one more entry.
fn holds<T: Limited + serde::de::DeserializeOwned>(base: &Value, pointer: &str, list: impl Fn(usize) -> Value) {
    let refused = |document: Value| serde_json::from_value::<T>(document).unwrap().check().err();
    assert_eq!(refused(base.clone()), None);
    // Most limits are 10,000 or lower: the longest lists are only built where needed.
    let out_of_range = [11_000, 300_000].into_iter().find_map(|count| refused(at(base, pointer, list(count))));
    let Some(OutOfRange { field, found: Found::Entries { most, .. } }) = out_of_range else { panic!("{pointer}") };
    let named = pointer[1..].replace('/', ".").replace(".0", "[0]");
    assert!(field == named || named.contains("~"), "{field} of {pointer}");
    assert_eq!(refused(at(base, pointer, list(most))), None, "{pointer}");
    let one_more = Found::Entries { found: most + 1, most };
    assert_eq!(refused(at(base, pointer, list(most + 1))).map(|e| e.found), Some(one_more), "{pointer}");
}

#[test]
fn every_list_of_a_record_has_a_limit_and_is_named_with_it() {
    let mut whole = serde_json::to_value(record()).unwrap();
    let side = json!({"elapsed_s": 1.0, "cpu_s": 1.0, "user_only": false, "counts": {}});
    whole["server"] = json!({"product": "x", "version": "1", "path": "/x", "arguments": []});
    whole["settled"] = json!({"statements_s": 0.0, "waited_s": 0.0, "settled": true, "left": {}});
    whole["lifetime"] = json!({"number": 0, "place": 0, "order": []});
    whole["searches"] = json!([{"search": 0, "objective": "latency_ms_p99 <= 5", "closed_loop_tps": 1.0, "steps": []}]);
    whole["capture_sample"] =
        json!({"elapsed_s": 1.0, "tps": 1.0, "tps_ratio": 1.0, "events": {"client": side, "server": side}});
    let line = SharedLine { accesses: vec![LineAccess::default()], ..SharedLine::default() };
    let lines = SharedLines { lines: vec![line], ..SharedLines::default() };
    whole["capture_sample"]["lines"] = serde_json::to_value(&lines).unwrap();
    for (place, one) in [
        ("/capture_sample/lines/lines", serde_json::to_value(&lines.lines[0]).unwrap()),
        ("/capture_sample/lines/lines/0/accesses", serde_json::to_value(&lines.lines[0].accesses[0]).unwrap()),
    ] {
        holds::<TrialRecord>(&whole, place, |count| vec![one.clone(); count].into());
    }
    let text = json!("x");
    for place in ["/levels", "/uncontrolled", "/plans", "/captures", "/captures_missing", "/server/build"] {
        holds::<TrialRecord>(&whole, place, |count| map(count, &text));
    }
    for place in ["/lifetime/order", "/outlived", "/client_programs", "/server/arguments", "/server/option_files"] {
        holds::<TrialRecord>(&whole, place, names);
    }
    for place in
        ["/samples/0/metrics", "/samples/0/covariates", "/capture_sample/statement_us", "/settled/left"].into_iter()
    {
        let one = if place.ends_with("left") { json!(1) } else { json!(1.0) };
        holds::<TrialRecord>(&whole, place, |count| map(count, &one));
    }
    for side in ["client", "server"] {
        let place = format!("/capture_sample/events/{side}/counts");
        holds::<TrialRecord>(&whole, &place, |count| map(count, &json!(1.0)));
    }
    holds::<TrialRecord>(&whole, "/samples/0/histograms", |count| map(count, &text));
    holds::<TrialRecord>(&whole, "/samples/0/tps_each_second", |count| vec![json!(1.0); count].into());
    holds::<TrialRecord>(&whole, "/warm_up", |count| map(count, &json!([])));
    holds::<TrialRecord>(&whole, "/server/changed", |count| map(count, &json!({"value": "x"})));
    let disturber = json!({"program": "x", "cpus": 1.0});
    holds::<TrialRecord>(&whole, "/disturbed_by", |count| vec![disturber.clone(); count].into());
    let setting = json!({"factor": "x", "level": "y", "found": null, "verified": "z"});
    holds::<TrialRecord>(&whole, "/settings", |count| vec![setting.clone(); count].into());
    let step = json!({"asked_tps": 1.0, "done_tps": 1.0, "met": true, "repeated": false});
    holds::<TrialRecord>(&whole, "/searches/0/steps", |count| vec![step.clone(); count].into());

    // Lists of larger items, and values that JSON cannot express.
    let refused = |change: &dyn Fn(&mut TrialRecord)| {
        let mut record = record();
        change(&mut record);
        record.check().unwrap_err().field
    };
    assert_eq!(refused(&|r| r.samples = vec![SampleRecord::default(); MOST_SAMPLES + 1]), "samples");
    assert_eq!(refused(&|r| r.dropped = vec![SampleRecord::default(); MOST_SAMPLES + 1]), "dropped");
    assert_eq!(
        refused(&|r| r.samples[0].threads = vec![ThreadRecord::default(); MOST_THREADS + 1]),
        "samples[0].threads"
    );
    let seen = (0..=MOST_CPUS).map(|cpu| (cpu, 1));
    assert_eq!(
        refused(&|r| r.samples[0].threads[0].seen_cpus = seen.clone().collect()),
        "samples[0].threads[0].seen_cpus"
    );
    let took = vec![1.0; MOST_READINGS + 1];
    assert_eq!(refused(&|r| r.warm_up = [("q1_s".to_owned(), took.clone())].into()), "warm_up");
}

#[test]
fn every_list_of_a_plan_has_a_limit_and_is_named_with_it() {
    let mut plan = Plan { conditions: vec![PlannedCondition::default()], ..Plan::default() };
    plan.conditions[0].placement = Some(Default::default());
    let rule = tare_stats::sequential::Rule::Sessions;
    plan.settle = Some(Settle::between(["a".into(), "b".into()], rule, 1));
    let mut whole = serde_json::to_value(plan).unwrap();
    whole["within"] = json!({"asked_s": 1.0, "whole_s": 1.0, "whole_trials": 1, "levels": {}});
    whole["race"] = json!({"candidates": [], "metric": null, "minimum_effect": 0.1, "alpha": 0.1, "budget_s": null,
        "seed": 1, "sessions": 1, "early_looks": []});
    whole["conditions"][0]["placement"]["background"] = json!([]);
    let trial = json!({"trial": 0, "block": 0, "condition": "a"});
    holds::<Plan>(&whole, "/trials", |count| vec![trial.clone(); count].into());
    let condition = serde_json::to_value(PlannedCondition::default()).unwrap();
    holds::<Plan>(&whole, "/conditions", |count| vec![condition.clone(); count].into());
    for place in ["/notes", "/settle/controls", "/race/candidates"] {
        holds::<Plan>(&whole, place, names);
    }
    holds::<Plan>(&whole, "/race/early_looks", |count| vec![json!(2); count].into());
    let left_out = json!({"setting": "x", "level": "y", "reason": "z"});
    holds::<Plan>(&whole, "/left_out", |count| vec![left_out.clone(); count].into());
    holds::<Plan>(&whole, "/within/levels", |count| map(count, &json!([])));
    let session = json!({"first_block": 0, "boot_id": null});
    holds::<Plan>(&whole, "/settle/begun", |count| vec![session.clone(); count].into());
    for place in ["/conditions/0/levels", "/conditions/0/settings"] {
        holds::<Plan>(&whole, place, |count| map(count, &json!("x")));
    }
    holds::<Plan>(&whole, "/conditions/0/sizes", |count| map(count, &json!(1)));
    holds::<Plan>(&whole, "/conditions/0/placement/client", |count| vec![json!([]); count].into());
    holds::<Plan>(&whole, "/conditions/0/placement/server", |count| vec![json!([]); count].into());
    holds::<Plan>(&whole, "/conditions/0/placement/background", |count| (0..count).collect());
    let wide = at(&whole, "/conditions/0/placement/client", json!([(0..=MOST_CPUS).collect::<Vec<_>>()]));
    let refused = serde_json::from_value::<Plan>(wide).unwrap().check().unwrap_err();
    assert_eq!(refused.field, "conditions[0].placement.client");
    holds::<Plan>(&whole, "/factors", names);
}

#[test]
fn every_list_of_a_machine_and_of_what_was_captured_has_a_limit_and_is_named_with_it() {
    let machine = json!({"origin": "this", "packages": [], "dies": [], "caches": [], "cores": [], "pus": [], "nodes": [],
        "cpu_kinds": [], "distances": [], "excluded": {"offline": "", "cgroup": "", "affinity": "", "cgroup_nodes": ""}});
    holds::<Machine>(&machine, "/distances", |count| vec![json!([]); count].into());
    let wide = at(&machine, "/distances", json!([vec![1; MOST_CPUS + 1]]));
    assert_eq!(serde_json::from_value::<Machine>(wide).unwrap().check().unwrap_err().field, "distances");
    let none = json!({"threads": 0, "samples": 0, "running_samples": 0, "exact": true, "parts": []});
    let waits = json!({"schema": 1, "elapsed_s": 1.0, "looks": 0, "looking_cpu_s": 0.0, "connections": none,
        "background": none, "stacks": {"read": 0, "whole": 0, "callers": []}});
    let caller = json!({"chain": "a;b", "fraction": 0.1});
    holds::<WaitsFile>(&waits, "/stacks/callers", |count| vec![caller.clone(); count].into());
    let part = json!({"time": "ran", "threads": 1, "fraction": 0.1});
    holds::<WaitsFile>(&waits, "/background/parts", |count| vec![part.clone(); count].into());
}

#[test]
fn a_record_with_an_impossible_time_is_set_aside_with_the_field() {
    let good = serde_json::to_value(record()).unwrap();
    let sample = SampleRecord { elapsed_s: 1e-9, ..SampleRecord::default() };
    assert_eq!(sample.check(), Ok(()));
    for (place, field) in [
        ("/elapsed_s", "elapsed_s"),
        ("/samples/0/elapsed_s", "samples[0].elapsed_s"),
        ("/samples/0/threads/0/user_s", "samples[0].threads[0].user_s"),
        ("/samples/0/threads/0/system_s", "samples[0].threads[0].system_s"),
        ("/samples/0/threads/0/schedule/ran_s", "samples[0].threads[0].schedule.ran_s"),
        ("/samples/0/threads/0/schedule/waited_s", "samples[0].threads[0].schedule.waited_s"),
        ("/samples/0/threads/0/schedule/slept_s", "samples[0].threads[0].schedule.slept_s"),
        ("/capture_sample/elapsed_s", "capture_sample.elapsed_s"),
    ] {
        let mut whole = good.clone();
        whole["samples"][0]["threads"][0]["schedule"] = json!({"ran_s": 1.0, "waited_s": 1.0, "slept_s": 0.0});
        whole["capture_sample"] = json!({"elapsed_s": 1.0, "tps": 1.0, "tps_ratio": 1.0});
        let lengths = field.contains("sample") && field.ends_with("elapsed_s");
        for wrong in [-1.0, -1e300, 1e300].into_iter().chain(lengths.then_some(5e-324)) {
            let dir = tempfile::tempdir().unwrap();
            let folder = Folder::open(dir.path(), Trust::Anyone).unwrap().unwrap();
            let text = format!("{good}\n{}\n", at(&whole, place, json!(wrong)));
            std::fs::write(dir.path().join("trials.jsonl"), text).unwrap();
            let read = lines::read(&folder).unwrap();
            let said: Vec<String> = read.damaged.iter().map(ToString::to_string).collect();
            let expected = format!("trials.jsonl is damaged and set aside: {field} is {wrong:e} s");
            assert!(read.trials.len() == 1 && said.len() == 1 && said[0].contains(&expected), "{said:?}");
        }
    }
}

#[test]
fn a_list_that_is_too_long_is_reported_with_its_file_and_never_written() {
    let directory = tempfile::tempdir().unwrap();
    let folder = Folder::open(directory.path(), Trust::Anyone).unwrap().unwrap();
    let mut long = record();
    long.warm_up = (0..=MOST_NAMES).map(|n| (format!("q{n}"), Vec::new())).collect();
    let refused = append_trial(&folder, &long).unwrap_err();
    assert!(
        matches!(&refused, DirectoryError::OutOfRange { out_of_range, .. } if out_of_range.field == "warm_up"),
        "{refused}"
    );
    let line = serde_json::to_string(&long).unwrap();
    std::fs::write(directory.path().join("trials.jsonl"), format!("{line}\n")).unwrap();
    // Output of a program may be of any length: the record is kept with the part that is within the limits.
    let mut long_record = record();
    long_record.samples[0].tps_each_second = vec![1.5; MOST_READINGS + 1];
    long_record.outlived = vec![Outlived { pid: 1, name: "x".to_owned() }; MOST_NAMES + 1];
    append_trial(&folder, &long_record).unwrap();
    let read = lines::read(&folder).unwrap();
    assert_eq!((read.trials.len(), read.damaged.len(), read.damaged[0].line), (1, 1, 1));
    assert_eq!(read.damaged[0].what, "warm_up has 5001 entries: at most 5000 are read");
    assert_eq!(read.trials[0].samples[0].tps_each_second.len(), MOST_READINGS);

    let plan = Plan { schema: 3, notes: vec![String::new(); 2 * MOST_CONDITIONS + 1], ..Plan::default() };
    assert!(matches!(write_plan(&folder, &plan), Err(DirectoryError::OutOfRange { .. })));
    std::fs::write(directory.path().join("plan.json"), serde_json::to_string(&plan).unwrap()).unwrap();
    let refused = crate::open(directory.path()).unwrap_err().to_string();
    assert!(refused.ends_with("plan.json: notes has 10001 entries: at most 10000 are read"), "{refused}");
}

/// Regression test: 12 MB of samples with one metric each took more than 3 GB as columns.
#[test]
fn samples_without_a_metric_in_common_take_no_more_than_their_values() {
    let sample = |number: usize, metric: String| SampleRecord {
        sample: number,
        metrics: [(metric, 1.0)].into(),
        ..SampleRecord::default()
    };
    let mut apart = record();
    apart.samples = (0..1000).map(|n| sample(n, format!("m{n}"))).collect();
    apart.pack();
    assert_eq!((apart.plain.len(), apart.samples.len()), (0, 1000));
    let mut alike = record();
    alike.samples = (0..1000).map(|n| sample(n, format!("m{}", n % 4))).collect();
    alike.pack();
    assert_eq!((alike.plain.len(), alike.samples.len()), (1000, 0));
}

#[test]
fn records_of_more_metrics_than_can_be_compared_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let folder = Folder::open(directory.path(), Trust::Anyone).unwrap().unwrap();
    write_plan(&folder, &Plan { schema: 3, ..Plan::default() }).unwrap();
    let lines = |metrics: usize| {
        (0..2).map(move |trial| {
            let mut record = TrialRecord { trial, ..record() };
            record.samples[0].metrics = (0..metrics).map(|n| (format!("m{trial}_{n}"), 1.0)).collect();
            serde_json::to_string(&record).unwrap() + "\n"
        })
    };
    let read = |metrics: usize| {
        std::fs::write(directory.path().join("trials.jsonl"), lines(metrics).collect::<String>()).unwrap();
        let planned = (0..2).map(|trial| PlannedTrial { trial, block: 0, condition: "base".into(), lifetime: None });
        write_plan(&folder, &Plan { schema: 3, trials: planned.collect(), ..Plan::default() }).unwrap();
        crate::open(directory.path()).map(|results| results.trials.len())
    };
    assert_eq!(read(MOST_METRICS_OF_RECORDS / 2).unwrap(), 2);
    let refused = read(MOST_METRICS_OF_RECORDS / 2 + 1).unwrap_err().to_string();
    assert!(refused.contains("more than 10000 metrics"), "{refused}");
}

#[test]
fn files_of_records_are_read_as_long_as_they_were_and_not_for_ever() {
    let directory = tempfile::tempdir().unwrap();
    let folder = Folder::open(directory.path(), Trust::Anyone).unwrap().unwrap();
    let path = directory.path().join("trials.jsonl");
    std::fs::write(&path, "x\n".repeat(MOST_DAMAGED)).unwrap();
    let mut opened = lines::opened(&folder).unwrap();
    assert_eq!(lines::read(&folder).unwrap().damaged.len(), MOST_DAMAGED);
    std::fs::write(&path, "x\n".repeat(MOST_DAMAGED + 1)).unwrap();
    let mut read = Vec::new();
    opened[0].1.read_to_end(&mut read).unwrap();
    assert_eq!(read.len(), 2 * MOST_DAMAGED, "what is appended meanwhile is not waited for");
    let refused = lines::read(&folder).unwrap_err();
    assert!(matches!(refused, ReadError::TooMany { what: "damaged lines", .. }), "{refused}");
    // The file is sparse: it takes no disk space.
    std::fs::File::options().write(true).open(&path).unwrap().set_len(MOST_BYTES + 1).unwrap();
    let refused = lines::read(&folder).unwrap_err();
    assert!(matches!(refused, ReadError::TooMany { what: "bytes of records", .. }), "{refused}");
}

/// Regression test: 10 MB of such lines took 11 GB.
#[test]
fn lines_that_are_no_records_take_no_more_memory_than_a_batch() {
    let directory = tempfile::tempdir().unwrap();
    let folder = Folder::open(directory.path(), Trust::Anyone).unwrap().unwrap();
    std::fs::write(directory.path().join("trials.jsonl"), "x\n".repeat(1_000_000)).unwrap();
    assert!(matches!(lines::read(&folder), Err(ReadError::TooMany { what: "damaged lines", .. })));
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")).unwrap();
    assert!(peak.parse::<u64>().unwrap() < 500 << 10, "{peak} kB; all at once are more than 2 GB");
}

/// Regression test: a study with a list of 40 MB took 4 GB, and half a minute.
#[test]
fn the_study_of_results_is_no_longer_than_can_be_read_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let open = crate::store::Directory::create(&directory.path().join("results"), Trust::Anyone).unwrap();
    let study = |bytes: usize| "#".repeat(bytes);
    assert!(open.write_study(&study(4 << 20)).is_ok());
    let refused = open.write_study(&study((4 << 20) + 1)).unwrap_err().to_string();
    assert!(refused.contains("study.toml is larger than"), "{refused}");
    write_plan(open.folder(), &Plan::default()).unwrap();
    assert!(crate::open(open.path()).is_ok());
    std::fs::write(open.path().join("study.toml"), study((4 << 20) + 1)).unwrap();
    assert!(crate::open(open.path()).unwrap_err().to_string().contains("study.toml is larger than"));
}

/// A file of 60 MB takes little disk space if it is hard-linked a thousand times.
#[test]
fn environments_of_all_machines_have_one_limit() {
    let directory = tempfile::tempdir().unwrap();
    let folder = Folder::open(directory.path(), Trust::Anyone).unwrap().unwrap();
    std::fs::write(directory.path().join("a"), "{}").unwrap();
    let mut left = 1;
    assert!(crate::directory::environment(&folder, "a", &mut left).unwrap_err().to_string().contains("larger than"));
}
