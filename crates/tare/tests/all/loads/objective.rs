//! The search for the highest rate that meets an objective: on the embedded engine with a known service time, with a
//! client that is stopped meanwhile, and with mistakes in the study.

use crate::support::{World, send, text, thread_names, trials, wait_until};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

/// Connections of the load.
const THREADS: f64 = 16.0;
/// Service time of each transaction, seconds.
const SERVICE_S: f64 = 0.02;
/// Utilisation of a connection at which nine of ten transactions take at most three service times, in a queue with
/// constant service times and Poisson arrivals (M/D/1): P(wait <= 2) = 0.9 by Erlang (1909).
const BUSY: f64 = 0.587;

fn study(world: &World, sampling: &str, more: &str) -> String {
    let file = format!("[[transaction]]\nname = \"work\"\nstatements = [\"SELECT sleep({SERVICE_S})\"]\n");
    fs::write(world.path("mix.toml"), file).unwrap();
    world.study(&format!(
        "name = \"capacity\"\n[workload]\nname = \"sql\"\nfile = \"mix.toml\"\nthreads = {THREADS}\n{more}\n\
         [sampling]\nwarmup_s = 0.5\n{sampling}\n"
    ))
}

const OBJECTIVE: &str = "objective = \"latency_ms_p90 <= 60\"";

/// Whether other programs or the host used the machine, so that times mean little.
fn is_disturbed(record: &Value) -> bool {
    let share = |covariate: &str| record["samples"][0]["covariates"][covariate].as_f64().unwrap_or(0.0);
    share("foreign_cpu_fraction") > 0.1 || share("steal_fraction") > 0.1
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// One trial with short steps: benches/objective tests longer steps to 3%.
#[test]
fn the_capacity_of_a_known_service_time_is_found_on_the_embedded_engine() {
    let world = World::new();
    let study = study(&world, "trials = 1\nsample_s = 1", OBJECTIVE);
    let (out, err) = world.exits(0, &["run", &study, "--out", "r"]);
    assert!(out.contains("max_tps_under_objective"), "{out}\n{err}");
    for record in trials(&world.path("r")).into_iter().filter(|record| record["outcome"] == "ok") {
        let found = number(&record["samples"][0]["metrics"]["max_tps_under_objective"]);
        let exact = BUSY * THREADS / SERVICE_S;
        let near = (found / exact - 1.0).abs() < 0.15;
        assert!(near || is_disturbed(&record), "{found} of {exact}: {}", record["searches"]);
        let search = &record["searches"][0];
        assert_eq!(search["slo"], serde_json::json!({"metric": "latency_ms_p90", "limit_ms": 60.0}));
        assert!(search["limit"] == "server" || is_disturbed(&record), "{search}");
        assert_eq!(number(&search["found_tps"]), found);
        let steps = search["steps"].as_array().unwrap();
        let met = |rate: &dyn Fn(f64) -> bool, met: bool| {
            steps.iter().any(|step| rate(number(&step["requested_tps"]) / found) && step["met"] == met)
        };
        assert!(met(&|ratio| ratio == 1.0, true) && met(&|ratio| ratio > 1.0 && ratio <= 1.011, false), "{search}");
        for step in steps {
            assert!(step["met"] == false || number(&step["value"]) <= 60.0, "{step}");
        }
    }
    world.assert_clean();
}

#[test]
fn the_backlog_of_a_frozen_client_is_not_attributed_to_the_server() {
    let world = World::new();
    let study = study(&world, "trials = 1\nattempts = 1\nsample_s = 1", OBJECTIVE);
    let mut run = world.tare(&["run", &study, "--out", "r"]);
    let run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let is_load = |pid: &u32| thread_names(*pid).iter().any(|name| name.starts_with("client-"));
    wait_until("the clients of the load", 60, || world.processes().iter().any(is_load));
    let client = world.processes().into_iter().find(is_load).unwrap();
    // After the warm-up, the load runs its steps of 1.25 s each.
    std::thread::sleep(Duration::from_secs(1));
    for _ in 0..2 {
        assert!(send(client, Signal::STOP));
        std::thread::sleep(Duration::from_millis(300));
        assert!(send(client, Signal::CONT));
        std::thread::sleep(Duration::from_millis(1500));
    }
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let record = &trials(&world.path("r"))[0];
    let search = &record["searches"][0];
    let steps = search["steps"].as_array().unwrap();
    let frozen = steps.iter().filter(|step| step["limit"]["client"].is_object());
    assert!(frozen.clone().count() > 0, "{search}");
    if is_disturbed(record) {
        return;
    }
    assert!(frozen.clone().all(|step| step["repeated"] == true), "{search}");
    let (found, exact) = (number(&search["found_tps"]), BUSY * THREADS / SERVICE_S);
    assert!((found / exact - 1.0).abs() < 0.25, "{found} of {exact}: {search}");
    assert_eq!(search["limit"], "server", "{search}");
    world.assert_clean();
}
