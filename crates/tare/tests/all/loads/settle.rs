//! Between warm-up and samples, a server runs the study's statements and finishes work that the warm-up left.

use crate::support::{World, trials};
use serde_json::Value;

fn study(engine: &str, workload: &str) -> String {
    format!(
        "name = \"settle\"\n[engine]\nname = \"{engine}\"\n[workload]\nname = \"update_non_index\"\ntables = 1\nrows = 100\n\
         threads = 2\n{workload}\n[sampling]\ntrials = 1\nattempts = 1\nwarmup_s = 1\nsample_s = 2\n"
    )
}

fn run(world: &World, engine: &str, workload: &str, set: &[&str]) -> (Value, String) {
    let file = world.study(&study(engine, workload));
    let mut args = vec!["run", &file, "--out", "results"];
    set.iter().for_each(|set| args.extend(["--set", set]));
    let (out, _) = world.exits(0, &args);
    (trials(&world.path("results")).remove(0), out)
}

/// Checks the remaining amounts of a server that has settled, and returns its record.
fn settles(engine: &str, workload: &str, set: &[&str], left: &[(&str, Option<u64>)]) -> Value {
    let world = World::new();
    let (record, out) = run(&world, engine, workload, set);
    let settled = &record["settled"];
    assert_eq!(settled["settled"], true, "{record}");
    assert!(!out.contains("had not settled"), "{out}");
    assert_eq!(settled["left"].as_object().unwrap().len(), left.len(), "{settled}");
    for (what, amount) in left {
        let found = settled["left"][what].as_u64();
        assert!(found.is_some() && (amount.is_none() || found == *amount), "{what}: {settled}");
    }
    assert!(record["samples"][0]["metrics"]["tps"].as_f64().unwrap() > 0.0);
    world.assert_clean();
    record
}

/// MySQL shares the statements: `engines::mysql` tests its answers.
#[test]
fn mariadb_purges_and_writes_before_the_first_sample() {
    // Next to other tests, a commit that waits for the disk takes seconds.
    let no_wait = ["engine.options.innodb_flush_log_at_trx_commit=0"];
    let left = [("history_list_length", None), ("dirty_pages", None)];
    let record = settles("mariadb", "settle_s = 60", &no_wait, &left);
    // Four answers, one second apart, show that the number of dirty pages is stable.
    assert!(record["settled"]["waited_s"].as_f64().unwrap() >= 3.0, "{record}");
    assert!(record["settled"]["left"]["history_list_length"].as_u64().unwrap() < 5000, "{record}");
}

#[test]
fn postgresql_runs_the_settle_statements_once_and_a_checkpoint() {
    let statements = "settle_s = 60\nsettle = [\"CREATE TABLE only_once (a INT)\", \"VACUUM ANALYZE\"]";
    let record = settles(
        "postgresql",
        statements,
        &["engine.options.autovacuum_naptime=1h"],
        &[("autovacuum_workers", Some(0)), ("tables_to_vacuum", Some(0))],
    );
    assert!(record["settled"]["statements_s"].as_f64().unwrap() > 0.0, "{record}");
}

#[test]
fn sqlite_empties_its_log_before_the_first_sample_even_at_a_fixed_rate() {
    let wal = ["engine.options.journal_mode=wal", "engine.options.wal_autocheckpoint=0"];
    settles("sqlite", "settle_s = 60\nrate = 200", &wal, &[("wal_pages", Some(0))]);
}

#[test]
fn a_server_that_has_not_settled_in_time_is_measured_with_a_warning() {
    let world = World::new();
    // A lock that the settling session holds: autovacuum skips the table, and clients are not affected.
    let held = "settle_s = 1\nsettle = [\"BEGIN\", \"LOCK TABLE sbtest1 IN SHARE UPDATE EXCLUSIVE MODE\"]";
    // On a busy machine few rows are changed; a connection reports them at most once a second.
    let due = ["engine.options.autovacuum_vacuum_threshold=0", "engine.options.autovacuum_vacuum_scale_factor=0"];
    let set = [due[0], due[1], "engine.options.autovacuum_naptime=1h", "sampling.warmup_s=3"];
    let (record, out) = run(&world, "postgresql", held, &set);
    assert_eq!(record["settled"]["settled"], false, "{record}");
    assert_eq!(record["settled"]["left"]["tables_to_vacuum"], 1, "{record}");
    assert!(out.contains("the server had not settled 1 s after the warm-up in 1 trial"), "{out}");
}

#[test]
fn a_refused_settle_statement_fails_the_trial_and_a_load_without_a_pause_is_refused() {
    let world = World::new();
    let file = world.study(&study("sqlite", "settle = [\"VACUM\"]"));
    world.exits(4, &["run", &file, "--out", "results"]);
    let reason = trials(&world.path("results"))[0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("settling the server before the first sample: VACUM: "), "{reason}");
    let (_, err) =
        world.exits(3, &["run", "query-21", "--engine", "sqlite", "--dry-run", "--set", "workload.settle_s=5"]);
    assert!(err.contains("has no pause between its warm-up and its samples"), "{err}");
}
