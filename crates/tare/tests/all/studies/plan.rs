//! Plans, and mistakes that are found before anything starts.

use crate::support::{World, json};

#[test]
fn conditions_that_a_machine_of_two_cpus_cannot_run_are_listed_with_the_reason() {
    let world = World::new();
    let (out, _) = world.exits(0, &["run", "first-look", "--dry-run", "--topology", "core:2 pu:1", "--json"]);
    let document = json(&out);
    let of = |name: &str| {
        let all = document["conditions"].as_array().unwrap();
        all.iter().find(|c| c["name"] == format!("placement={name}")).unwrap().clone()
    };
    assert_eq!(of("float")["placement"], serde_json::Value::Null);
    assert_eq!(of("same-pu")["realizable"], true);
    assert!(of("other-node")["reason"].as_str().unwrap().contains("no second NUMA node"));
    assert!(of("smt-sibling")["reason"].as_str().unwrap().contains("second hardware thread"));
    // Two client threads on the same CPUs: once paired by chance, once by design.
    for luck in ["pairs-by-luck threads=2", "pairs-by-design threads=2"] {
        assert_eq!(of(luck)["realizable"], true);
        assert_eq!(of(luck)["placement"]["server"], json("[[0],[1]]"));
    }
}

/// The distribution's PostgreSQL, which `scripts/setup test` installs.
fn postgres() -> String {
    let versions = std::fs::read_dir("/usr/lib/postgresql").expect("scripts/setup test installs postgresql");
    let found = versions.map(|version| version.unwrap().path().join("bin/postgres")).find(|path| path.exists());
    found.expect("scripts/setup test installs postgresql").display().to_string()
}

#[test]
fn builds_and_values_of_an_option_are_compared_without_a_study_file() {
    let world = World::new();
    let plan = |args: &[&str]| {
        let all = [&["run", "--dry-run", "--json"], args].concat();
        let document = json(&world.exits(0, &all).0);
        let names = document["conditions"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap().to_owned());
        (names.collect::<Vec<_>>(), document["trials"].as_u64().unwrap(), document["samples"].as_u64().unwrap())
    };
    let option = ["--engine", "mariadb", "--option", "innodb_adaptive_hash_index=ON,OFF"];
    let ahi = |value: &str| format!("option.innodb_adaptive_hash_index={value}");
    assert_eq!(plan(&option), (vec![ahi("ON"), ahi("OFF")], 10, 10));
    let few = ["--trials", "3", "--samples", "2", "--option", "innodb_io_capacity=500"];
    assert_eq!(plan(&[&option[..], &few].concat()), (vec![ahi("ON"), ahi("OFF")], 6, 12));
    // For a named study, the option is a further factor.
    let luck = ["luck", "--option", "cache_size=-2000,-4000", "--trials", "1"];
    assert_eq!(plan(&luck).1, 4);
    let builds = ["/usr/sbin/mariadbd".to_owned(), postgres()];
    let (names, trials, _) = plan(&["--binary", &builds[0], "--binary", &builds[1]]);
    assert!(names[0].starts_with("binary=mariadb") && names[1].starts_with("binary=postgresql"), "{names:?}");
    assert_eq!(trials, 10);
    let loaded = |load: &str| world.exits(0, &["run", "side-by-side", "--load", load, "--dry-run", "--json"]).0;
    assert!(loaded("write_only").contains("write_only") && !loaded("point_select").contains("write_only"));
    for wrong in ["innodb_io_capacity", "=5", "innodb_io_capacity="] {
        let (_, err) = world.exits(2, &["run", "--engine", "mariadb", "--option", wrong, "--dry-run"]);
        assert!(err.contains("expected: NAME=VALUE"), "{err}");
    }
}

#[test]
fn factors_select_among_listed_conditions_or_are_crossed_with_them() {
    let world = World::new();
    let plan = |sets: &[&str]| {
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        let args = ["run", "first-look", "--dry-run", "--json", "--topology", "core:2 pu:1"];
        let document = json(&world.exits(0, &args.into_iter().chain(sets).collect::<Vec<_>>()).0);
        let all = document["conditions"].as_array().unwrap();
        all.iter().map(|c| c["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(plan(&["factors.placement=float,same-pu"]), ["placement=float", "placement=same-pu"]);
    assert_eq!(
        plan(&["factors.placement=pairs-by-luck", "factors.rows=10,20"]),
        ["placement=pairs-by-luck threads=2 rows=10", "placement=pairs-by-luck threads=2 rows=20"]
    );
    let (_, err) = world.exits(2, &["run", "mind-your-core", "--dry-run", "--set", "factors.pairing=same-pu"]);
    assert!(err.contains("no entry of [[conditions]] has pairing = same-pu"), "{err}");
}

#[test]
fn conditions_that_change_one_of_many_factors_are_named_by_it_alone() {
    let world = World::new();
    let (out, _) =
        world.exits(0, &["run", "no-effect-list", "--dry-run", "--all", "--topology", "package:2 [numa] core:8 pu:1"]);
    let named = "\nfactors; the base has the first level of each, other conditions are named by what they change\n";
    assert!(out.contains(named), "{out}");
    // On a machine without frequency control, all settings of governors and frequencies share one reason.
    let (here, _) = world.exits(0, &["run", "no-effect-list", "--dry-run"]);
    assert!(here.matches("no CPU frequency control").count() <= 1, "{here}");
    assert!(out.contains("\n  placement=server-float\n") && out.contains("\n  memory=interleave:all\n"), "{out}");
    assert!(out.contains("it is the same placement as placement=server-core\n"), "{out}");
    assert!(out.lines().count() < 50 && !out.contains("turbo=as-found"), "{out}");
    // A study that is not a list of single changes uses the conditions' own names.
    let (out, _) = world.exits(0, &["run", "node-matrix", "--dry-run", "--topology", "package:2 [numa] core:4 pu:1"]);
    assert!(
        out.contains("\nfactors\n") && out.contains("client=node:1.core:0 server=node:1.core:1 memory=bind:1"),
        "{out}"
    );
}

#[test]
fn a_plan_of_many_conditions_fits_one_screen_and_is_complete_on_request() {
    let world = World::new();
    let height = |text: &str| text.lines().map(|line| line.chars().count().div_ceil(80).max(1)).sum::<usize>();
    let planned = |study, machine, more: &[&str]| {
        world.exits(0, &[&["run", study, "--dry-run", "--topology", machine], more].concat()).0
    };
    for (study, machine, side, each) in [
        ("node-matrix", "node:4 core:2 pu:2", "client 8-9     client=node:2.core:0 (16 conditions)", Some(64)),
        ("node-matrix", "node:9 core:2 pu:1", "client 4       client=node:2.core:0 (81 conditions)", None),
        (
            "mind-your-core",
            "node:4 core:32 pu:2",
            "server 4-63            server=node:near.core:2- (6 conditions)",
            Some(24),
        ),
    ] {
        let out = planned(study, machine, &[]);
        assert!(!out.contains('…') && out.contains("\nCPUs"), "nothing of a line is left out: {out}");
        assert!(height(&out) <= 40 && out.lines().next().unwrap().contains("; about "), "{out}");
        assert!(out.contains(&format!("\n  {side}\n")) && out.ends_with("each condition separately: --all\n"), "{out}");
        assert_eq!(out.contains(" more lines and "), each.is_none(), "{out}");
        if let Some(each) = each {
            let all = planned(study, machine, &["--all"]);
            let own = all.lines().filter(|line| line.starts_with("      client ")).count();
            assert!(own == each && !all.contains("--all"), "{own}: {all}");
        }
    }
    assert!(!planned("first-look", "node:4 core:32 pu:2", &[]).contains("--all"));
    let (race, _) = world.exits(0, &["find", "threads=1,2", "--dry-run"]);
    assert!(race.contains(" per block, up to ") && race.contains("CPUs (|: threads"), "{race}");
}

#[test]
fn a_machine_that_can_run_no_condition_of_a_study_is_exit_3() {
    let world = World::new();
    let (_, err) = world.exits(3, &["run", "mind-your-core", "--dry-run", "--topology", "core:2 pu:1"]);
    assert!(err.contains("the described machine can run none of the 25 conditions"), "{err}");
    assert!(err.contains("core:2-") && err.contains("node:far"), "{err}");
}

#[test]
fn mistakes_in_a_study_are_reported_with_place_and_expectation() {
    let world = World::new();
    for (study, place, expected) in [
        ("name = \"x\"\n[sampling]\nwarmup = 3\n", "study.toml:3:1", "warmup_s"),
        ("name = \"x\"\nthis is not toml\n", "study.toml:2", "TOML"),
        ("title = \"x\"\n", "study.toml:1:1", "name"),
    ] {
        let path = world.study(study);
        let (_, err) = world.exits(2, &["run", &path, "--out", "never"]);
        assert!(err.contains(place), "{study}\n{err}");
        assert!(err.contains(expected), "{study}\n{err}");
        assert!(!world.path("never").exists(), "something was started");
    }
}

#[test]
fn mistakes_on_the_command_line_are_exit_2() {
    let world = World::new();
    for (args, expected) in [
        (vec!["run", "first-lok"], "first-look"),
        (vec!["run", "--set", "sampling.trials=none"], "whole number"),
        (vec!["run", "--set", "sampling"], "path.to.key=value"),
        (
            vec!["run", "--set", "threads=2"],
            "`threads` has no section\n  where: --set threads=2\n  expected: workload.threads=2",
        ),
        (vec!["run", "--set", "warmup_s=5"], "  expected: sampling.warmup_s=5\n"),
        (vec!["run", "--engine", "oracle"], "mariadb"),
        (vec!["run", "--dry-run", "--topology", "node:two"], "synthetic"),
        (vec!["run", "--topology", "core:2"], "--dry-run"),
    ] {
        let (_, err) = world.exits(2, &args);
        assert!(err.contains(expected), "{args:?}\n{err}");
    }
}

#[test]
fn numa_scaling_on_the_machine_of_article_d_adds_node_by_node() {
    let world = World::new();
    let args = ["run", "numa-scaling", "--dry-run", "--topology", "node:4 core:32 pu:1", "--json"];
    let (out, _) = world.exits(0, &args);
    let document = json(&out);
    let conditions = document["conditions"].as_array().unwrap();
    assert_eq!(conditions.len(), 5 * 2 * 4 * 11);
    let range = |first: u64, last: u64| (first..=last).collect::<Vec<u64>>();
    let nodes = |count: u64, from: u64, to: u64| -> Vec<u64> {
        (0..count).flat_map(|node| range(32 * node + from, 32 * node + to)).collect()
    };
    for condition in conditions {
        let name = condition["name"].as_str().unwrap();
        let count: u64 = condition["levels"]["nodes"].as_str().unwrap().parse().unwrap();
        if count == 8 {
            assert!(condition["reason"].as_str().unwrap().contains("this machine has 4 NUMA nodes"), "{name}");
            continue;
        }
        let placement = &condition["placement"];
        assert_eq!(placement["client"], serde_json::json!([nodes(count, 20, 31)]), "{name}");
        assert_eq!(placement["server"], serde_json::json!([nodes(count, 0, 19)]), "{name}");
        let memory =
            ["interleave:0", "interleave:0-1", "interleave:0-3"][[1, 2, 4].iter().position(|n| *n == count).unwrap()];
        assert_eq!(placement["memory"], memory, "{name}");
    }
    assert_eq!(document["trials"], 5 * 2 * 3 * 11 * 3);

    let quick = ["run", "numa-scaling", "--quick", "--dry-run", "--topology", "node:4 core:2 pu:1", "--json"];
    let (out, _) = world.exits(0, &quick);
    let realizable = json(&out)["conditions"].as_array().unwrap().iter().filter(|c| c["realizable"] == true).count();
    assert_eq!(realizable, 3 * 2);
    let (_, err) = world.exits(3, &["run", "numa-scaling", "--dry-run", "--topology", "node:2 core:4 pu:2"]);
    assert!(err.contains("node:0 has 8 PUs: 12 for the clients leave none for the server"), "{err}");
}

#[test]
fn options_and_keys_without_effect_are_refused_before_anything_starts() {
    let world = World::new();
    let study = world.study("name = \"s\"\n[factors]\noption.innodb_adaptive_hash_index = [\"ON\", \"OFF\"]\n");
    let (_, err) = world.exits(2, &["run", &study, "--dry-run"]);
    assert!(err.contains("sqlite has no option innodb_adaptive_hash_index"), "{err}");
    let refused = |sets: &[&str]| {
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        world.exits(2, &["run", "first-look", "--dry-run"].into_iter().chain(sets).collect::<Vec<_>>()).1
    };
    let dead = refused(&["workload.point_selects=5"]);
    assert!(dead.contains("`point_selects` has no effect on the workload point_select"), "{dead}");
    let factor = refused(&["factors.range_size=10,20"]);
    assert!(factor.contains("--set factors.range_size") && !factor.contains(":1:1"), "{factor}");
    let misplaced = refused(&["option.cache_size=1"]);
    assert!(misplaced.contains("engine.options.cache_size=1") && !misplaced.contains("conditions"), "{misplaced}");
    let word = refused(&["placement.bind=threads"]);
    assert!(!word.contains("expected: expected"), "{word}");
    let (_, moved) = world
        .exits(2, &["run", "mind-your-core", "--engine", "sqlite", "--set", "engine.options.innodb_x=1", "--dry-run"]);
    assert!(moved.contains("sqlite has no option innodb_x: fix its name"), "{moved}");
}

#[test]
fn the_reason_why_no_condition_can_run_is_reported_once() {
    let world = World::new();
    let nothing =
        ["run", "first-look", "--set", "factors.placement=other-node", "--dry-run", "--topology", "core:2 pu:1"];
    let (out, err) = world.exits(3, &nothing);
    assert_eq!(format!("{out}{err}").matches("no second NUMA node").count(), 1, "{out}{err}");
}

#[test]
fn existing_data_is_left_out_of_the_estimated_time() {
    let world = World::new();
    let study = world.study(
        "name = \"s\"\n[engine]\nname = \"sqlite\"\n[workload]\nrows = 20000\n[sampling]\ntrials = 1\nwarmup_s = 0\n\
         sample_s = 0.1\n",
    );
    let printed = |more: &[&str]| {
        let words: Vec<&str> = ["run", &study, "--dry-run", "--json"].iter().chain(more).copied().collect();
        json(&world.exits(0, &words).0)["estimated_s"].as_f64().unwrap()
    };
    // Preparing these rows at 25 MB/s, and starting the server that fills them.
    let (before, others) = (printed(&[]), printed(&["--set", "workload.rows=30000"]));
    world.exits(0, &["run", &study, "--out", "results"]);
    world.exits(0, &["run", &study, "--out", "again"]);
    let data_s = |results: &str| {
        let plan = std::fs::read_to_string(world.path(results).join("plan.json")).unwrap();
        json(&plan)["data_s"].as_f64().unwrap()
    };
    assert!(data_s("results") > data_s("again") + 0.3, "{} and then {}", data_s("results"), data_s("again"));
    let (after, others_after) = (printed(&[]), printed(&["--set", "workload.rows=30000"]));
    assert!((0.3..1.0).contains(&(before - after)), "{before} and then {after}");
    assert_eq!(others, others_after, "other data");
    // On a described machine there is no prepared data.
    let described = printed(&["--topology", "core:2 pu:1"]);
    assert!(described > after + 0.3, "{described} and here {after}");
}

#[test]
fn huge_or_near_needs_two_nodes_and_its_pool_policy_depends_on_the_engine() {
    let world = World::new();
    let dry = |more: &[&str]| {
        let args = [&["run", "huge-or-near", "--dry-run", "--json", "--topology"], more].concat();
        let conditions = json(&world.exits(0, &args).0)["conditions"].clone();
        let conditions = conditions.as_array().unwrap().clone();
        let (done, left): (Vec<_>, Vec<_>) = conditions.into_iter().partition(|c| c["realizable"] == true);
        let names: Vec<String> = done.iter().map(|c| c["name"].as_str().unwrap().to_owned()).collect();
        (names, left.iter().map(|c| c["reason"].as_str().unwrap().to_owned()).collect::<Vec<_>>())
    };
    let all = [("0", "always"), ("0", "never"), ("1", "always"), ("1", "never")];
    let all = all.map(|(node, thp)| format!("memory=bind:{node} thp={thp}"));
    assert_eq!(dry(&["node:2 core:4 pu:1"]), (all.to_vec(), Vec::new()));
    let (done, reasons) = dry(&["node:1 core:4 pu:1"]);
    assert_eq!(done, all[..2]);
    assert!(reasons.iter().all(|reason| reason.contains("NUMA node 1 does not exist")), "{reasons:?}");
    // The control group that keeps the other memory on a node keeps InnoDB's pool there too.
    let (done, reasons) = dry(&["node:2 core:4 pu:1", "--set", "placement.pool_memory=interleave:0"]);
    assert_eq!(done, all[..2]);
    assert!(reasons.iter().all(|reason| reason.contains("here interleave:1, with memory = bind:1")), "{reasons:?}");
    let (done, _) = dry(&["node:2 core:4 pu:1", "--engine", "postgresql", "--set", "placement.pool_memory=bind:1"]);
    assert_eq!(done, all);
}
