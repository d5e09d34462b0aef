//! A warm pool is verified by the server's report of its content; a study that requires one is not measured without.

use crate::support::{World, trials, verified};

fn study(engine: &str, more: &str) -> String {
    format!(
        "name = \"warm\"\n[engine]\nname = \"{engine}\"\n[workload]\nrows = 20000\ntables = 2\npreload = \"on\"\n{more}\n\
         [sampling]\ntrials = 1\nattempts = 1\nwarmup_s = 0\nsample_s = 0.3\n"
    )
}

/// Three runs on the same data.
#[test]
fn a_pool_is_warm_after_a_preload_cold_without_one_and_refused_if_too_small() {
    let world = World::new();
    let phase = "warmup_workload = \"read_only\"\nwarmup_threads = 3\nwarmup_until = \"pool\"\nwarmup_limit_s = 60";
    world.exits(0, &["run", &world.study(&study("mariadb", phase)), "--out", "warm"]);
    let record = &trials(&world.path("warm"))[0];
    let pool = &record["pool"];
    assert!(pool["resident_fraction"].as_f64().unwrap() >= 0.99, "{pool}");
    assert!(pool["data_pages"].as_u64().unwrap() > 500, "{pool}");
    assert!(verified(record, "preload").contains("2 tables and their indexes read"), "{record}");
    let warmed = verified(record, "warmup");
    assert!(warmed.starts_with("ended after 11 s: the pool grew by less than 0.1%"), "{warmed}");

    let study = world.study(&study("mariadb", ""));
    world.exits(0, &["run", &study, "--out", "cold", "--set", "workload.preload=off"]);
    let pool = &trials(&world.path("cold"))[0]["pool"];
    assert!(pool["resident_fraction"].as_f64().unwrap() < 0.5, "{pool}");

    let small = "engine.options.innodb_buffer_pool_size=6M";
    let (_, err) = world.exits(4, &["run", &study, "--out", "small", "--set", small]);
    let reason = trials(&world.path("small"))[0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("less than 99%: configure a larger pool"), "{reason}\n{err}");
    world.assert_clean();
}

#[test]
fn the_share_of_postgresql_pages_in_memory_is_recorded() {
    let world = World::sharing();
    let study = world.study(&study("postgresql", "").replace("rows = 20000\ntables = 2", "rows = 1000\ntables = 1"));
    world.exits(0, &["run", &study, "--out", "results"]);
    let pool = &trials(&world.path("results"))[0]["pool"];
    assert!(pool["resident_fraction"].as_f64().unwrap() >= 0.99, "{pool}");
}
