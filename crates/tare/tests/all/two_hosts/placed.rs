//! Every thread must run on its CPUs, on its own host.

use crate::support::{World, json, trials};
use crate::two_hosts::far::{no_way, program, section};

/// Two client threads on the last PU of their host, two server threads on the first of theirs.
fn study(world: &World, more: &str) -> String {
    let client = section("far", &no_way(), &program(world, &[]), Some("127.0.0.1"));
    world.study(&format!(
        "name = \"two-hosts\"\n[engine]\ntransport = \"tcp\"\n[workload]\nname = \"point_select\"\nrows = 200\n\
         threads = 2\n{client}[placement]\nclient = \"pu:1\"\nserver = \"pu:0\"\nbind = \"thread\"\n\
         [sampling]\ntrials = 1\nwarmup_s = 0.2\nsample_s = 0.3\nattempts = 1\n{more}"
    ))
}

#[test]
fn every_thread_is_placed_and_verified_on_its_own_host() {
    let world = World::new();
    let study = study(&world, "");
    let (plan, _) = world.exits(0, &["run", &study, "--dry-run", "--json"]);
    let placement = &json(&plan)["conditions"][0]["placement"];
    assert_eq!(*placement, json(r#"{"client":[[1],[1]],"server":[[0],[0]]}"#), "{plan}");
    world.exits(0, &["run", &study, "--out", "results"]);
    let records = trials(&world.path("results"));
    let [record] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!(record["outcome"], "ok", "{record}");
    let host = &record["client_host"];
    assert_eq!(host["requested"], "far");
    // Both hosts are this machine: the clock offset is 0, to within half a round trip.
    let of = |key: &str| host[key].as_f64().unwrap();
    assert!(of("clock_offset_s").abs() <= of("clock_uncertainty_s") + 1e-4, "{host}");
    assert!((0.0..60.0).contains(&of("clock_uncertainty_s")), "half a round trip, also on a busy machine: {host}");
    let kept = std::fs::read_to_string(world.path("results/environment-far.json")).unwrap();
    assert!(json(&kept)["machine"].is_object() && json(&kept)["kernel"].is_string(), "{kept}");
    let sample = &record["samples"][0];
    let threads = sample["threads"].as_array().unwrap();
    for (role, cpu) in [("client", "1"), ("server", "0")] {
        let of_role: Vec<_> = threads.iter().filter(|thread| thread["role"] == role).collect();
        assert_eq!(of_role.len(), 2, "{sample}");
        for thread in of_role {
            assert_eq!(thread["allowed_cpus"], cpu, "{thread}");
            assert!(thread["seen_cpus"].as_object().unwrap().keys().all(|seen| seen == cpu), "{thread}");
        }
    }
    let pids = |role: &str| threads.iter().find(|thread| thread["role"] == role).unwrap()["pid"].clone();
    assert_ne!(pids("client"), pids("server"));
    let covariates = sample["covariates"].as_object().unwrap();
    for name in ["foreign_cpu_fraction", "client_host_foreign_cpu_fraction", "client_host_steal_fraction"] {
        assert!(covariates.contains_key(name), "{name}: {sample}");
    }
    assert!(!covariates.keys().any(|name| name.starts_with("client_host_server_")), "{sample}");
    assert!(sample["metrics"]["tps"].as_f64().unwrap() > 0.0, "{sample}");
    assert!(sample["metrics"]["server_cpu_us_per_transaction"].as_f64().unwrap() > 0.0, "{sample}");
    world.assert_clean();
}

#[test]
fn settings_impossible_on_two_hosts_are_refused_before_the_run() {
    let world = World::new();
    let path = study(&world, "");
    for (set, words) in [
        ("engine.transport=socket", "set engine.transport = \"tcp\""),
        ("placement.pairing=same-pu", "pairing same-pu needs clients and server on one host"),
        ("engine.socket=/nonexistent", "need a server that tare starts here"),
        ("placement.client=pu:4000", "on far: "),
        ("client.program=/nonexistent/tare", "client.host far did not answer"),
        ("client.ssh=/nonexistent/ssh", "/nonexistent/ssh cannot be started to reach far"),
    ] {
        let (_, err) = world.exits(3, &["run", &path, "--set", set, "--out", "none"]);
        assert!(err.contains(words), "{set}: {err}");
    }
    let (_, err) = world.exits(2, &["shard", &path, "--into", "1", "--out", "shards"]);
    assert!(err.contains("cannot be cut into shards"), "{err}");
}

#[test]
fn a_client_host_that_is_another_machine_than_planned_fails_the_trial() {
    let world = World::new();
    let study = study(&world, "");
    // Between plan and trial the machine is reduced to one CPU, as by a container.
    let narrow = world.path("narrow");
    let tare = program(&world, &[]).join(" ");
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in client-agent) n=$(cat {0} 2>/dev/null); echo x >> {0};; esac\n\
         if [ -n \"$n\" ]; then exec taskset -c 0 {tare} \"$@\"; fi\nexec {tare} \"$@\"\n",
        narrow.display()
    );
    let path = world.path("far-tare");
    std::fs::write(&path, script).unwrap();
    let set = format!("client.program=[\"sh\", \"{}\"]", path.display());
    let (_, err) = world.exits(4, &["run", &study, "--set", &set, "--out", "results"]);
    let records = trials(&world.path("results"));
    assert!(records.iter().all(|record| record["outcome"] == "failed"), "{records:?}");
    let reason = records[0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("on client.host far: ") && reason.contains("CPUs"), "{reason}\n{err}");
    world.assert_clean();
}
