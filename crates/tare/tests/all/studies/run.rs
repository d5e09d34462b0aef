//! Runs from start to report on the embedded engine, and interruptions.

use crate::support::{Hog, World, json, send, trials, wait_for_trials};
use rustix::process::Signal;

const STUDY: &str = r#"
name = "short"
[workload]
rows = 500
[sampling]
trials = 4
warmup_s = 0.1
sample_s = 0.4
seed = 11
[factors]
placement = ["float", "same-pu"]
[placements.float]
[placements.same-pu]
client = "all"
server = "all"
bind = "thread"
pairing = "same-pu"
"#;

#[test]
fn a_run_measures_verifies_every_thread_refuses_a_second_run_and_leaves_nothing() {
    let world = World::new();
    let study = world.study(STUDY);
    let results = world.path("results");
    let mut run = world.begin(&["run", &study, "--out", "results"]);
    wait_for_trials(&results, 1);
    for args in [["run", "--resume", "results"].as_slice(), &["run", &study, "--out", "other"]] {
        let (_, err) = world.exits(3, args);
        assert!(err.contains(&run.id().to_string()), "{err}");
    }
    assert_eq!(run.wait().unwrap().code(), Some(0));
    let summary = json(&world.exits(0, &["show", "results", "--json"]).0);
    assert_eq!(summary["conditions"].as_array().unwrap().len(), 2, "{summary}");
    for file in ["study.toml", "plan.json", "environment.json", "trials.jsonl", "report.html"] {
        assert!(results.join(file).is_file(), "{file}");
    }
    let records = trials(&results);
    assert_eq!(records.len(), 8);
    for record in &records {
        assert_eq!(record["outcome"], "ok", "{record}");
        let sample = &record["samples"][0];
        assert!(sample["metrics"]["tps"].as_f64().unwrap() > 0.0);
        let threads = sample["threads"].as_array().unwrap();
        let of = |role: &str| threads.iter().find(|t| t["role"] == role && t["pair"] == 0).unwrap();
        if record["condition"] == "placement=same-pu" {
            assert_eq!(of("client")["allowed_cpus"], of("server")["allowed_cpus"]);
            for role in ["client", "server"] {
                let seen: Vec<&String> = of(role)["seen_cpus"].as_object().unwrap().keys().collect();
                assert_eq!(seen, [of(role)["allowed_cpus"].as_str().unwrap()], "{record}");
            }
        }
    }
    world.assert_clean();
}

#[test]
fn ctrl_c_leaves_a_usable_directory_and_resume_keeps_the_order() {
    let world = World::new();
    let study = world.study(STUDY);
    let results = world.path("results");
    let mut run = world.begin(&["run", &study, "--out", "results"]);
    wait_for_trials(&results, 2);
    send(run.id(), Signal::INT);
    assert_eq!(run.wait().unwrap().code(), Some(130));
    world.assert_clean();
    let before = trials(&results);
    assert!((2..8).contains(&before.len()), "{}", before.len());
    world.exits(0, &["show", "results"]);
    world.exits(0, &["run", "--resume", "results"]);
    let after = trials(&results);
    assert_eq!(after[..before.len()], before[..], "finished trials were touched");
    let order: Vec<u64> = after.iter().map(|r| r["trial"].as_u64().unwrap()).collect();
    assert_eq!(order, (0..8).collect::<Vec<u64>>());
    let plan = json(&std::fs::read_to_string(results.join("plan.json")).unwrap());
    for (record, planned) in after.iter().zip(plan["trials"].as_array().unwrap()) {
        assert_eq!(record["condition"], planned["condition"]);
    }
    world.assert_clean();
}

/// The same study twice, once with another process on its CPUs: neither a regression nor a pass.
#[test]
fn a_busy_process_next_to_one_of_two_identical_runs_leaves_the_gate_undecided() {
    const LIMIT: &str = "sampling.foreign_cpu_limit=0.05";
    let world = World::new();
    let study = world.study(
        "name = \"gate\"\n[workload]\nrows = 500\n[sampling]\ntrials = 3\nattempts = 1\nwarmup_s = 0.1\n\
         sample_s = 0.5\n\
         [placement]\nclient = \"pu:0\"\nserver = \"pu:0\"\n",
    );
    world.exits(0, &["run", &study, "--out", "base", "--json", "--set", LIMIT]);
    {
        let _hog = Hog::new();
        world.exits(0, &["run", &study, "--out", "new", "--json", "--set", LIMIT]);
    }
    let (out, _) = world.exits(5, &["compare", "base", "new", "--fail-if-slower", "5"]);
    assert!(out.contains("gate inconclusive: disturbed trials decide") && out.contains("quieter machine"), "{out}");
    assert!(out.contains("3 of 3 trials were disturbed and counted"), "{out}");
}

#[test]
fn a_probe_is_recorded_with_every_sample_of_every_load() {
    let world = World::sharing();
    for (load, set) in
        [("oltp", "workload.rows=500"), ("dbt3", "workload.queries=1,6"), ("counters", "workload.rounds=50")]
    {
        let name = if load == "oltp" { "point_select" } else { load };
        let scale = if load == "dbt3" { "scale = 0.01\n" } else { "" };
        let study = world.study(&format!(
            "name = \"probed\"\n[workload]\nname = \"{name}\"\n{scale}[sampling]\ntrials = 1\nsamples = 2\n\
             warmup_s = 0.1\nsample_s = 0.2\nprobe = \"spin\"\nprobe_share = 1.0\n"
        ));
        world.exits(0, &["run", &study, "--out", load, "--set", set, "--json"]);
        for record in trials(&world.path(load)) {
            for sample in record["samples"].as_array().unwrap() {
                for probe in ["probe_chain_ns", "probe_spin_ns", "probe_wakeup_ns"] {
                    assert!(sample["covariates"][probe].as_f64().unwrap() > 0.0, "{load}: {probe}: {sample}");
                }
                let beside_a_query = sample["covariates"]["probe_spin_ns_query_s_q6"].is_number();
                assert_eq!(beside_a_query, load == "dbt3", "{sample}");
            }
        }
    }
    let study = world.study("name = \"rate\"\n[workload]\nrate = 100\n[sampling]\nprobe = \"record\"\nattempts = 1\n");
    let (_, err) = world.exits(4, &["run", &study, "--quick", "--out", "rate", "--set", "sampling.trials=1"]);
    assert!(err.contains("a probe needs an idle server around each sample"), "{err}");
}

/// The samples differ between machines; the test checks that the reported probe is the one in use.
#[test]
fn a_probe_is_used_only_if_the_samples_of_the_study_show_that_it_helps() {
    let world = World::sharing();
    let study = world.study(
        "name = \"auto\"\n[workload]\nname = \"dbt3\"\nscale = 0.01\nqueries = \"6\"\n\
         [sampling]\ntrials = 1\nsamples = 1\nprobe = \"auto\"\n",
    );
    for (factor, is_requested) in [("", true), ("factors.server=pu:0,pu:1", false)] {
        let out = if is_requested { "asked" } else { "placed" };
        let set = if is_requested { vec![] } else { vec!["--set", factor] };
        let (_, err) = world.exits(0, &[&["run", &study, "--out", out, "--json"], set.as_slice()].concat());
        let text = std::fs::read_to_string(world.path(out).join("study.toml")).unwrap();
        let used = text.lines().find_map(|line| line.strip_prefix("probe = ")).unwrap_or("\"off\"");
        let printed = json(&std::fs::read_to_string(world.path(out).join("plan.json")).unwrap())["notes"].to_string();
        assert_eq!(used == "\"off\"", printed.contains("no probe is used"), "{used}: {printed}");
        assert!(["off", "chain", "spin", "wakeup"].iter().any(|word| used == format!("\"{word}\"")), "{text}");
        assert_eq!(printed.contains("server can change it"), !is_requested, "{printed}");
        assert_eq!(err.contains("measuring for about a minute"), is_requested, "{err}");
    }
}
