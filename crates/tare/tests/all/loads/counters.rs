//! A counters study: memory policies, recorded threads, and refusal of what the machine cannot hold.

use crate::support::{World, trials, verified};
use serde_json::Value;

/// A small study of one trial per condition.
fn study(world: &World, rest: &str) -> String {
    world.study(&format!(
        "name = \"counting\"\n[workload]\nname = \"counters\"\nrounds = 20\ndata_blocks = 100\n[sampling]\n\
         trials = 1\n{rest}"
    ))
}

/// The verified memory placement in the record of each condition.
fn memory(results: &std::path::Path) -> Vec<(String, String)> {
    let mut proved: Vec<(String, String)> = trials(results)
        .iter()
        .map(|record| {
            assert_eq!(record["outcome"], "ok", "{record}");
            (record["condition"].as_str().unwrap().to_owned(), verified(record, "memory"))
        })
        .collect();
    proved.sort();
    proved
}

#[test]
fn a_memory_policy_is_applied_and_verified_and_one_for_a_missing_node_is_refused() {
    let world = World::new();
    let study = study(
        &world,
        "[factors]\nmemory = [\"default\", \"bind:0\", \"bind:999\"]\nmemory_scope = [\"payload\", \"process\"]\n",
    );
    let (out, _) = world.exits(0, &["run", &study, "--out", "results"]);
    assert!(out.contains("memory=bind:999"), "{out}");
    let proved = memory(&world.path("results"));
    let of = |memory: &str, scope: &str| {
        let found = proved.iter().find(|(name, _)| name.contains(memory) && name.contains(scope));
        found.unwrap_or_else(|| panic!("{memory} {scope}: {proved:?}")).1.as_str()
    };
    assert!(of("bind:0", "payload").starts_with("counters and data: bind:0, as read back"), "{proved:?}");
    assert!(of("bind:0", "process").contains("a counting thread has bind:0"), "{proved:?}");
    for scope in ["payload", "process"] {
        assert!(of("memory=default", scope).contains("interleave"), "{proved:?}");
    }
    assert_eq!(proved.len(), 4);
}

#[test]
fn every_record_contains_the_cpus_of_threads_and_the_nodes_of_pages() {
    let world = World::new();
    let rest = "samples = 2\n[placement]\nclient = \"all\"\nbind = \"thread\"\n[factors]\nthreads = [1, 3]\n\
                strategy = [\"atomic\", \"counter-set\"]\npadding = [64, 128]\nsteps = 4\n";
    world.exits(0, &["run", &study(&world, rest), "--out", "results"]);
    let records = trials(&world.path("results"));
    assert_eq!(records.len(), 8);
    for record in records {
        assert_eq!(record["outcome"], "ok", "{record}");
        let count: usize = record["levels"]["threads"].as_str().unwrap().parse().unwrap();
        for sample in record["samples"].as_array().unwrap() {
            seen(sample, count);
        }
    }
}

/// The requested number of client threads, each seen on its only allowed CPU; pages of counters and data on nodes.
fn seen(sample: &Value, count: usize) {
    let threads = sample["threads"].as_array().unwrap();
    assert_eq!(threads.len(), count, "{sample}");
    for (number, thread) in threads.iter().enumerate() {
        assert_eq!((&thread["role"], thread["pair"].as_u64()), (&Value::from("client"), Some(number as u64)));
        let seen: Vec<&String> = thread["seen_cpus"].as_object().unwrap().keys().collect();
        assert_eq!(seen, [thread["allowed_cpus"].as_str().unwrap()], "{thread}");
        assert!(thread["user_s"].as_f64().unwrap() >= 0.0 && thread["tid"].as_u64().unwrap() > 0, "{thread}");
    }
    let covariates = sample["covariates"].as_object().unwrap();
    for family in ["counter_pages_node", "data_pages_node"] {
        let pages = covariates.iter().filter(|(name, _)| name.starts_with(family));
        let sum: f64 = pages.map(|(_, pages)| pages.as_f64().unwrap()).sum();
        assert!(sum >= 1.0, "{family}: {covariates:?}");
    }
}

/// The article's study with a hundredth of its blocks, and rounds of all threads: its time limit is far away.
#[test]
fn the_article_variant_of_global_counters_runs_256_threads() {
    let world = World::new();
    let fits = ["--set", "workload.data_blocks=10000", "--set", "workload.rounds=25"];
    let points = ["--set", "factors.threads=256", "--set", "factors.strategy=pthread-mutex,shard-cpu"];
    let args = [&["run", "global-counters", "--article", "--out", "results"], &fits[..], &points[..]].concat();
    world.exits(0, &args);
    let records = trials(&world.path("results"));
    assert_eq!(records.len(), 2);
    for record in records {
        assert_eq!((&record["outcome"], &record["attempt"]), (&Value::from("ok"), &Value::from(1)), "{record}");
        assert_eq!(record["samples"][0]["threads"].as_array().unwrap().len(), 256);
        assert_eq!(record["samples"][0]["metrics"]["loss"], 0.0);
    }
}
