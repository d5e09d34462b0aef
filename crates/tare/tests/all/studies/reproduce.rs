//! Published claims: the file that comes with the program, plans of all claims, and a real test of one.

use super::ab::take_turns;
use crate::support::{QUIET, World, json, one_line, trials};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;
use tare_findings::reproduce::{Reproduced, of_results};
use tare_results::Results;
use tare_results::claim::{Claim, Experiment, Measure, PREDICTIONS_SCHEMA, Predicted, Predictions, Published};
use tare_results::schema::{PlannedTrial, SampleRecord, TrialRecord};
use tare_study::claims::{all, chosen, fitted, narrow, on_engine};
use tare_topology::Machine;

#[test]
fn claims_are_complete_and_each_experiment_makes_a_valid_study() {
    let experiments = all().unwrap().experiments;
    let claims: Vec<_> = experiments.iter().flat_map(|own| &own.claims).collect();
    let mut names: Vec<&String> = claims.iter().map(|claim| &claim.name).collect();
    names.extend(
        experiments.iter().filter(|own| own.claims.iter().all(|claim| claim.name != own.name)).map(|e| &e.name),
    );
    names.sort();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count, "a name stands for one thing");
    for claim in &claims {
        assert!(claim.holds.from < claim.holds.to && !claim.source.is_empty(), "{}", claim.name);
        let two = !matches!(claim.measure, Measure::Value | Measure::WithinCov | Measure::BetweenCov);
        assert_eq!(claim.b.is_some(), two, "{}", claim.name);
        if let Published::Ratio(figure) | Published::Value(figure) = claim.published {
            assert!((claim.holds.from..=claim.holds.to).contains(&figure), "{} is not what was published", claim.name);
        }
    }
    for letter in ["a", "B", "C", "D"] {
        assert!(chosen(&experiments, letter).unwrap().len() > 1, "{letter}");
    }
    assert_eq!(chosen(&experiments, "fuzzy-loss").unwrap()[0].claims.len(), 1);
    assert!(chosen(&experiments, "nothing").is_none());
    for own in experiments.iter().filter(|own| own.needs.unpublished.is_none()) {
        let study = narrow(own, 5, Path::new("/nowhere")).unwrap_or_else(|e| panic!("{}: {e}", own.name));
        let is_second = |entry: &&Vec<_>| {
            let side: &tare_study::language::spec::Factor = &entry[0];
            side.levels[0].to_string() == "b"
        };
        let means = own.claims.iter().any(|claim| claim.measure == Measure::Ratio);
        assert_eq!(study.conditions.iter().filter(is_second).count(), usize::from(means), "{}", own.name);
        assert_eq!((study.sampling.trials, study.factors.len()), (5, 0));
    }
}

/// The claim with this name, and its experiment with this claim alone.
fn claim(name: &str) -> (Experiment, Claim) {
    let experiment = chosen(&all().unwrap().experiments, name).unwrap().remove(0);
    let claim = experiment.claims[0].clone();
    (experiment, claim)
}

/// Without data a round has 160 increments in place of 256, so the time of an increment says nothing of the share.
#[test]
fn contention_for_counters_is_judged_by_the_time_of_a_round() {
    let (_, claim) = claim("contention-is-most");
    let of = |share: f64| {
        let of_side = |block: usize, levels: &tare_results::schema::Levels, seconds: f64, increments: f64| {
            let planned = PlannedTrial { trial: block, block, condition: format!("{levels:?}"), lifetime: None };
            let metrics = [("rounds_per_s", 1.0 / seconds), ("ns_per_increment", 1e9 * seconds / increments)];
            let metrics = metrics.map(|(name, value)| (name.to_owned(), value)).into();
            let samples = vec![SampleRecord { elapsed_s: 1.0, metrics, ..SampleRecord::default() }];
            TrialRecord { samples, ..TrialRecord::new(&planned, 1, levels.clone(), String::new()) }
        };
        let sides = |block: usize| {
            let round_s = 1e-5 * (1.0 + 0.001 * block as f64);
            let b = claim.b.as_ref().unwrap();
            [of_side(block, &claim.a, round_s, 256.0), of_side(block, b, share * round_s, 160.0)]
        };
        of_results(&claim, &Results { trials: (0..5).flat_map(sides).collect(), ..Results::default() })
    };
    assert!(matches!(of(0.8), Reproduced::Holds(_)), "{:?}", of(0.8));
    assert!(matches!(of(0.35), Reproduced::DoesNotHold(_)), "{:?}", of(0.35));
}

#[test]
fn lost_increments_are_counted_in_as_many_as_were_published() {
    const INCREMENTS_A_ROUND: f64 = 160.0;
    let (experiment, claim) = claim("fuzzy-loss");
    assert_eq!(experiment.needs.arch, None, "both kinds of processors lost increments");
    let rounds = |word: &str| word.strip_prefix("workload.rounds=").map(|rounds| rounds.parse::<f64>().unwrap());
    let rounds = experiment.set.iter().find_map(|word| rounds(word)).unwrap();
    let increments = claim.a["threads"].parse::<f64>().unwrap() * rounds * INCREMENTS_A_ROUND;
    let Published::Value(loss) = claim.published else { panic!("{claim:?}") };
    assert_eq!((increments, (loss * increments).round()), (20_480_000.0, 6.0));
}

/// "24K: NUMA-x running both client threads and NUMA-y running both server threads": one vCPU for two threads each.
#[test]
fn split_sides_are_both_clients_on_one_node_and_both_server_threads_on_the_other() {
    let split = ["node:near.core:0.pu:0", "node:far.core:2.pu:0"];
    let reversed = ["node:far.core:0.pu:0", "node:near.core:2.pu:0"];
    for (name, sides) in [("split-pairs", split), ("largest-swing", split), ("split-pairs-reversed", reversed)] {
        let levels = claim(name).1.b.unwrap();
        assert_eq!([levels["client"].as_str(), levels["server"].as_str()], sides, "{name}");
        assert!(!levels.contains_key("pairing"), "{name}: {levels:?}");
    }
}

#[test]
fn every_claim_has_a_plan_for_a_described_machine_or_a_reason_for_none() {
    let world = World::new();
    let verdicts = |which: &[&str], machine: &str| {
        let words = [&["reproduce"], which, &["--dry-run", "--topology", machine, "--json"]].concat();
        json(&world.exits(0, &words).0)["claims"].as_array().unwrap().clone()
    };
    let large = verdicts(&[], "node:4 core:32 pu:1");
    let left_out = |claims: &[Value]| {
        let cannot = claims.iter().filter(|claim| !claim["verdict"].is_null());
        cannot.map(|claim| (claim["name"].as_str().unwrap().to_owned(), claim["verdict"].clone())).collect::<Vec<_>>()
    };
    for (name, verdict) in left_out(&large) {
        assert!(verdict["because"] == "unpublished" || verdict["because"] == "condition", "{name}: {verdict}");
    }
    let article = |letter: &str, claims: &[Value]| -> usize {
        let of = claims.iter().filter(|claim| claim["article"] == letter && claim["verdict"].is_null());
        of.filter(|claim| claim["blocks"].as_u64().unwrap() >= 4).count()
    };
    assert!(["A", "B", "C", "D"].iter().all(|letter| article(letter, &large) > 0), "{large:?}");
    let small = verdicts(&["A"], "node:1 core:2 pu:1");
    assert_eq!(article("A", &small), 0);
    let far = left_out(&small).into_iter().find(|(name, _)| name == "far-client").unwrap().1;
    assert_eq!((&far["because"], &far["needs"], &far["has"]), (&"nodes".into(), &2.into(), &1.into()));
    assert_eq!(far["text"], "cannot be tested here: needs 2 NUMA nodes, has 1");
}

#[test]
fn claims_about_mysql_are_tested_with_mysql_if_the_user_chooses_it() {
    let experiments = all().unwrap().experiments;
    let about_mysql = |own: &&Experiment| own.article.as_ref().is_some_and(|letter| ["A", "B"].contains(&&**letter));
    for own in &experiments {
        assert_eq!(own.engines.keys().eq(["mysql"]), about_mysql(&own), "{}", own.name);
        let on = |engine: &str| narrow(&on_engine(own.clone(), engine), 5, Path::new("/nowhere"));
        let (Ok(study), Ok(mysql)) = (on("mariadb"), on("mysql")) else { continue };
        let [before, after] = [&study, &mysql].map(|study| study.base.engine.kind.name());
        assert_eq!(after, if about_mysql(&own) { "mysql" } else { before }, "{}", own.name);
        // The policies and the local pool of B would have no effect.
        let interleaves = mysql.base.engine.options.get("innodb_numa_interleave").map(String::as_str);
        assert_eq!(interleaves, (own.article.as_deref() == Some("B")).then_some("0"), "{}", own.name);
    }
    let world = World::new();
    for (letter, fewest) in [("A", 10), ("B", 20)] {
        let machine = "package:2 [numa] core:6 pu:2";
        let words = ["reproduce", letter, "--engine", "mysql", "--dry-run", "--topology", machine, "--json"];
        let document = json(&world.exits(0, &words).0);
        let claims = document["claims"].as_array().unwrap();
        let tested = claims.iter().filter(|claim| claim["blocks"].as_u64().unwrap() >= 4 && claim["verdict"].is_null());
        assert!(tested.count() >= fewest, "{document}");
        let has_reason = |claim: &Value| claim["verdict"].is_null() || claim["verdict"]["because"] == "condition";
        assert!(claims.iter().all(has_reason), "{document}");
    }
    let (_, err) = world.exits(2, &["reproduce", "C", "--engine", "mysql", "--dry-run"]);
    assert!(err.contains("these claims are not about MySQL") && err.contains("articles A and B"), "{err}");
}

#[test]
fn the_ladder_of_nodes_has_clients_and_threads_for_nodes_of_any_size() {
    let scaled = |name: &str, machine: &str| {
        let experiment = chosen(&all().unwrap().experiments, name).unwrap().remove(0);
        let found = fitted(experiment, &Machine::synthetic(machine).unwrap());
        let levels = found.claims.iter().flat_map(Claim::sides);
        let threads: BTreeSet<String> = levels.map(|levels| levels["threads"].clone()).collect();
        (found.set.last().unwrap().clone(), threads.into_iter().collect::<Vec<_>>().join(" "))
    };
    let clients = |number: usize| format!("placement.client_pus_per_node={number}");
    for (name, machine, expected) in [
        // That of "Mind your core": 2 x 24 threads, and 4 of 12 PUs for the clients.
        ("two-nodes", "package:2 [numa] core:6 pu:2", (clients(4), "48".to_owned())),
        ("two-nodes", "package:4 [numa] core:32 pu:1", (clients(10), "128".to_owned())),
        // That of the article.
        ("four-nodes", "package:4 [numa] core:32 pu:1", (clients(10), "256".to_owned())),
        ("four-nodes", "package:4 [numa] core:64 pu:2", (clients(42), "256".to_owned())),
        ("four-nodes", "package:4 [numa] core:2 pu:1", (clients(1), "16".to_owned())),
    ] {
        assert_eq!(scaled(name, machine), expected, "{name} on {machine}");
    }
    let machine = "package:2 [numa] core:6 pu:2";
    let (out, _) = World::new().exits(0, &["reproduce", "two-nodes", "--dry-run", "--topology", machine, "--json"]);
    for claim in json(&out)["claims"].as_array().unwrap() {
        assert!(claim["verdict"].is_null() && claim["blocks"].as_u64().unwrap() >= 4, "{claim}");
    }
}

/// "Needs about 17 min" can be given.
#[test]
fn the_time_that_a_claim_needs_is_spent_on_its_blocks() {
    let world = World::new();
    let blocks = |more: &[&str]| {
        let words = [&["reproduce", "steadiest", "--dry-run", "--json"], more].concat();
        json(&world.exits(0, &words).0)["claims"][0]["blocks"].as_u64().unwrap()
    };
    let (default, hour, day) = (blocks(&[]), blocks(&["--within", "1h"]), blocks(&["--within", "24h"]));
    assert!(default == 10 && hour > 2 * default && day == 200, "{default}, {hour}, {day}");
}

#[test]
fn an_experiment_that_cannot_start_is_exit_3_if_no_other_did() {
    let world = World::new();
    let mut experiment = chosen(&all().unwrap().experiments, "utf8mb4-points").unwrap().remove(0);
    experiment.set = ["engine.name=sqlite", "workload.tables=10000", "workload.rows=2000000000"]
        .into_iter()
        .map(str::to_owned)
        .collect();
    let levels = |threads: &str| [("threads".to_owned(), threads.to_owned())].into();
    (experiment.claims[0].a, experiment.claims[0].b) = (levels("1"), Some(levels("2")));
    let predicted = Predicted { experiment, blocks: 2, expected_s: 10.0, least_s: 0.0, cannot: [].into() };
    write(&world, "full", None, predicted);
    let (out, err) = world.exits(3, &["reproduce", "--resume", "full", "--yes"]);
    assert!(err.contains("of disk") || err.contains("of memory"), "{err}");
    assert!(one_line(&out).contains("utf8mb4-points not decided"), "{out}");
}

/// Predictions of one experiment, as if they had been written before a run that is resumed.
fn write(world: &World, folder: &str, within_s: Option<f64>, predicted: Predicted) {
    let predictions = Predictions {
        schema: PREDICTIONS_SCHEMA,
        written: "2026-01-01T00:00:00Z".to_owned(),
        tare: "0".to_owned(),
        servers: "servers".into(),
        within_s,
        experiments: vec![predicted],
    };
    std::fs::create_dir(world.path(folder)).unwrap();
    let text = serde_json::to_vec(&predictions).unwrap();
    std::fs::write(world.path(folder).join("predictions.json"), text).unwrap();
}

#[test]
fn a_missing_server_prevents_only_the_tests_of_its_own_claims() {
    let world = World::new();
    let folder = world.path("config/tare");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), "[engines]\nmysql = \"/nowhere/mysqld\"\n").unwrap();
    let (out, _) = world.exits(0, &["reproduce", "--dry-run", "--json"]);
    let document = json(&out);
    let claims = document["claims"].as_array().unwrap();
    let of = |name: &str| claims.iter().find(|claim| claim["name"] == name).unwrap();
    let missing = of("performance-schema")["verdict"]["text"].as_str().unwrap();
    assert!(missing.contains("/nowhere/mysqld: there is no program at this path"), "{missing}");
    assert!(of("a-page-a-counter")["blocks"].as_u64().unwrap() >= 4);
    // `tare setup`, which lists programs, says the same.
    let (out, _) = world.exits(0, &["setup", "mysql"]);
    assert!(out.contains("scripts/get-mysql") || out.contains("mysql-server"), "{out}");
}

#[test]
fn a_time_that_decides_nothing_is_refused_with_the_shortest_that_does() {
    let world = World::new();
    let (out, err) = world.exits(2, &["reproduce", "--within", "1s", "--out", "none"]);
    assert!(out.is_empty() && !world.path("none").exists(), "{out}");
    let command = err.lines().find_map(|line| line.split_once("begin with: tare ")).expect(&err).1;
    let words: Vec<&str> = command.split(' ').collect();
    let [_, claim, _, least] = words[..] else { panic!("{err}") };
    assert!(err.contains(&format!("in which {claim} may be decided")), "{err}");
    let document = json(&world.exits(0, &[&words[..], &["--dry-run", "--json"]].concat()).0);
    assert!(document["claims"][0]["blocks"].as_u64().unwrap() >= 4, "{document}");
    assert!(document["expected_s"].as_f64().unwrap() <= least.trim_end_matches('s').parse().unwrap(), "{document}");
    let (out, _) = world.exits(0, &["reproduce", "C", "--within", "0.1s", "--dry-run"]);
    let first = out.lines().next().unwrap();
    assert!(first.contains("can be decided in this time; ") && first.contains(" may be in "), "{out}");
}

/// 200 blocks take more than a minute; the fewest of them would do in the given time.
#[test]
fn no_trial_starts_that_cannot_end_in_the_given_time() {
    let world = World::new();
    let experiment = chosen(&all().unwrap().experiments, "a-page-a-counter").unwrap().remove(0);
    let predicted = Predicted { experiment, blocks: 200, expected_s: 3.0, least_s: 1.0, cannot: [].into() };
    write(&world, "short", Some(3.0), predicted);
    let begun = Instant::now();
    let (out, err) = world.exits(0, &["reproduce", "--resume", "short", "--yes"]);
    let took_s = begun.elapsed().as_secs_f64();
    let ran = trials(&world.path("short/counters-per-node")).len();
    assert!(took_s < 20.0 && ran < 200, "{took_s} s, {ran} trials");
    let notes =
        ["out of time: ", "1 experiment did not end within the time; resume with: tare reproduce --resume short"];
    assert!(notes.iter().all(|words| err.contains(words)), "{err}");
    assert!(one_line(&out).contains("a-page-a-counter holds 4096 "), "{out}");
}

#[test]
fn untestable_claims_leave_no_folder() {
    let world = World::new();
    let (out, err) = world.exits(3, &["reproduce", "sqlite-cte", "--out", "none"]);
    assert!(one_line(&out).contains("sqlite-cte not testable 11.30x the query and"), "{out}");
    assert!(!world.path("none").exists() && !err.contains("results:"), "{err}");
    let (out, _) = world.exits(0, &["reproduce", "--dry-run", "--topology", "node:1 core:2 pu:1"]);
    assert!(out.lines().next().unwrap().contains(" claims in ") && out.lines().count() < 40, "{out}");
    let reason = out.lines().find(|line| line.starts_with("  needs 2 NUMA nodes, has 1: ")).expect(&out);
    assert!(reason.contains("far-client, ") && reason.contains(", memory-local-no-effect"), "{reason}");
}

#[test]
fn the_list_of_claims_has_their_articles_and_its_json_the_documented_keys() {
    let world = World::new();
    let (out, _) = world.exits(0, &["reproduce", "--list", "--json"]);
    for claim in json(&out)["claims"].as_array().unwrap() {
        assert!(["name", "text", "source", "needs", "study"].iter().all(|key| claim[key].is_string()), "{claim}");
        let published = claim["published"].as_object().unwrap();
        assert!(["ratio", "value", "direction"].iter().any(|key| published.contains_key(*key)), "{claim}");
        assert_eq!(claim["verdict"], Value::Null);
    }
    // For people, claims are listed below the title of their article, which says what the letter stands for.
    let (out, _) = world.exits(0, &["reproduce", "--list"]);
    let letters = out.lines().filter_map(|line| line.split_once(", all its claims: tare reproduce "));
    let expected = [
        ("\"Benchmarking? Mind your core\" (2020)", "A"),
        ("\"Improving the Stability of MySQL Single-Threaded Benchmarks\" (2017)", "B"),
        ("\"NUMA Smart Global Counter\" (2020)", "C"),
        ("\"1.6 million QPS with MDB-10.6\" (2021)", "D"),
    ];
    assert_eq!(letters.collect::<Vec<_>>(), expected, "{out}");
    assert!(!out.contains("article A") && out.contains("\nOther sources\n"), "{out}");
}

#[test]
fn a_claim_is_tested_against_the_predictions_written_before_the_first_trial() {
    let world = World::new();
    let words = ["reproduce", "a-page-a-counter", "--out", "page", "--json"];
    let (out, _) = world.exits(0, &words);
    let claim = json(&out)["claims"][0].clone();
    let verdict = &claim["verdict"];
    assert_eq!((&verdict["kind"], &claim["published"]["value"]), (&"holds".into(), &4096.0.into()), "{claim}");
    assert!(verdict["value"].as_f64().unwrap() >= 4096.0 && verdict["ci_low"].is_number(), "{claim}");
    assert_eq!(trials(&world.path("page/counters-per-node")).iter().filter(|t| t["outcome"] == "ok").count(), 4);
    let picture = || std::fs::read_to_string(world.path("page/claims.html")).unwrap();
    assert!(picture().contains("1 of 1 claim holds here") && picture().contains("./counters-per-node/report.html"));
    let parts = ["Values, as parts of the published ones", "<rect class=\"equal\"", "class=\"m1\"", "class=\"m0\""];
    assert!(parts.iter().all(|part| picture().contains(part)), "{}", picture());
    // Nothing is left to run, and the verdict is computed again from the same records.
    let (again, err) = world.exits(0, &["reproduce", "--resume", "page", "--json"]);
    assert_eq!(json(&again)["claims"][0]["verdict"], *verdict);
    assert!(!err.contains("(1 of 1)"), "{err}");
    world.exits(2, &["reproduce", "--resume", "page", "--servers", "elsewhere"]);
    // The predictions in the file decide, not what the program would expect today.
    let path = world.path("page/predictions.json");
    let written = std::fs::read_to_string(&path).unwrap();
    let other = written.replace("\"from\": 4096.0", "\"from\": 9999.0").replace("\"to\": 65536.0", "\"to\": 99999.0");
    assert_ne!(written, other);
    std::fs::write(&path, other).unwrap();
    let (other, _) = world.exits(0, &["reproduce", "--resume", "page"]);
    assert!(one_line(&other).contains("a-page-a-counter does not hold 4096 4096 (4096 to 4096)"), "{other}");
    assert!(picture().contains("1 does not hold"), "{}", picture());
    let (_, err) = world.exits(2, &words);
    assert!(err.contains("the folder is not empty") && err.contains("tare reproduce --resume page"), "{err}");
    let (_, err) = world.exits(2, &["reproduce", "a-page-a-conter"]);
    assert!(err.contains("did you mean `tare reproduce a-page-a-counter`?"), "{err}");
}

#[test]
fn a_claim_on_a_read_only_load_is_tested_in_turns_against_b_and_itself() {
    let world = World::new();
    let mut experiment = chosen(&all().unwrap().experiments, "utf8mb4-points").unwrap().remove(0);
    assert!(experiment.interleave);
    experiment.set = ["engine.name=sqlite", "workload.rows=1000", "sampling.warmup_s=0", "sampling.sample_s=0.6"]
        .into_iter()
        .chain(QUIET.into_iter().filter(|word| *word != "--set"))
        .map(str::to_owned)
        .collect();
    let claim = &mut experiment.claims[0];
    // Point selects may have 20 times as many transactions.
    (claim.metric, claim.holds.from, claim.holds.to) = (Some("tps".to_owned()), 1e-4, 1e4);
    claim.a = [("workload".to_owned(), "point_select".to_owned())].into();
    claim.b = Some([("workload".to_owned(), "read_only".to_owned())].into());
    let name = experiment.name.clone();
    let predicted = Predicted { experiment, blocks: 2, expected_s: 10.0, least_s: 0.0, cannot: [].into() };
    write(&world, "turns", None, predicted);
    let (out, _) = world.exits(0, &["reproduce", "--resume", "turns", "--json"]);
    let verdict = json(&out)["claims"][0]["verdict"].clone();
    let path = world.path("turns").join(name);
    let plan = json(&std::fs::read_to_string(path.join("plan.json")).unwrap());
    assert!(plan["turns"]["seed"].is_u64(), "{plan}");
    let trials = trials(&path);
    let in_block = |block: u64| trials.iter().filter(move |trial| trial["block"] == block).collect::<Vec<_>>();
    for block in 0..4 {
        let pair = in_block(block);
        let loads: BTreeSet<&str> = pair.iter().filter_map(|trial| trial["levels"]["workload"].as_str()).collect();
        // Even blocks compare A with B, odd ones A with A.
        assert_eq!((pair.len(), loads.len()), (2, 2 - block as usize % 2), "{pair:?}");
        take_turns(pair[0], pair[1], 0.6);
    }
    // Two blocks rarely decide.
    let figure = verdict.get("figure").unwrap_or(&verdict);
    assert_eq!((&figure["trials"], trials.len()), (&2.into(), 8), "{verdict}");
    assert!(figure["value"].as_f64().unwrap() < 0.9 && figure["again"]["value"].is_number(), "{verdict}");
    let server = figure["servers"][0].as_str().unwrap();
    assert!(server.starts_with("SQLite 3.") && verdict["text"].as_str().unwrap().contains(server), "{verdict}");
}
