//! `tare find`: worse candidates are dropped, interrupted races are resumed, and equivalent placements are merged.

use crate::support::{QUIET, World, json, one_line, script, send, trials, wait_for_trials};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Stdio;

fn names(document: &Value, list: &str) -> Vec<String> {
    document[list].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

/// The candidates differ in how long the embedded server holds a lock in each statement.
#[test]
fn an_interrupted_race_resumes_and_names_the_candidate_with_the_shortest_lock() {
    let world = World::new();
    let results = world.path("results");
    let what = ["find", "--option", "tare_planted_lock_us=1,5000,20000", "--out", "results", "--load", "point_select"];
    let short = ["--set", "sampling.sample_s=0.3", "--set", "sampling.warmup_s=0.1", "--set", "workload.rows=1000"];
    let all = [&what[..], &short[..], &QUIET[..], &["--seed", "4"]].concat();
    let run = world.tare(&all).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    wait_for_trials(&results, 4);
    send(run.id(), Signal::INT);
    let output = run.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(130), "{out}{err}");
    assert!(out.starts_with("Undecided after 3 trials") && err.contains("tare find --resume results"), "{out}{err}");
    let before = trials(&results);
    let (out, err) = world.exits(0, &["find", "--resume", "results", "--json"]);
    let found = json(&out);
    assert_eq!((&found["schema"], &found["version"]), (&"tare-find".into(), &1.into()));
    assert_eq!((&found["decided"], &found["named"]), (&true.into(), &"option.tare_planted_lock_us=1".into()), "{err}");
    let after = trials(&results);
    assert_eq!(after[..before.len()], before[..], "finished trials were touched");
    // A dropped candidate must not run in any later block, and no candidate twice in a block.
    let mut ran: BTreeMap<(String, u64), usize> = BTreeMap::new();
    for trial in &after {
        let name = trial["condition"].as_str().unwrap().to_owned();
        *ran.entry((name, trial["block"].as_u64().unwrap())).or_default() += 1;
    }
    for candidate in found["candidates"].as_array().unwrap() {
        let name = candidate["name"].as_str().unwrap();
        let blocks: Vec<u64> = ran.keys().filter(|(own, _)| own == name).map(|(_, block)| *block).collect();
        assert_eq!(candidate["trials"], blocks.len(), "{found}");
        if let Some(dropped) = candidate["after_blocks"].as_u64() {
            assert!(blocks.iter().all(|block| *block < dropped), "{name}: {blocks:?}");
            // On a busy machine the limits may become too wide for "worse" and still suffice for "close".
            assert!(["worse", "close"].contains(&candidate["outcome"].as_str().unwrap()), "{found}");
        }
    }
    assert_eq!((ran.values().max(), &found["sessions"]), (Some(&1), &2.into()));
    let text = found["text"].as_str().unwrap();
    assert!(text.contains("is the best of 3") && text.split_whitespace().count() <= 25, "{text}");
    // The lines for the winner: its placement on this machine, and its option.
    let lines = |into: &str| {
        let paste = found["paste"].as_array().unwrap().iter().find(|paste| paste["into"] == into);
        paste.unwrap_or_else(|| panic!("{found}"))["lines"].to_string()
    };
    assert_eq!(lines("each connection"), r#"["PRAGMA tare_planted_lock_us = 1;"]"#);
    assert!(lines("shell").contains("\"numactl --physcpubind="), "{found}");
    assert!(found["candidates"][0]["latency_ms_p99"].as_f64().unwrap() > 0.0);
    let page = std::fs::read_to_string(results.join("report.html")).unwrap();
    assert!(page.contains("machine-boxes"), "no map");
    world.assert_clean();
}

/// The same race for a study with the question `best` that does not fit its time.
#[test]
fn a_study_of_the_best_with_a_time_limit_drops_worse_candidates_early() {
    let world = World::new();
    let study = world.study(
        "name = \"locks\"\nquestion = \"best\"\n[workload]\nrows = 1000\n[sampling]\ntrials = 200\nwarmup_s = 0.1\n\
         sample_s = 0.3\n[factors]\noption.tare_planted_lock_us = [1, 5000, 20000]\n",
    );
    let all = [&["run", &study, "--out", "results", "--within", "60s"], &QUIET[..]].concat();
    let (out, _) = world.exits(0, &all);
    let plan = json(&std::fs::read_to_string(world.path("results/plan.json")).unwrap());
    assert_eq!(plan["race"]["candidates"].as_array().map(Vec::len), Some(3), "{}", plan["within"]);
    let records = trials(&world.path("results"));
    let ran = |lock: &str| records.iter().filter(|r| r["levels"]["option.tare_planted_lock_us"] == lock).count();
    assert!(ran("1") > 1 && ran("20000") <= ran("1") && records.len() < 60, "{} trials", records.len());
    let printed = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(printed.contains("option.tare_planted_lock_us=1 is the best of 3, or within 2"), "{out}");
    assert!(printed.contains("Dropped 2 of 3: ") && printed.contains("(worse, block "), "{out}");
    world.assert_clean();
}

/// Interim looks serve other questions as a race serves this one.
#[test]
fn a_study_of_an_effect_with_a_time_limit_ends_at_the_look_that_shows_it() {
    let world = World::new();
    let study = world.study(
        "name = \"locks\"\nquestion = \"effect\"\n[workload]\nrows = 1000\n[sampling]\ntrials = 200\nwarmup_s = 0.1\n\
         sample_s = 0.3\n[factors]\noption.tare_planted_lock_us = [1, 20000]\n",
    );
    let all = [&["run", &study, "--out", "results", "--within", "60s"], &QUIET[..]].concat();
    let (out, _) = world.exits(0, &all);
    let plan = json(&std::fs::read_to_string(world.path("results/plan.json")).unwrap());
    let blocks = plan["within"]["blocks"].as_u64().unwrap();
    let ran = trials(&world.path("results")).len() as u64;
    assert!(blocks > 18 && ran < blocks, "{ran} trials, 2 in each of {blocks} blocks");
    let printed = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(printed.contains("tare_planted_lock_us moved throughput "), "{out}");
    assert!(printed.contains(&format!("Ended early, after {} of {blocks} blocks (look ", ran / 2)), "{out}");
    // A finished run is not extended.
    world.exits(0, &["run", "--resume", "results"]);
    assert_eq!(trials(&world.path("results")).len() as u64, ran);
    world.assert_clean();
}

#[test]
fn a_race_out_of_time_reports_the_remaining_candidates_and_how_to_resume() {
    let world = World::new();
    let pair = ["command=sleep 0.05", "command=sleep 0.050"];
    // Chance must not decide between equal candidates.
    let rule = ["--within", "3s", "--minimum-effect", "0.01%", "--confidence", "99.99%"];
    let all = [&["find", "--out", "results"], &rule[..], &pair, &QUIET].concat();
    assert!(world.exits(0, &[&all[..], &["--dry-run"]].concat()).0.contains(" per block"));
    let (out, err) = world.exits(5, &all);
    assert!(out.starts_with("Undecided after ") && out.contains("2 of 2 remain"), "{out}");
    assert!(err.contains("tare find --resume results --within ") && err.contains("min"), "{err}");
    // A table of settings is printed only if candidates differ in several factors.
    assert!(!out.contains("effect of each factor"), "{out}");
    // Of a candidate that fails there is no ratio, and it is the last.
    let all = [&["find", "--out", "failing", "command=false"], &rule[..], &pair, &QUIET].concat();
    let (out, _) = world.exits(5, &all);
    let rows: Vec<&str> = out.lines().filter(|line| line.trim_start().starts_with("command=")).collect();
    assert!(rows.len() == 3 && rows[2].contains("command=false") && !rows[2].contains("1.00x"), "{out}");
    assert!(rows[0].contains("1.00x"), "{out}");
}

/// Every second attempt of the fastest fails and is repeated, as if it were too slow.
#[test]
fn a_candidate_whose_attempts_fail_is_not_named_the_best() {
    let world = World::new();
    let flaky = world.path("flaky");
    let count = world.path("runs").display().to_string();
    script(&flaky, &format!("echo >> {count}\ntest $(($(wc -l < {count}) % 2)) = 0 && exec sleep 0.02"));
    let candidates = [format!("command={}", flaky.display()), "command=sleep 0.2".to_owned()];
    let all = ["find", "--json", "--out", "results", &candidates[0], &candidates[1]];
    let (out, err) = world.exits(5, &[&all[..], &QUIET, &["--seed", "3"]].concat());
    let found = json(&out);
    assert_eq!((&found["decided"], &found["ahead"]), (&false.into(), &candidates[0].as_str().into()), "{found}{err}");
    let [first, second] = [0, 1].map(|place| &found["candidates"][place]);
    assert!(first["with_failed_attempts"].as_u64() >= Some(3) && first["fails_more"] == true, "{found}");
    assert_eq!((&second["with_failed_attempts"], &second["fails_more"]), (&0.into(), &false.into()), "{found}");
    assert_eq!(found["stop"], "fails_more", "{found}");
    assert!(found["text"].as_str().unwrap().ends_with("leads, but its attempts failed more often."), "{found}");
    // More time does not help, and none is offered.
    let (out, err) = world.exits(5, &["find", "--resume", "results", "--within", "1h"]);
    let printed = one_line(&out);
    assert!(printed.contains("failed: attempts of command=") && printed.contains(" failed "), "{out}");
    assert!(!err.contains("resume with"), "{err}");
    assert_eq!(json(&world.exits(5, &["find", "--resume", "results", "--json"]).0)["blocks"], found["blocks"]);
}

#[test]
fn symmetric_placements_are_merged_into_one_candidate() {
    let world = World::new();
    let plan = |more: &[&str]| {
        let all = ["find", "placements", "--dry-run", "--topology", "node:4 core:4 pu:2", "--json"];
        json(&world.exits(0, &[&all, more].concat()).0)
    };
    let realizable = |document: &Value| {
        let conditions = document["conditions"].as_array().unwrap();
        conditions.iter().filter(|condition| condition["realizable"] == true).count()
    };
    let (all, merged) = (plan(&["--keep-symmetric"]), plan(&[]));
    // Sixteen pairs of nodes reduce to two: the same node, and another one.
    assert_eq!(realizable(&all) - realizable(&merged), 14, "{merged}");
    assert!(names(&merged, "conditions").iter().any(|name| name == "placement=clients-2-server-3"));
    assert_eq!(merged["trials"], realizable(&merged));
    let both = plan(&["memory"]);
    // Interleaving over all nodes is the same for equivalent pairs too.
    assert_eq!(realizable(&both), 2 * realizable(&merged), "{both}");
}

#[test]
fn invalid_races_are_refused_before_anything_runs() {
    let world = World::new();
    for (words, printed) in [
        (&["find"][..], "no candidates are named"),
        (&["find", "threads=2"], "one candidate"),
        (&["find", "--binary", "/bin/true", "--binary", "/dev/../bin/true"], "/bin/true is named twice"),
        (&["find", "nonsense"], "expected: placements, memory"),
        (&["find", "no_such_factor=1,2"], "cannot be a candidate"),
        (&["find", "--binary", "/bin/true", "--confidence", "100%", "threads=1,2"], "expected: a percentage"),
    ] {
        let output = world.output(words);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(2 | 3)) && err.contains(printed), "{words:?}: {err}");
    }
    let (out, err) = world.exits(4, &["find", "command=false", "command=/bin/false"]);
    assert!(!err.is_empty(), "{out}");
}
