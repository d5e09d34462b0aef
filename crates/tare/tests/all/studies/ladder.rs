//! Ladders within one server lifetime, pauses between trials, and dropped samples.

use crate::support::{World, json, names, one_line, trials};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const STUDY: &str = r#"
name = "climb"
[workload]
rows = 1000
tables = 1
preload = "on"
[sampling]
trials = 2
samples = 2
drop_samples = 1
pause_s = 0.1
warmup_s = 0.1
sample_s = 0.1
attempts = 1
steal_limit = "off"
foreign_cpu_limit = "off"
[design]
ladder = "threads"
[factors]
distribution = ["uniform", "zipfian"]
threads = [1, 2, 3]
"#;

fn server_pid(record: &Value) -> u64 {
    let threads = record["samples"][0]["threads"].as_array().unwrap();
    threads.iter().find(|thread| thread["role"] == "server").unwrap()["pid"].as_u64().unwrap()
}

#[test]
fn rungs_share_a_server_in_a_random_recorded_order() {
    let world = World::new();
    let study = world.study(STUDY);
    world.exits(0, &["run", &study, "--out", "results"]);
    let records = trials(&world.path("results"));
    assert_eq!(records.len(), 12);
    let mut lifetimes: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    for record in &records {
        assert_eq!(record["outcome"], "ok", "{record}");
        let of = |field: &str| record[field].as_array().unwrap().len();
        assert_eq!((of("samples"), of("dropped")), (2, 1), "{record}");
        assert!(record["settings"].to_string().contains("rested 0.1 s"), "{record}");
        lifetimes.entry(record["lifetime"]["number"].as_u64().unwrap()).or_default().push(record);
    }
    assert_eq!(lifetimes.len(), 4);
    let mut orders = BTreeSet::new();
    for rungs in lifetimes.values() {
        assert_eq!(rungs.iter().map(|r| server_pid(r)).collect::<BTreeSet<_>>().len(), 1, "one server");
        assert_eq!(rungs.iter().map(|r| r["levels"]["distribution"].as_str()).collect::<BTreeSet<_>>().len(), 1);
        let order: Vec<&str> = rungs.iter().map(|r| r["levels"]["threads"].as_str().unwrap()).collect();
        assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 3);
        for (place, rung) in rungs.iter().enumerate() {
            assert_eq!(rung["lifetime"]["place"], place);
            let is_read = rung["settings"].to_string().contains("read from end to end");
            assert_eq!(is_read, place == 0, "the first rung warms the server up: {rung}");
            assert_eq!(rung["lifetime"]["order"][place], rung["condition"]);
        }
        orders.insert(order);
    }
    assert!(orders.len() > 1, "the order is drawn anew: {orders:?}");
    let servers = names(&world.path("results/logs")).into_iter().filter(|name| name.starts_with("server-")).count();
    assert_eq!(servers, 4);
    let (out, _) = world.exits(0, &["show", "results"]);
    let printed = out.replace('\n', " ");
    assert!(printed.contains("Rungs shared servers, up to 3 each: a restart moves"), "{out}");
    assert!(printed.contains("Left out, as the study requests: the first sample of each trial"), "{out}");
    let (out, _) = world.exits(0, &["show", "results", "--statistic", "best"]);
    assert!(out.contains("best of N") && out.contains("depends on luck"), "{out}");
    let (out, _) = world.exits(0, &["show", "results", "--statistic", "median"]);
    assert!(out.contains("The median hides"), "{out}");
    let (out, _) = world.exits(0, &["show", "results", "--json"]);
    assert_eq!(json(&out)["lifetimes"]["lifetimes"], 4);
    world.assert_clean();
}

/// After a kill or Ctrl-C, the missing rungs of a lifetime run on a server of their own.
#[test]
fn an_interrupted_ladder_resumes_with_the_remaining_rungs() {
    let world = World::new();
    let study = world.study(STUDY);
    world.exits(0, &["run", &study, "--out", "results", "--set", "sampling.trials=1"]);
    let file = world.path("results/trials.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    let kept: Vec<&str> = text.lines().take(4).collect();
    std::fs::write(&file, kept.join("\n") + "\n").unwrap();
    world.exits(0, &["run", "--resume", "results"]);
    let records = trials(&world.path("results"));
    let seen: Vec<u64> = records.iter().map(|r| r["trial"].as_u64().unwrap()).collect();
    assert_eq!(seen, [0, 1, 2, 3, 4, 5]);
    assert_eq!(server_pid(&records[4]), server_pid(&records[5]));
    assert!(server_pid(&records[3]) != server_pid(&records[4]));
    assert_eq!((&records[4]["lifetime"]["place"], &records[5]["lifetime"]["place"]), (&json("0"), &json("1")));
    world.assert_clean();
}

#[test]
fn rungs_that_cannot_share_a_server_are_reported_with_the_reason() {
    let world = World::new();
    let study = world.study(STUDY);
    let reasons = |sets: &[&str]| {
        let sets = sets.iter().flat_map(|set| ["--set", set]).collect::<Vec<_>>();
        let args = [&["run", study.as_str(), "--dry-run", "--topology", "node:1 core:8 pu:1"], &sets[..]].concat();
        let output = world.tare(&args).output().unwrap();
        let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        one_line(&printed)
    };
    assert!(reasons(&["factors.rows=10,20", "design.ladder=rows"]).contains("they differ in its data"));
    let bound = ["placement.client=all", "placement.server=all", "placement.bind=thread"];
    assert!(reasons(&bound).contains("where it runs (with bind"), "{}", reasons(&bound));
    let both = reasons(&["design.ladder=threads,distribution"]);
    assert!(!both.contains("cannot share"), "{both}");
    let unknown = reasons(&["design.ladder=threads,distributio"]);
    assert!(unknown.contains("did you mean `distribution`?"), "{unknown}");
    let unknown = reasons(&["design.ladder=thread"]);
    assert!(unknown.contains("did you mean `threads`?"), "{unknown}");
}

/// A study that does not fit its time starts with a few rungs, and chooses later ones from their results.
#[test]
fn a_ladder_cut_to_a_time_chooses_its_rungs_block_by_block() {
    let world = World::new();
    let text =
        STUDY.replace("threads = [1, 2, 3]", "threads = [1, 2, 3, 4, 5, 6, 7]").replace("drop_samples = 1\n", "");
    let text =
        text.replace("distribution = [\"uniform\", \"zipfian\"]\n", "").replace("[design]\nladder = \"threads\"\n", "");
    let text = format!("question = \"scaling\"{}", text.replace("trials = 2", "trials = 6"));
    let study = world.study(&text);
    let plan = |within: &str| {
        let args = ["run", study.as_str(), "--dry-run", "--json", "--within", within];
        json(&world.exits(0, &args).0)
    };
    let (_, err) = world.exits(2, &["run", &study, "--dry-run", "--within", "1s"]);
    assert!(err.contains("--within is too short"), "{err}");
    let whole_s = plan("10h")["estimated_s"].as_f64().unwrap();
    let measured = || {
        let records = trials(&world.path("results"));
        records.iter().map(|record| record["levels"]["threads"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    // On a busy machine, the starts of servers take the time of further rungs.
    for share in [0.5, 0.7, 0.9] {
        let _ = std::fs::remove_dir_all(world.path("results"));
        let within = format!("{:.0}s", share * whole_s);
        world.exits(0, &["run", &study, "--out", "results", "--within", &within]);
        let blocks: BTreeSet<_> =
            trials(&world.path("results")).iter().map(|record| record["block"].as_u64()).collect();
        if blocks.len() > 1 && measured().len() > 3 {
            break;
        }
    }
    let plan = json(&std::fs::read_to_string(world.path("results/plan.json")).unwrap());
    assert_eq!(plan["within"]["rungs"]["factor"], "threads", "{}", plan["within"]);
    let at_once = plan["within"]["rungs"]["at_once"].as_u64().unwrap() as usize;
    let mut blocks = BTreeMap::<u64, usize>::new();
    for record in trials(&world.path("results")) {
        *blocks.entry(record["block"].as_u64().unwrap()).or_default() += 1;
    }
    assert!(blocks.len() > 1 && blocks.values().all(|trials| *trials == at_once), "{blocks:?}");
    assert!(measured().len() > at_once, "no rung came to the first: {:?}", measured());
    world.assert_clean();
}
