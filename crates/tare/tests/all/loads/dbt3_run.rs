//! Studies with the 22 queries, from `tare run` to `tare show`, on both engines.

use crate::support::{World, json, names, send, trials, verified, wait_until};
use rustix::process::Signal;
use std::time::Duration;

const STUDY: &str = r#"
name = "two-queries"
[workload]
name = "dbt3"
scale = 0.01
queries = "1,6"
warmup_runs = 1
preload = "on"
[placement]
client = "pu:0"
server = "pu:0"
bind = "thread"
[sampling]
trials = 1
samples = 2
attempts = 1
"#;

#[test]
fn queries_are_measured_checked_and_shown_on_both_engines() {
    let world = World::sharing();
    let study = world.study(STUDY);
    world.exits(0, &["run", &study, "--out", "results", "--set", "factors.engine=sqlite,mariadb"]);
    let records = trials(&world.path("results"));
    assert_eq!(records.len(), 2);
    for record in &records {
        assert_eq!(record["outcome"], "ok", "{record}");
        assert!(verified(record, "queries").contains("the stored answer for scale 0.01"), "{record}");
        // lineitem with two indexes, orders with one ...: 60175 * 3 + 15000 * 2 + 8000 * 2 + 2000 + 1500 * 2 + 100 * 2
        // + 25 * 2 + 5.
        assert!(verified(record, "preload").starts_with("231780 entries of 15 tables and indexes read"), "{record}");
        for sample in record["samples"].as_array().unwrap() {
            let metrics = sample["metrics"].as_object().unwrap();
            assert_eq!(metrics.keys().filter(|name| name.starts_with("query_s_")).count(), 2, "{record}");
            let threads = sample["threads"].as_array().unwrap();
            for role in ["client", "server"] {
                let thread = threads.iter().find(|t| t["role"] == role).unwrap();
                assert_eq!(thread["allowed_cpus"], "0", "{record}");
            }
        }
    }
    let (out, _) = world.exits(0, &["show", "results", "--json"]);
    let shown = json(&out);
    for condition in shown["conditions"].as_array().unwrap() {
        for query in ["query_s_q1", "query_s_q6"] {
            let metric = condition["metrics"].as_array().unwrap().iter().find(|m| m["name"] == query).unwrap();
            assert!(metric["mean"].as_f64().unwrap() > 0.0, "{metric}");
            assert_eq!((&metric["unit"], &metric["better"]), (&json("\"s\""), &json("\"lower\"")));
        }
    }
    world.assert_clean();
}

/// Order, plans, warm-up and captures, in one study, on servers that also load their last buffer pool.
#[test]
fn the_order_of_queries_is_a_factor_and_plans_warm_up_and_locks_are_recorded() {
    let world = World::sharing();
    let study = world.study(
        &STUDY.replace("queries = \"1,6\"", "queries = \"1,3-6\"").replace("warmup_runs = 1", "warmup_runs = 2"),
    );
    let sets = [
        "engine.name=mariadb",
        "engine.options.innodb_buffer_pool_load_at_startup=ON",
        "factors.order=numeric,random,alone",
        "capture.locks=on",
        "capture.status=on",
        "sampling.sample_s=0.5",
    ];
    let sets = sets.iter().flat_map(|set| ["--set", set]).collect::<Vec<_>>();
    world.exits(0, &[&["run", study.as_str(), "--out", "results"], &sets[..]].concat());
    let records = trials(&world.path("results"));
    assert_eq!(records.len(), 3);
    for record in &records {
        assert_eq!(record["outcome"], "ok", "{record}");
        let order = verified(record, "queries");
        let alone = record["condition"] == "order=alone";
        let missing = record["captures_missing"]["locks"].as_str().unwrap_or_default();
        let all = |field: &str| record[field].as_object().unwrap().len();
        assert_eq!((all("warm_up"), all("plans")), (5, 5), "{record}");
        assert_eq!(record["warm_up"]["query_s_q3"].as_array().unwrap().len(), 2);
        let plan = record["plans"]["query_s_q6"].as_str().unwrap();
        assert!(plan.starts_with("1 | SIMPLE | lineitem | ALL"), "{plan}");
        assert!(record["pool"]["resident_fraction"].as_f64().unwrap() >= 0.99, "{record}");
        let sample = record["samples"][1]["metrics"].as_object().unwrap();
        assert_eq!(sample.keys().filter(|name| name.starts_with("query_s_")).count(), 5);
        match record["condition"].as_str().unwrap() {
            "order=numeric" => assert!(order.starts_with("in the order 1,3,4,5,6;"), "{order}"),
            "order=random" => assert!(!order.starts_with("in the order 1,3,4,5,6;"), "{order}"),
            _ => assert!(order.starts_with("in the order 1;"), "{order}"),
        }
        if alone {
            assert!(missing.contains("no server that all queries share"), "{record}");
            let log = std::fs::read_to_string(
                world.path("results/logs").join(format!("server-{:05}-1.log", record["trial"].as_u64().unwrap())),
            );
            assert_eq!(log.unwrap().matches("ready for connections").count(), 5, "a server a query");
        } else {
            let preload = verified(record, "preload");
            assert!(preload.contains("pages of data, the tables and indexes have"), "{preload}");
            assert!(record["captures"]["locks"].is_string() && record["captures"]["status"].is_string(), "{record}");
            assert!(record["capture_sample"]["tps"].as_f64().unwrap() > 0.0, "{record}");
        }
    }
    world.assert_clean();
}

#[test]
fn every_engine_reports_plans_without_estimates_and_plans_depend_on_indexes() {
    let world = World::sharing();
    let study = world.study(&STUDY.replace("1,6", "12").replace("samples = 2", "samples = 1"));
    let run = |out: &str, sets: [&str; 2]| {
        world.exits(0, &["run", &study, "--out", out, "--set", sets[0], "--set", sets[1]]);
        trials(&world.path(out))
    };
    let plan = |record: &serde_json::Value| record["plans"]["query_s_q12"].as_str().unwrap().to_owned();
    for record in run("engines", ["factors.engine=mariadb,postgresql", "workload.indexes=keys"]) {
        let keys = plan(&record);
        assert!(keys.contains("lineitem") && !keys.contains("rows=") && !keys.contains("cost="), "{record}");
        assert!(verified(&record, "queries").contains("the stored answer for scale 0.01"), "{record}");
        assert!(verified(&record, "preload").contains("pool then held"), "{record}");
    }
    // Whether PostgreSQL and MariaDB use an index on so few rows is their decision.
    let records = run("results", ["engine.name=sqlite", "factors.indexes=keys,dbt3"]);
    let of = |indexes: &str| plan(records.iter().find(|record| record["levels"]["indexes"] == indexes).unwrap());
    let (keys, dbt3) = (of("keys"), of("dbt3"));
    assert!(keys.contains("lineitem") && keys != dbt3 && dbt3.contains("l_receiptdate"), "{keys}\n{dbt3}");
    let (out, _) = world.exits(0, &["show", "results", "--json"]);
    let plans = &json(&out)["plans"];
    assert_eq!(plans[0]["metric"], "query_s_q12", "{plans}");
    assert_eq!(plans[0]["changed_within"], json("[]"));
    world.assert_clean();
}

#[test]
fn query_answers_are_checked_even_without_a_warm_up() {
    let world = World::sharing();
    let study = world.study(STUDY);
    // No answers are stored for this scale: the second trial is compared with the first.
    let sets = ["--set", "workload.warmup_runs=0", "--set", "workload.scale=0.0079", "--set", "sampling.trials=2"];
    let run = |out: &str, code| world.exits(code, &[&["run", study.as_str(), "--out", out], &sets[..]].concat());
    run("results", 0);
    for record in trials(&world.path("results")) {
        let printed = verified(&record, "queries");
        assert!(printed.contains("the first answer on this machine: sqlite"), "{printed}");
    }
    // A wrong stored answer: the price is a cent too high.
    let answers = world.path("cache").join("answers");
    let file = names(&answers).into_iter().find(|name| name.ends_with("-q6.txt")).unwrap();
    let text = std::fs::read_to_string(answers.join(&file)).unwrap();
    let (head, number) = text.trim_end().rsplit_once('\n').unwrap();
    let wrong = number.parse::<f64>().unwrap() + 0.01;
    std::fs::write(answers.join(&file), format!("{head}\n{wrong}\n")).unwrap();
    let (_, err) = run("again", 4);
    assert!(err.contains(&format!("Q6 gives a wrong answer: row 1: expected {wrong}, got {number}")), "{err}");
    world.assert_clean();
}

#[test]
fn a_query_that_takes_too_long_fails_its_trial_and_leaves_nothing() {
    let world = World::sharing();
    let study = world.study(STUDY);
    let set = ["--set", "workload.query_timeout_s=0.000001"];
    for engine in ["sqlite", "mariadb"] {
        let args = [&["run", study.as_str(), "--out", engine, "--engine", engine], &set[..]].concat();
        let (_, err) = world.exits(4, &args);
        assert!(
            err.contains("Q1 took longer than the 0.000001 s that workload.query_timeout_s allows: raise it"),
            "{err}"
        );
        world.assert_clean();
    }
}

#[test]
fn ctrl_c_ends_a_query_and_leaves_nothing() {
    let world = World::sharing();
    let study = world.study(STUDY);
    for engine in ["sqlite", "mariadb"] {
        let set = "workload.warmup_runs=10000";
        let mut run = world.tare(&["run", &study, "--out", engine, "--engine", engine, "--set", set]).spawn().unwrap();
        let log = world.path(engine).join("logs/server-00000-1.log");
        wait_until("a trial", 120, || log.exists());
        // Time to start with queries; the end would be clean without them, too.
        std::thread::sleep(Duration::from_secs(2));
        send(run.id(), Signal::INT);
        assert_eq!(run.wait().unwrap().code(), Some(130));
        assert!(trials(&world.path(engine)).is_empty());
        world.assert_clean();
    }
}

#[test]
fn the_studies_of_article_b_adapt_to_the_machine_and_the_engine() {
    let world = World::new();
    let plan = |study: &str, more: &[&str]| {
        let args = [&["run", study, "--dry-run", "--json"], more].concat();
        json(&world.exits(0, &args).0)
    };
    let large = ["--topology", "package:2 core:8 pu:2"];
    let document = plan("single-thread-stability", &large);
    let conditions = document["conditions"].as_array().unwrap();
    assert_eq!((conditions.len(), &document["trials"]), (8, &json("80")));
    for condition in conditions {
        assert_eq!(condition["placement"]["server"][0].as_array().unwrap().len(), 16, "one package");
        assert_eq!(condition["placement"]["client"][0][0], 16, "the other");
    }
    // Scales above 1, which the key of the same name for tpcc does not allow.
    let names = |document: &serde_json::Value| document["conditions"].as_array().unwrap().len();
    assert_eq!(names(&plan("single-thread-stability", &[&large[..], &["--set", "workload.scale=10"]].concat())), 8);
    let two_packages = ["--topology", "package:2 node:1 core:8 pu:2"];
    for more in ["--quick", "--article"] {
        assert_eq!(names(&plan("query-21", &[&two_packages[..], &[more]].concat())), 4, "{more}");
    }
    // One package: one PU each; what SQLite does not know is left out, with a note.
    let document = plan("single-thread-stability", &["--topology", "core:2 pu:1", "--engine", "sqlite", "--quick"]);
    let conditions = document["conditions"].as_array().unwrap();
    assert_eq!(conditions.len(), 4, "{document}");
    assert_eq!(conditions[0]["placement"]["server"], json("[[0]]"));
    let notes = document["notes"].to_string();
    assert!(notes.contains("placement pus, the first of packages, pus, one-pu"), "{notes}");
    assert!(notes.contains("factor option innodb_adaptive_hash_index left out"), "{notes}");
    let document = plan("no-effect-list", &large);
    let names: Vec<&str> =
        document["conditions"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    for level in [
        "memory=local",
        "governor=performance",
        "turbo=off",
        "c_states=C1",
        "frequency_mhz=lowest",
        "allocator=jemalloc",
    ] {
        assert_eq!(names.iter().filter(|name| name.contains(level)).count(), 1, "{level}: {names:?}");
    }
}
