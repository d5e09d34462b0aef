//! Loads whose clients can be on another host than the server, and the reasons of those that cannot.

use crate::support::{World, trials};
use crate::two_hosts::far::{no_way, program, section};

const MIX: &str = "[data]\nschema = \"CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY, a INTEGER); \
    INSERT INTO t VALUES (1, 1), (2, 2)\"\n[parameters]\nid = { range = [1, 2] }\n\
    [[transaction]]\nname = \"look\"\nstatements = [\"SELECT a FROM t WHERE id = :id\"]\n";

fn study(world: &World, workload: &str, engine: &str) -> String {
    let client = section("far", &no_way(), &program(world, &[]), Some("127.0.0.1"));
    world.study(&format!(
        "name = \"loads\"\n[engine]\nname = \"{engine}\"\ntransport = \"tcp\"\n[workload]\n{workload}{client}\
         [placement]\nclient = \"pu:1\"\nserver = \"pu:0\"\nbind = \"thread\"\n\
         [sampling]\ntrials = 1\nwarmup_s = 0.1\nsample_s = 1\nattempts = 1\n"
    ))
}

/// The record of a run with one trial.
fn drive(world: &World, workload: &str, engine: &str, out: &str) -> serde_json::Value {
    world.exits(0, &["run", &study(world, workload, engine), "--out", out]);
    let records = trials(&world.path(out));
    let [record] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!(record["client_host"]["requested"], "far", "{record}");
    let threads = record["samples"][0]["threads"].as_array().unwrap();
    for (role, cpu) in [("client", "1"), ("server", "0")] {
        let mut of_role = threads.iter().filter(|thread| thread["role"] == role).peekable();
        assert!(of_role.peek().is_some(), "{out}: {record}");
        assert!(of_role.all(|thread| thread["allowed_cpus"] == cpu), "{out}: {record}");
    }
    record.clone()
}

#[test]
fn every_load_of_tares_own_clients_can_be_driven_from_another_host() {
    let world = World::sharing();
    let mix = world.path("mix.toml");
    std::fs::write(&mix, MIX).unwrap();
    let sql = format!("name = \"sql\"\nfile = \"{}\"\nthreads = 2\npreload = \"on\"\n", mix.display());
    let record = drive(&world, &sql, "sqlite", "sql");
    assert!(record["samples"][0]["metrics"]["latency_ms_mean_of_look_1"].as_f64().unwrap() > 0.0, "{record}");
    let record = drive(&world, "name = \"tpcc\"\ntpcc_scale = 0.01\nwarehouses = 1\nthreads = 2\n", "sqlite", "tpcc");
    assert!(record["settings"].to_string().contains("hold after the last sample"), "{record}");
    let dbt3 = "name = \"dbt3\"\nscale = 0.01\nqueries = \"1,6\"\nwarmup_runs = 1\n";
    let record = drive(&world, dbt3, "sqlite", "dbt3");
    assert!(record["samples"][0]["metrics"]["query_s_q6"].as_f64().unwrap() > 0.0, "{record}");
    let record = drive(&world, "name = \"bulk_insert\"\nthreads = 1\n", "sqlite", "bulk");
    assert!(record["samples"][0]["metrics"]["tps"].as_f64().unwrap() > 0.0, "{record}");
    world.assert_clean();
}

#[test]
fn a_load_that_cannot_be_driven_from_another_host_is_refused_with_the_reason() {
    let world = World::new();
    for (workload, engine, words) in [
        ("name = \"counters\"\n", "sqlite", "the workload counters runs its clients only on this host"),
        (
            "name = \"command\"\ncommand = [\"true\"]\n",
            "sqlite",
            "the workload command runs its clients only on this host",
        ),
        ("name = \"pgbench\"\n", "postgresql", "the workload pgbench runs its clients only on this host"),
        (
            "name = \"tpcc\"\nobjective = \"latency_ms_p99 <= 5\"\n",
            "sqlite",
            "an SLO (objective) needs clients on this host",
        ),
        (
            "name = \"dbt3\"\nscale = 0.01\norder = \"alone\"\n",
            "sqlite",
            "order = \"alone\" starts a server for each query",
        ),
    ] {
        let (_, err) = world.exits(3, &["run", &study(&world, workload, engine), "--dry-run"]);
        assert!(err.contains(words), "{workload}: {err}");
    }
}
