//! The use of L3 caches and memory bandwidth, on a fake machine with resctrl.

use crate::support::{World, json, text, trials};
use std::path::PathBuf;
use tare_noise::fake;

const STUDY: &str = "name = \"cache\"\n[workload]\nrows = 100\n[sampling]\ntrials = 1\nsamples = 2\nwarmup_s = 0\n\
                     sample_s = 0.1\n";
const GROUPS: &str = "sys/fs/resctrl/mon_groups";
/// Larger than any process id.
const KILLED: &str = "tare-4194305-server";

fn machine(world: &World) -> PathBuf {
    let root = world.path("machine");
    fake::create(&root).unwrap();
    std::fs::create_dir_all(root.join(GROUPS)).unwrap();
    root
}

#[test]
fn every_sample_has_the_cache_usage_and_no_resctrl_group_is_left() {
    let world = World::new();
    let root = machine(&world);
    let study = world.study(STUDY);
    let run = |out: &str, set: &str| {
        let args = ["run", &study, "--out", out, "--set", set];
        let output = world.tare(&args).env("TARE_SYSTEM_ROOT", &root).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!(std::fs::read_dir(root.join(GROUPS)).unwrap().count(), 0, "a group stayed");
        trials(&world.path(out)).remove(0)
    };
    let record = run("with", "capture.cache=on");
    assert_eq!(record["samples"].as_array().unwrap().len(), 2, "{record}");
    for sample in record["samples"].as_array().unwrap() {
        for name in ["l3_bytes", "memory_traffic_bytes", "own_node_traffic_bytes"] {
            for side in ["server", "client"] {
                assert_eq!(sample["covariates"][format!("{side}_{name}")], 0.0, "{side} {name}: {sample}");
            }
        }
    }
    let record = run("without", "capture.cache=off");
    assert!(record["samples"][0]["covariates"].get("server_l3_bytes").is_none(), "{record}");
    world.assert_clean();
}

#[test]
fn a_server_uses_as_many_cache_ways_as_its_condition_sets() {
    let world = World::new();
    let root = machine(&world);
    let resctrl = root.join("sys/fs/resctrl");
    std::fs::create_dir_all(resctrl.join("info/L3")).unwrap();
    for (file, content) in
        [("schemata", "    L3:0=7ff\n"), ("info/L3/cbm_mask", "7ff\n"), ("info/L3/min_cbm_bits", "1\n")]
    {
        std::fs::write(resctrl.join(file), content).unwrap();
    }
    let study = world.study(&format!("{STUDY}[factors]\nl3_ways = [2, \"none\"]\n"));
    let tare = |args: &[&str]| world.tare(args).env("TARE_SYSTEM_ROOT", &root).output().unwrap();
    let output = tare(&["run", &study, "--out", "ways"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let proof = |record: &serde_json::Value| {
        let all = record["settings"].as_array().unwrap();
        all.iter().find(|own| own["factor"] == "l3_ways").map(|own| own["verified"].as_str().unwrap().to_owned())
    };
    let mut proofs: Vec<_> = trials(&world.path("ways")).iter().map(proof).collect();
    proofs.sort();
    assert_eq!(proofs, [None, Some("the server's group of resctrl has L3:0=3".to_owned())]);
    let left: Vec<_> = std::fs::read_dir(&resctrl).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("tare-")), "{left:?}");
    // Limits that this machine does not support are reported before anything runs.
    let output = tare(&["run", &study, "--dry-run", "--set", "factors.l3_ways=2,12"]);
    assert!(text(&output.stdout).contains("11 ways"), "{}", text(&output.stdout));
    let (out, _) = world.exits(0, &["run", &study, "--dry-run"]);
    assert!(out.contains("mount -t resctrl"), "{out}");
    world.assert_clean();
}

#[test]
fn restore_removes_the_resctrl_groups_of_a_killed_trial() {
    let world = World::new();
    let root = machine(&world);
    std::fs::create_dir(root.join(GROUPS).join(KILLED)).unwrap();
    std::fs::create_dir(root.join(GROUPS).join("someone")).unwrap();
    let mut restore = world.tare(&["restore", "--json"]);
    let output = restore.env("TARE_SYSTEM_ROOT", &root).env("TARE_STATE_DIR", world.path("state")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(json(&text(&output.stdout)).to_string().contains(KILLED), "{}", text(&output.stdout));
    let left: Vec<_> = std::fs::read_dir(root.join(GROUPS)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["someone"]);
}
