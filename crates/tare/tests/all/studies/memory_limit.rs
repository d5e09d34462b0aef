//! A server with limited memory reads data from storage that an unlimited one finds in the page cache.

use crate::support::{ControlGroup, World, text, trials};
use serde_json::Value;

/// 60 MB in SQLite, whose pages are in the page cache only: the limit holds half of them.
const STUDY: &str = "name = \"limited\"\n[engine]\nname = \"sqlite\"\n[workload]\nname = \"point_select\"\ntables = 1\n\
    rows = 240000\nthreads = 2\npreload = \"on\"\n[process]\nmemory_limit_bytes = \"32M\"\n\
    [sampling]\ntrials = 1\nattempts = 1\nwarmup_s = 0\nsample_s = 1\n";

fn figure(record: &Value, metric: &str) -> f64 {
    record["samples"][0]["metrics"][metric].as_f64().unwrap_or_else(|| panic!("no {metric}: {record}"))
}

#[test]
fn data_beyond_the_memory_limit_of_the_server_is_read_from_storage() {
    let world = World::new();
    let study = world.study(STUDY);
    let confines = tare_noise::MemoryConfines { nodes: None, limit_bytes: Some(32 << 20) };
    if let Err(why) = tare_noise::MemoryGroups::here(&confines) {
        let (_, err) = world.exits(3, &["run", &study, "--dry-run"]);
        assert!(err.contains("memory_limit_bytes = 33554432") && err.contains(&why), "{err}");
        return;
    }
    world.exits(0, &["run", &study, "--out", "limited"]);
    world.exits(0, &["run", &study, "--out", "free", "--set", "process.memory_limit_bytes=none"]);
    let [limited, free] = ["limited", "free"].map(|results| trials(&world.path(results)).remove(0));
    let settings = limited["settings"].to_string();
    assert!(settings.contains("the limit of the server's control group reads back 33554432 bytes"), "{settings}");
    let [much, none] = [&limited, &free].map(|record| figure(record, "server_read_bytes_per_transaction"));
    assert!(much > 1000.0 && none < 100.0, "{much} against {none} bytes a transaction");
    // Rows of at least 190 bytes, in a database that is not written.
    let data = limited["samples"][0]["covariates"]["server_data_bytes"].as_f64().unwrap();
    assert!((45e6..120e6).contains(&data), "{data}");
    world.assert_clean();
}

#[test]
fn a_server_that_was_killed_for_lack_of_memory_is_reported_with_the_limit() {
    let world = World::sharing();
    let study = world.study(STUDY);
    let confines = tare_noise::MemoryConfines { nodes: None, limit_bytes: Some(40 << 20) };
    if let Err(why) = tare_noise::MemoryGroups::here(&confines) {
        println!("not tried: {why}");
        return;
    }
    let set = [
        "engine.name=mariadb",
        "workload.rows=100",
        "workload.preload=off",
        "engine.options.innodb_buffer_pool_size=24M",
        "process.memory_limit_bytes=40M",
    ];
    let args: Vec<&str> = set.iter().flat_map(|set| ["--set", set]).collect();
    world.exits(4, &[&["run", &study, "--out", "results"], &args[..]].concat());
    let reason = trials(&world.path("results")).remove(0)["reason"].to_string();
    let what = "the kernel killed a process of the server for lack of memory: process.memory_limit_bytes is 41943040";
    assert!(reason.contains("SIGKILL") && reason.contains(what), "{reason}");
    world.assert_clean();
}

#[test]
fn a_memory_limit_below_the_buffer_pool_is_refused_before_anything_starts() {
    let world = World::new();
    let study = world.study(STUDY);
    let set = ["engine.name=mariadb", "workload.rows=2000000", "engine.options.innodb_buffer_pool_size=256M"];
    let args: Vec<&str> = set.iter().flat_map(|set| ["--set", set]).collect();
    let (_, err) = world.exits(3, &[&["run", &study, "--dry-run"], &args[..]].concat());
    assert!(
        err.contains("does not exceed the server's pool") && err.contains("option.innodb_buffer_pool_size"),
        "{err}"
    );
    let (_, err) = world.exits(2, &["run", &study, "--dry-run", "--set", "process.memory_limit_bytes=1M"]);
    assert!(err.contains("a size of 16 MiB or more"), "{err}");
}

#[test]
fn a_plan_needs_no_more_memory_than_the_control_group_of_tare_allows() {
    let one = [("memory.limit_in_bytes", "512M")];
    let Some(group) = ControlGroup::new("memory", &one, &[("memory.max", "512M")]) else {
        println!("not tried: this user cannot limit the memory of a control group");
        return;
    };
    let world = World::new();
    let study = world.study(&STUDY.replace("[process]\nmemory_limit_bytes = \"32M\"\n", ""));
    let sets = ["engine.name=mariadb", "engine.options.innodb_buffer_pool_size=1G"];
    let plan = [&["run", &study, "--dry-run"][..], &["--set", sets[0], "--set", sets[1]]].concat();
    let refused = world.behind(&group.enter(), &plan).output().unwrap();
    let err = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(3), "{err}");
    assert!(err.contains("of memory, and the control group of this process allows 537 MB"), "{err}");
    world.exits(0, &plan);
}

#[test]
fn the_counters_take_no_more_memory_than_the_control_group_of_tare_leaves() {
    // Less than 1 GB is not compared with the memory of the machine in a plan.
    let one = [("memory.limit_in_bytes", "256M")];
    let Some(group) = ControlGroup::new("memory", &one, &[("memory.max", "256M")]) else {
        println!("not tried: this user cannot limit the memory of a control group");
        return;
    };
    let world = World::new();
    let study = world.study(
        "name = \"counted\"\n[workload]\nname = \"counters\"\nstrategy = \"atomic\"\nthreads = 1\nrounds = 1\n\
         data_blocks = 30000\n[sampling]\ntrials = 1\nattempts = 1\nsamples = 1\n",
    );
    let run = world.behind(&group.enter(), &["run", &study, "--out", "results"]).output().unwrap();
    let err = text(&run.stderr);
    assert_eq!(run.status.code(), Some(4), "{err}");
    let reason = trials(&world.path("results")).remove(0)["reason"].to_string();
    assert!(reason.contains("bytes") && reason.contains("available"), "{reason}");
}
