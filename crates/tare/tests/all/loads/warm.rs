//! A warm pool is verified by the server's report of its content; a study that requires one is not measured without.

use crate::support::{World, trials, verified};

fn study(engine: &str, more: &str) -> String {
    format!(
        "name = \"warm\"\n[engine]\nname = \"{engine}\"\n[workload]\nrows = 20000\ntables = 2\npreload = \"on\"\n{more}\n\
         [sampling]\ntrials = 1\nattempts = 1\nwarmup_s = 0\nsample_s = 0.3\n"
    )
}

#[test]
fn a_preloaded_pool_holds_all_pages_and_a_warm_up_ends_by_its_rule() {
    let world = World::new();
    let phase = "warmup_workload = \"read_only\"\nwarmup_threads = 3\nwarmup_until = \"pool\"\nwarmup_limit_s = 60";
    let study = world.study(&study("mariadb", phase));
    world.exits(0, &["run", &study, "--out", "results"]);
    let record = &trials(&world.path("results"))[0];
    let pool = &record["pool"];
    assert!(pool["resident_fraction"].as_f64().unwrap() >= 0.99, "{pool}");
    assert!(pool["data_pages"].as_u64().unwrap() > 500, "{pool}");
    assert!(verified(record, "preload").contains("2 tables and their indexes read"), "{record}");
    let warmed = verified(record, "warmup");
    assert!(warmed.starts_with("ended after 11 s: the pool grew by less than 0.1%"), "{warmed}");
    world.assert_clean();
}

#[test]
fn without_a_preload_the_record_contains_the_low_share_of_pages_in_the_pool() {
    let world = World::new();
    let study = world.study(&study("mariadb", "").replace("preload = \"on\"\n", ""));
    world.exits(0, &["run", &study, "--out", "results"]);
    let pool = &trials(&world.path("results"))[0]["pool"];
    assert!(pool["resident_fraction"].as_f64().unwrap() < 0.5, "{pool}");
}

#[test]
fn a_buffer_pool_too_small_for_the_data_fails_the_trial_with_advice() {
    let world = World::new();
    let study = world.study(&study("mariadb", ""));
    let set = ["--set", "engine.options.innodb_buffer_pool_size=6M", "--set", "workload.rows=60000"];
    let (_, err) = world.exits(4, &[&["run", &study, "--out", "results"], &set[..]].concat());
    let reason = trials(&world.path("results"))[0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("less than 99%: configure a larger pool"), "{reason}\n{err}");
}

#[test]
fn the_share_of_postgresql_pages_in_memory_is_recorded() {
    let world = World::new();
    let study = world.study(&study("postgresql", ""));
    world.exits(0, &["run", &study, "--out", "results"]);
    let pool = &trials(&world.path("results"))[0]["pool"];
    assert!(pool["resident_fraction"].as_f64().unwrap() >= 0.99, "{pool}");
}
