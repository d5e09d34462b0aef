//! Where the time of a transaction goes: causes that are planted by a study are named, and nothing where nothing is.

use crate::support::{World, json};
use serde_json::Value;
use tare_findings::time::TrialTime;

/// A study with these lines, run; the document of `tare why` for two of its conditions.
fn why(world: &World, study: &str, a: &str, b: &str) -> Value {
    let study = world.study(study);
    world.exits(0, &["run", &study, "--out", "results"]);
    let side = |name: &str| format!("{}:{name}", world.path("results").display());
    let (out, _) = world.exits(0, &["why", &side(a), &side(b), "--json"]);
    closes(world);
    json(&out)
}

/// Parts add up to clients / throughput in every trial, and no part but what is not explained is below zero.
fn closes(world: &World) {
    let results = tare_results::open(&world.path("results")).unwrap();
    let mut seen = 0;
    for trial in results.trials.iter().filter(|trial| !trial.samples.is_empty()) {
        let captures = results.captures.get(&(trial.trial, trial.attempt));
        let found = TrialTime::of(trial, captures).expect("a time of a transaction");
        let sum: f64 = found.parts.values().sum();
        let tps: Vec<f64> = trial.values("tps");
        let whole = 1e6 * found.clients as f64 / (tps.iter().sum::<f64>() / tps.len() as f64);
        // Samples of a trial are as long as each other to a thousandth or so.
        assert!((sum / whole - 1.0).abs() < 0.02, "{sum} {whole} {found:?}");
        assert!(found.us > 0.0 && (sum - found.us).abs() < 1e-6 * found.us, "{found:?}");
        seen += 1;
    }
    assert!(seen > 0);
}

/// The first suspect. What others do on this machine is a shortage of CPUs too, and stands in no study's way.
fn first_cause(found: &Value) -> &Value {
    let mut causes = found["causes"].as_array().unwrap().iter();
    causes.find(|cause| cause["kind"] != "cpu_shortage").unwrap_or_else(|| panic!("{found:#}"))
}

const FIRST_LOOK: &str = r#"
name = "wakes"
[workload]
name = "point_select"
rows = 1000
[sampling]
trials = 5
attempts = 1
warmup_s = 0.1
sample_s = 0.3
[factors]
placement = ["same-pu", "same-cache", "again"]
[design]
identical = "run"
[placements.same-pu]
client = "all"
server = "all"
bind = "thread"
pairing = "same-pu"
[placements.again]
client = "all"
server = "all"
bind = "thread"
pairing = "same-pu"
[placements.same-cache]
client = "all"
server = "all"
bind = "thread"
pairing = "same-cache"
"#;

#[test]
fn wake_ups_between_two_pus_are_named_first_and_nothing_between_two_alike() {
    let world = World::new();
    let found = why(&world, FIRST_LOOK, "placement=same-pu", "placement=same-cache");
    assert_eq!((&found["schema"], &found["version"]), (&"tare-why".into(), &1.into()), "{found:#}");
    // Where others take most of the time of these two PUs, that is the reason, and is said.
    let causes = found["causes"].as_array().unwrap();
    let share = |cause: &Value| cause["share"].as_f64().unwrap_or(0.0);
    let busy = causes.iter().any(|cause| cause["kind"] == "cpu_shortage" && share(cause) > 0.5);
    let cause = first_cause(&found);
    assert!(busy || cause["kind"] == "wake_ups", "{found:#}");
    let prove = cause["prove"].as_str().unwrap();
    assert!(busy || prove.contains("placement.pairing=same-pu"), "{cause:#}");
    let text = found["text"].as_str().unwrap();
    assert!(text.split_whitespace().count() <= 25, "{text}");

    let side = |name: &str| format!("{}:placement={name}", world.path("results").display());
    let (out, _) = world.exits(0, &["why", &side("same-pu"), &side("again"), "--json"]);
    let same = json(&out);
    let named = |list: &Value| list.as_array().unwrap().iter().filter(|one| one["verdict"] == "shown").count();
    assert_eq!(named(&same["causes"]), 0, "{same:#}");

    // For people, and of each condition alone; in the summary too.
    let results = world.path("results").display().to_string();
    let (out, _) = world.exits(0, &["why", &side("same-pu"), &side("same-cache")]);
    assert!(out.contains("What would decide about ") && out.contains("not explained"), "{out}");
    let (out, _) = world.exits(0, &["why", &results]);
    assert!(out.contains("placement=same-cache: ") && out.contains("switches a transaction"), "{out}");
    let (out, _) = world.exits(0, &["show", &results]);
    assert!(out.contains("where the time of a transaction goes"), "{out}");
    let (out, _) = world.exits(0, &["show", &results, "--json"]);
    assert_eq!(json(&out)["time"].as_array().unwrap().len(), 3, "{out}");
    let (_, err) = world.exits(2, &["why", &side("same-pu"), &side("same-pu")]);
    assert!(err.contains("same trials"), "{err}");
}

#[test]
fn more_client_threads_than_cpus_are_a_shortage_of_cpus() {
    let world = World::new();
    let study = "name = \"threads\"\n[workload]\nname = \"point_select\"\nrows = 1000\n\
         [sampling]\ntrials = 5\nattempts = 1\nwarmup_s = 0.1\nsample_s = 0.3\n[factors]\nthreads = [1, 16]\n";
    let found = why(&world, study, "threads=1", "threads=16");
    let cause = &found["causes"][0];
    assert_eq!(cause["kind"], "cpu_shortage", "{found:#}");
    assert!(cause["prove"].as_str().unwrap().contains("factors.threads=8"), "{cause:#}");
}

/// A study of MariaDB, all of whose waits are told.
fn mariadb(workload: &str, factors: &str) -> String {
    format!(
        "name = \"planted\"\n[engine]\nname = \"mariadb\"\n{workload}\n[capture]\nstatus = true\nlocks = true\n\
         [sampling]\ntrials = 6\nattempts = 1\nwarmup_s = 0.1\nsample_s = 0.4\n{factors}\n"
    )
}

#[test]
fn a_hot_row_is_named_first() {
    let world = World::new();
    let workload = "[engine.options]\ninnodb_flush_log_at_trx_commit = \"0\"\n\
                    [workload]\nname = \"update_non_index\"\ntables = 1\nthreads = 16";
    let found = why(&world, &mariadb(workload, "[factors]\nrows = [20000, 2]"), "rows=20000", "rows=2");
    let cause = first_cause(&found);
    assert_eq!(cause["kind"], "row_lock", "{found:#}");
    assert!(cause["us"].as_f64().unwrap() > 10.0, "{cause:#}");
}

#[test]
fn a_commit_that_waits_for_storage_is_named_first() {
    let world = World::new();
    let workload = "[workload]\nname = \"update_non_index\"\ntables = 1\nrows = 1000\nthreads = 1";
    let factors = "[factors.option]\ninnodb_flush_log_at_trx_commit = [\"0\", \"1\"]";
    let name = |level: u8| format!("option.innodb_flush_log_at_trx_commit={level}");
    let found = why(&world, &mariadb(workload, factors), &name(0), &name(1));
    let cause = first_cause(&found);
    assert_eq!(cause["kind"], "commit", "{found:#}");
    let counts = |side: usize| cause["counts"][side].as_f64().unwrap();
    assert!(counts(0) < 0.1 && counts(1) > 0.5, "{cause:#}");
    assert!(cause["prove"].as_str().unwrap().contains("innodb_flush_log_at_trx_commit=0"), "{cause:#}");
}
