//! Every command names the schema of its `--json` document, a file in docs/schema; `support::json` checks it.

use crate::support::{QUIET, World, json, names, wait_until};
use serde_json::Value;

#[test]
fn every_command_names_the_schema_of_its_json_document() {
    let world = World::new();
    let lines: String = [("a", 100.0), ("b", 90.0), ("c", 80.0)]
        .iter()
        .flat_map(|(name, tps)| (0..5).map(move |i| format!("{name},{i},0,tps,{}\n", tps + 0.7 * f64::from(i))))
        .collect();
    let values = world.path("v.csv").display().to_string();
    std::fs::write(&values, format!("condition,trial,sample,metric,value\n{lines}")).unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| format!("{values}:{name}"));
    let builds = [values.as_str(), &values].join(",");
    let doctor = ["doctor", "--spin", "0.01", "--drift", "0"];
    let certify = [&["ab", "--certify", "--a", "command=true", "--budget", "2s"], &QUIET[..]].concat();
    let table: [(&str, i32, &[&str]); 25] = [
        ("tare-show", 0, &["show", &values]),
        ("tare-compare", 0, &["compare", &a, &b]),
        ("tare-compare-many", 0, &["compare", &a, &b, &c]),
        ("tare-history", 0, &["history", &values, &values]),
        ("tare-ab", 5, &["ab", "--a", "command=true", "--b", "command=true", "--budget", "0.02s"]),
        ("tare-certificate", 0, &certify),
        ("tare-bisect-dry-run", 0, &["bisect", "--builds", &builds, "--command", "{binary}", "--dry-run"]),
        (
            "tare-find",
            5,
            &["find", "command=true", "command=/bin/true", "--within", "0.1s", "--minimum-effect", "0.01%"],
        ),
        ("tare-dry-run", 0, &["run", "--dry-run"]),
        // Without symbols of servers, for which apt takes seconds.
        ("tare-setup", 0, &["setup", "mariadb"]),
        ("tare-studies", 0, &["studies"]),
        ("tare-studies", 0, &["studies", "first-look"]),
        ("tare-reproduce", 0, &["reproduce", "--list"]),
        ("tare-keys", 0, &["studies", "--keys"]),
        ("tare-engines", 0, &["studies", "--engines"]),
        ("tare-topo", 0, &["topo"]),
        ("tare-doctor", 0, &doctor),
        ("tare-clean", 0, &["clean", "--dry-run"]),
        ("tare-report", 0, &["report", &values]),
        ("tare-export", 0, &["export", &values, "--format", "csv", "--out", "o.csv"]),
        ("tare-restore", 0, &["restore"]),
        ("tare-error", 2, &["show", "nowhere"]),
        ("tare-error", 2, &["show", "--no-such-option"]),
        ("tare-error", 2, &["run", "no-such-study", "--dry-run"]),
        ("tare-error", 2, &["compare", &a, &a]),
    ];
    for (name, exit, words) in table {
        let (out, err) = world.exits(exit, &[words, &["--json"]].concat());
        let document = json(&out);
        assert_eq!((&document["schema"], &document["version"]), (&Value::from(name), &Value::from(1)), "{words:?}");
        if name == "tare-error" {
            assert_eq!(document["exit"], exit);
            assert!(err.contains(document["error"].as_str().unwrap()), "{err}");
        }
    }
    // With results so far, the error is a field of their document.
    let (out, err) = world.exits(4, &["ab", "--a", "command=false", "--b", "command=false", "--out", "ab", "--json"]);
    let (document, error) = (json(&out), json(&out)["error"].clone());
    assert_eq!((&document["schema"], &error["exit"]), (&"tare-ab".into(), &4.into()), "{out}");
    assert!(err.contains(error["error"].as_str().unwrap()) && error["advice"].as_str().unwrap().contains("tare ab"));
    world.exits(0, &["history", &values, "--keep", "runs.jsonl"]);
    let kept = json(&std::fs::read_to_string(world.path("runs.jsonl")).unwrap());
    assert_eq!(kept["schema"], "tare-history-run");
}

#[test]
fn runs_started_in_one_second_get_distinct_names_and_wait_for_each_other() {
    let world = World::new();
    let words = ["run", "--command", "sleep 0.3", "--runs", "2", "--wait"];
    let mut runs = [world.begin(&words), world.begin(&words)];
    assert!(runs.iter_mut().all(|run| run.wait().unwrap().success()));
    assert_eq!(names(&world.path("tare-results")).len(), 2);
    let side = "command=sleep 0.1";
    let pair = ["ab", "--a", side, "--b", side, "--budget", "1s", "--wait"];
    let long = ["run", "--command", "sleep 1", "--runs", "2"];
    let mut first = world.begin(&long);
    // Its directory is made under the lock of the machine.
    wait_until("a third folder", 60, || names(&world.path("tare-results")).len() == 3);
    let code = world.tare(&pair).output().unwrap().status.code();
    assert!(first.wait().unwrap().success() && matches!(code, Some(0 | 5)), "{code:?}");
}
