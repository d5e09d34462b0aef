//! A study cut into shards: whole blocks per machine, merged into the results that one machine would have made.

use crate::support::{World, json, names, one_line, trials, wait_for_trials};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;

/// Twelve trials: four blocks of three conditions.
const STUDY: &str = r#"
name = "shared"
[workload]
rows = 200
name = "read_only"
[sampling]
trials = 4
warmup_s = 0
sample_s = 0.2
foreign_cpu_limit = "off"
steal_limit = "off"
[factors]
point_selects = [5, 10, 15]
"#;

fn cut(world: &World, into: &str) {
    cut_of(world, STUDY, into);
}

fn cut_of(world: &World, study: &str, into: &str) {
    let study = world.study(study);
    world.exits(0, &["shard", &study, "--into", into, "--out", "shards"]);
}

/// The name of a part, which is the machine's name.
fn host(world: &World) -> String {
    names(&world.path("shards/shard-0000")).into_iter().find(|name| !name.starts_with('.')).unwrap()
}

/// Trials with a good result, by block.
fn good(results: &Path) -> BTreeMap<u64, BTreeSet<u64>> {
    let mut blocks: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for record in trials(results).iter().filter(|record| record["outcome"] == "ok") {
        blocks.entry(record["block"].as_u64().unwrap()).or_default().insert(record["trial"].as_u64().unwrap());
    }
    blocks
}

/// Renames a part to another machine, also in its records.
fn becomes_another_machine(part: &Path, name: &str) -> std::path::PathBuf {
    let moved = part.with_file_name(name);
    std::fs::rename(part, &moved).unwrap();
    let file = moved.join("trials.jsonl");
    let (old, text) = (part.file_name().unwrap().to_str().unwrap(), std::fs::read_to_string(&file).unwrap());
    let renamed = text.replace(&format!("\"host\":\"{old}\""), &format!("\"host\":\"{name}\""));
    assert!(renamed != text, "the records say where they were made");
    std::fs::write(file, renamed).unwrap();
    moved
}

/// A record that no table can use is no result, although it names its trial.
fn no_table_can_use(world: &World, records: &Path, whole: &[u8]) {
    let unusable = String::from_utf8_lossy(whole).replacen("\"started_at\"", "\"began_at\"", 1);
    std::fs::write(records, unusable).unwrap();
    let (_, err) = world.exits(0, &["merge", "shards", "--out", "less of it"]);
    assert!(err.contains("5 records of 1 part") && err.contains("left out: 1 damaged"), "{err}");
    let (out, err) = world.exits(0, &["show", "shards"]);
    assert!(out.contains("`tare run --shard shards 0`, and the same with 1, completes them"), "{out}");
    assert!(err.contains("shards/shard-0001/"), "{err}");
    let (out, _) = world.exits(0, &["repair", "shards"]);
    assert!(out.contains("shards/shard-0001/") && out.contains("moved 1 damaged line"), "{out}");
}

#[test]
fn shards_contain_whole_blocks_and_merge_into_every_trial_once() {
    let world = World::new();
    cut(&world, "2");
    let out = one_line(&world.exits(0, &["show", "shards"]).0);
    assert!(out.starts_with("No trial has been recorded yet."), "{out}");
    assert!(out.contains("3 conditions and 12 trials are planned, none has run yet."), "{out}");
    assert!(out.contains("`tare run --shard shards 0`, and the same with 1, completes them"), "{out}");
    assert!(!out.contains("Unknown") && !out.contains("0 conditions"), "{out}");
    world.exits(0, &["run", "--shard", "shards", "1"]);
    let (out, err) = world.exits(0, &["show", "shards"]);
    assert!(out.contains("`tare run --shard shards 0` completes them"), "{out}");
    assert!(err.contains("shard 0        0 of 6 trials   not started"), "{err}");
    assert!(err.contains("shard 1        6 of 6 trials   on "), "{err}");
    // Half of it is merged, and again without a change.
    let merged = world.path("all of it");
    let merge = || world.exits(0, &["merge", "shards", "--out", "all of it"]).1;
    let err = merge();
    assert!(err.contains("6 trials of the schedule have no usable result yet"), "{err}");
    assert!(err.contains("tare show 'all of it'"), "the command can be pasted: {err}");
    let half = std::fs::read(merged.join("trials.jsonl")).unwrap();
    let shard = world.path("shards/shard-0001");
    let machine = names(&shard).into_iter().find(|name| !name.starts_with('.')).unwrap();
    let records = shard.join(machine).join("trials.jsonl");
    let whole = std::fs::read(&records).unwrap();
    std::fs::write(&records, [&whole, &b"{\"schema\":\x1b[31m}\n"[..]].concat()).unwrap();
    let err = merge();
    assert!(err.contains("left out: 1 damaged or unfinished line") && err.contains("shards/shard-0001/"), "{err}");
    no_table_can_use(&world, &records, &whole);
    std::fs::write(&records, whole).unwrap();
    assert_eq!(std::fs::read(merged.join("trials.jsonl")).unwrap(), half);
    world.exits(0, &["run", "--shard", "shards", "0"]);
    // Again: nothing is left to run.
    world.exits(0, &["run", "--shard", "shards", "0"]);
    let err = merge();
    assert!(err.contains("12 records of 2 parts from"), "{err}");
    let (_, err) = world.exits(2, &["merge", "nowhere", "--out", "all of it"]);
    assert!(err.contains("these results do not exist\n  where: nowhere"), "{err}");
    // The same part under two names is one part.
    let part = format!("shards/shard-0000/{}", host(&world));
    let (_, err) = world.exits(0, &["merge", "shards", &part, "--out", "all of it"]);
    assert!(err.contains("12 records") && !err.contains("left out"), "{err}");
    assert!(!world.exits(0, &["show", "all of it"]).0.starts_with("A rehearsal"));

    let plan = json(&std::fs::read_to_string(world.path("shards/plan.json")).unwrap());
    let all: BTreeSet<u64> = trials(&merged).iter().map(|record| record["trial"].as_u64().unwrap()).collect();
    assert_eq!(all, (0..12).collect(), "every trial once");
    assert_eq!(trials(&merged).len(), 12);
    for record in trials(&merged) {
        let planned = &plan["trials"][record["trial"].as_u64().unwrap() as usize];
        assert_eq!(planned["condition"], record["condition"], "the schedule of the cut");
    }
    // The same records as in a run on one machine.
    let local = world.path("local");
    std::fs::create_dir_all(local.join("logs")).unwrap();
    for name in ["study.toml", "plan.json"] {
        std::fs::copy(world.path("shards").join(name), local.join(name)).unwrap();
    }
    std::fs::copy(merged.join("environment.json"), local.join("environment.json")).unwrap();
    std::fs::copy(merged.join("trials.jsonl"), local.join("trials.jsonl")).unwrap();
    let shown = |results: &str| world.exits(0, &["show", results, "--json"]).0;
    assert_eq!(shown("all of it"), shown("local"));
    assert_eq!(json(&shown("shards"))["conditions"], json(&shown("local"))["conditions"], "as far as it is");

    let logs = names(&merged.join("logs")).len();
    assert!(logs >= 12, "{logs} logs");
    // Another study cannot be merged with it.
    let other = STUDY.replace("rows = 200", "rows = 300");
    std::fs::write(world.path("other.toml"), other).unwrap();
    world.exits(0, &["run", "other.toml", "--out", "other", "--set", "sampling.trials=1"]);
    let (_, err) = world.exits(2, &["merge", "shards", "other", "--out", "mixed"]);
    assert!(err.contains("another study"), "{err}");
    let (_, err) = world.exits(2, &["merge", "shards", "--out", "other"]);
    assert!(err.contains("not empty"), "{err}");
    world.assert_clean();
}

#[test]
fn a_rehearsal_is_reported_as_such_in_its_shards_and_after_merging() {
    let world = World::new();
    let study = world.study(&format!("{STUDY}[quick.sampling]\ntrials = 1\n"));
    world.exits(0, &["shard", &study, "--quick", "--into", "1", "--out", "shards"]);
    world.exits(0, &["run", "--shard", "shards", "0"]);
    world.exits(0, &["merge", "shards", "--out", "merged"]);
    for results in ["shards", "merged", &format!("shards/shard-0000/{}", host(&world))] {
        let (out, _) = world.exits(0, &["show", results]);
        assert!(out.contains("A rehearsal (--quick)"), "{results}: {out}");
    }
}

#[test]
fn a_block_that_another_machine_began_is_rerun_completely() {
    let world = World::new();
    cut_of(&world, &STUDY.replace("trials = 4", "trials = 3"), "1");
    world.exits(0, &["run", "--shard", "shards", "0"]);
    let part = world.path("shards/shard-0000").join(host(&world));
    // A machine that died in its third block.
    let text = std::fs::read_to_string(part.join("trials.jsonl")).unwrap();
    let kept: Vec<&str> = text.lines().take(7).collect();
    std::fs::write(part.join("trials.jsonl"), kept.join("\n") + "\n").unwrap();
    let dead = becomes_another_machine(&part, "dead-node");
    world.exits(0, &["run", "--shard", "shards", "0"]);
    let here = world.path("shards/shard-0000").join(host_but(&world, "dead-node"));
    let blocks: Vec<u64> = good(&here).into_keys().collect();
    assert_eq!(good(&dead).len(), 3, "two whole blocks and one begun");
    assert_eq!(blocks, [2], "what was finished there stays there");
    let (_, err) = world.exits(0, &["merge", "shards", "--out", "merged"]);
    assert!(err.contains("left out: 1 good trial, because another part has more of the same blocks"), "{err}");
    let mut hosts: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    for record in trials(&world.path("merged")) {
        let host = record["ran_on"]["host"].as_str().unwrap().to_owned();
        hosts.entry(record["block"].as_u64().unwrap()).or_default().insert(host);
    }
    assert_eq!(trials(&world.path("merged")).len(), 9);
    assert!(hosts.values().all(|hosts| hosts.len() == 1), "no block of two machines: {hosts:?}");
    let (out, _) = world.exits(0, &["show", "merged", "--json"]);
    let machines = json(&out)["machines"]["rows"].as_array().unwrap().len();
    assert_eq!(machines, 2);
}

fn host_but(world: &World, other: &str) -> String {
    let parts = names(&world.path("shards/shard-0000"));
    parts.into_iter().find(|name| !name.starts_with('.') && name != other).unwrap()
}

#[test]
fn a_shard_has_one_run_at_a_time_and_a_killed_run_loses_at_most_one_trial() {
    let world = World::new();
    cut(&world, "2");
    let mut run = world.begin(&["run", "--shard", "shards", "0"]);
    let shard = world.path("shards/shard-0000");
    let part = loop {
        if let Some(name) = names(&shard).into_iter().find(|name| !name.starts_with('.')) {
            break shard.join(name);
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    wait_for_trials(&part, 2);
    // Other directories of its own, as on another machine that shares that of the shards.
    std::fs::create_dir(world.path("other-lock")).unwrap();
    let elsewhere = |words: &[&str]| {
        let mut command = world.tare(words);
        command.env("TARE_LOCK_DIR", world.path("other-lock"));
        command
    };
    // In a container that shares the state directory alone, nothing of the run is taken for a leftover.
    let restore = elsewhere(&["restore"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut second = elsewhere(&["run", "--shard", "shards", "0"]);
    let second = second.env("TARE_STATE_DIR", world.path("other-state")).output().unwrap();
    let err = crate::support::text(&second.stderr);
    assert_eq!(second.status.code(), Some(2), "{err}");
    assert!(err.contains("another tare run is working on"), "{err}");
    let restore = restore.wait_with_output().unwrap();
    let err = crate::support::text(&restore.stderr);
    assert!(restore.status.code() == Some(3) && err.contains("in use by another run"), "{err}");
    run.kill().unwrap();
    run.wait().unwrap();
    let had = good(&part).values().map(BTreeSet::len).sum::<usize>();
    world.exits(0, &["run", "--shard", "shards", "0"]);
    let records = trials(&part);
    assert_eq!(good(&part).values().map(BTreeSet::len).sum::<usize>(), 6);
    assert!(records.len() <= 7 && had >= 2, "{} records, {had} before", records.len());
    world.assert_clean();
}

#[test]
fn shards_that_cannot_be_cut_or_run_are_refused_with_the_reason() {
    let world = World::new();
    let study = world.study(STUDY);
    let (_, err) = world.exits(2, &["shard", &study, "--into", "5"]);
    assert!(err.contains("1 to 4 shards") && err.contains("--set sampling.trials=5"), "{err}");
    let (_, err) = world.exits(2, &["run", "--shard", ".", "0"]);
    assert!(err.contains("tare shard makes one"), "{err}");
    cut(&world, "2");
    let (_, err) = world.exits(2, &["run", "--shard", "shards", "2"]);
    assert!(err.contains("from 0 to 1"), "{err}");
    // A study for machines with nodes that this machine does not have.
    let paired = STUDY.replace("[factors]", "[factors]\nplacement = [\"same-cache\", \"other-node\"]");
    let path = world.path("paired.toml");
    std::fs::write(
        &path,
        format!(
            "{paired}\n[placements.same-cache]\n[placements.other-node]\nclient = \"node:0\"\nserver = \"node:1\"\n"
        ),
    )
    .unwrap();
    let cut = ["shard", "paired.toml", "--into", "2", "--out", "two", "--topology", "node:9 core:2 pu:1"];
    world.exits(0, &cut);
    let (_, err) = world.exits(3, &["run", "--shard", "two", "0"]);
    assert!(err.contains("this machine cannot run") && err.contains("other-node"), "{err}");
}
