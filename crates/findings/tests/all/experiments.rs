//! The experiments that are proposed for suspects, and the run that measures both sides again.

use crate::made_up::differ;
use crate::suspects::{changes, found, plan};
use crate::time::two_sides;
use serde_json::{Value, json};
use tare_findings::compare::{Note, Options, Side, compare_many};
use tare_findings::why::{Expected, Suspect, Trial, experiments, why};
use tare_results::Results;
use tare_results::captures::LockShare;

const LOCK: &str = "dict_sys_mutex";

/// B waits 300 us longer for rows and 200 us longer for one lock.
fn with_locks() -> Results {
    let mut both = two_sides(200.0, 300.0);
    for record in &both.trials {
        let us = 1e6 / record.samples[0].metrics["tps"];
        let waited_us = if record.condition == "side=b" { 200.0 } else { 1.0 };
        let locks = both.captures.get_mut(&(record.trial, 1)).unwrap().locks.as_mut().unwrap();
        locks.waits = vec![LockShare {
            kind: Default::default(),
            name: LOCK.to_owned(),
            count: 1,
            wait_ms: 0.0,
            wait_fraction: waited_us / us,
        }];
    }
    both
}

/// More rows or tables would change nothing where statements name them, and so rule out a lock that is the reason.
#[test]
fn a_key_on_which_the_load_does_not_depend_is_no_experiment() {
    let [of_sql, script] = [json!({"workload.statements": "x"}), json!({"workload.script": "mine.sql"})];
    let [rows, tables, scale] = ["workload.rows=100000", "workload.tables=8", "workload.pgbench_scale=80"];
    let threads = "workload.threads=4";
    for (settings, sizes, expected) in [
        (&of_sql, json!({"workload.rows": 2, "workload.tables": 1}), [rows, tables]),
        (&of_sql, json!({"workload.rows": 2}), [rows, threads]),
        (&of_sql, json!({}), [threads, threads]),
        (&script, json!({}), [threads, threads]),
        (&script, json!({"workload.pgbench_scale": 10}), [scale, threads]),
        // Older plans do not say it.
        (&of_sql, Value::Null, [threads, threads]),
        (&script, Value::Null, [threads, threads]),
        (&json!({}), Value::Null, [rows, tables]),
    ] {
        let mut both = with_locks();
        let mut settings = settings.clone();
        for (key, value) in [("name", json!("x")), ("threads", json!(8)), ("rows", json!(2)), ("tables", json!(1))] {
            settings[format!("workload.{key}")] = value;
        }
        plan(&mut both, &settings);
        for planned in &mut both.plan.as_mut().unwrap().conditions {
            planned.sizes = serde_json::from_value(sizes.clone()).unwrap();
        }
        let causes = found(&both);
        let of = |suspect: Suspect| causes.iter().find(|cause| cause.suspect == suspect).unwrap();
        let both_of = [of(Suspect::RowLock), of(Suspect::GlobalLock(LOCK.to_owned()))];
        assert_eq!(both_of.map(changes), expected.map(|one| vec![one.to_owned()]), "{settings} {sizes}");
        for cause in both_of {
            let by_parts = changes(cause) == [threads];
            assert_eq!(cause.prove.expected == Expected::OwnPart, by_parts, "{cause:#?}");
            assert!(!cause.prove.same, "{cause:#?}");
        }
        let tried = experiments(&differ(&both));
        let of_locks = tried.iter().filter(|trial| trial.suspect != Suspect::ServerWork);
        let is_of = |trial: &Trial| both_of.iter().any(|cause| cause.prove.changes == trial.changes);
        assert!(of_locks.clone().count() > 0 && of_locks.clone().all(is_of), "{settings} {sizes} {tried:#?}");
    }
}

#[test]
fn two_runs_are_measured_again_with_the_key_in_which_they_differ_as_a_factor() {
    let run = |settings: &Value| {
        let mut run = two_sides(0.0, 0.0);
        plan(&mut run, settings);
        run.plan.as_mut().unwrap().estimated_s = 600.0;
        run
    };
    let again = |a: Value, b: Value| {
        let (a, b) = (run(&a), run(&b));
        let [a, b] = [&a, &b].map(|results| Side { results, condition: Some("side=a") });
        why(a, b).unwrap().again
    };
    let builds = again(json!({"engine.binary": "/a", "capture.waits": "on"}), json!({"engine.binary": "/b"})).unwrap();
    assert_eq!(builds.arguments[1..], ["--set", "factors.binary=/a,/b"].map(str::to_owned));
    assert_eq!(builds.estimated_s, Some(1200), "two conditions for one");
    let option = again(json!({"engine.options.work_mem": "4MB"}), json!({"engine.options.work_mem": "1GB"})).unwrap();
    assert_eq!(option.arguments[2], "factors.option.work_mem=4MB,1GB");
    // `tare compare` names the same study, and one for three sides; none without the file of a study.
    let named = |sides: &[&Results]| {
        let sides: Vec<_> = sides.iter().map(|results| ("s".to_owned(), Side { results, condition: None })).collect();
        let notes = compare_many(&sides, &Options::default()).unwrap().notes;
        let one_study = notes.into_iter().find_map(|note| match note {
            Note::Sessions { one_study, .. } => Some(one_study),
            _ => None,
        });
        one_study.flatten().map(|study| study.arguments())
    };
    let [a, b, c] = ["/a", "/b", "/c"].map(|binary| run(&json!({"engine.binary": binary})));
    assert_eq!(named(&[&a, &b]), Some(builds.arguments));
    assert_eq!(named(&[&a, &b, &c]).unwrap()[2], "factors.binary=/a,/b,/c");
    let other = run(&json!({"engine.binary": "/a", "workload.rows": 7}));
    assert_eq!(named(&[&a, &b, &other]), None);
    assert_eq!(named(&[&Results { study_toml: None, ..run(&json!({"engine.binary": "/a"})) }, &b]), None);
    for (a, b) in [
        (json!({"workload.rows": 1}), json!({"workload.rows": 1})),
        (json!({"workload.rows": 1, "engine.binary": "/a"}), json!({"workload.rows": 2, "engine.binary": "/b"})),
        (json!({"workload.rows": 1}), json!({})),
        (json!({"client.cpus": "1,2"}), json!({"client.cpus": "3"})),
    ] {
        assert_eq!(again(a.clone(), b.clone()), None, "{a} {b}");
    }
    let same = differ(&run(&json!({}))).again.unwrap();
    assert_eq!((same.arguments.len(), same.estimated_s), (1, Some(600)));
}
