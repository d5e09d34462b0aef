//! Complete runs that only MariaDB needs: the user's own data, sysbench on tare's tables.

use crate::support::{World, json, server_beside, text, trials, verified};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};
use tare_engine::{Mariadb, engine_by_name, file_sha1};

const STUDY: &str = r#"
name = "pairs"
[engine]
name = "mariadb"
[engine.options]
innodb_adaptive_hash_index = "OFF"
[workload]
rows = 1000
threads = 2
[process]
aslr = "off"
[sampling]
trials = 1
warmup_s = 0.2
sample_s = 0.5
[factors]
placement = ["float", "pairs"]
workload = ["point_select", "read_write"]
[placements.float]
[placements.pairs]
client = "all"
server = "all"
bind = "thread"
pairing = "same-pu"
"#;

/// Length, modification time and SHA-1 of every file below a directory; allocated blocks depend on the kernel's writes.
fn files(folder: &Path) -> BTreeMap<PathBuf, (u64, SystemTime, String)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
            continue;
        }
        let mut file = File::open(&path).unwrap();
        let of = file.metadata().unwrap();
        found.insert(path, (of.len(), of.modified().unwrap(), file_sha1(&mut file).unwrap()));
    }
    found
}

#[test]
fn the_users_data_directory_is_copied_and_not_changed() {
    let world = World::new();
    let study = world.study(
        "name = \"own\"\n[engine]\nname = \"mariadb\"\n[workload]\nrows = 100\n\
         [sampling]\ntrials = 1\nattempts = 1\nwarmup_s = 0\nsample_s = 0.3\n",
    );
    // Tables from a run of tare stand in for the user's.
    world.exits(0, &["run", &study, "--out", "first"]);
    let cache = world.path("cache");
    let made = crate::support::names(&cache)
        .into_iter()
        .find(|n| n.starts_with("mariadb-") && !n.starts_with("mariadb-initialised-") && cache.join(n).is_dir())
        .unwrap();
    let own = world.path("own");
    let copied = Command::new("cp").args(["-a", cache.join(&made).to_str().unwrap(), own.to_str().unwrap()]).status();
    assert!(copied.unwrap().success());
    let data = if own.join("ibdata1").is_file() { own } else { own.join("data") };
    let (before, cached) = (files(&data), crate::support::names(&cache));
    let set = format!("engine.data={}", data.display());
    // With another seed tare would make other data.
    world.exits(0, &["run", &study, "--out", "second", "--set", &set, "--set", "sampling.seed=77"]);
    assert_eq!(trials(&world.path("second"))[0]["outcome"], "ok");
    assert_eq!(files(&data), before, "the user's files were changed");
    assert_eq!(crate::support::names(&cache), cached, "data were made anew");

    let (_, err) = world.exits(3, &["run", &study, "--out", "third", "--set", "engine.data=/no/such/directory"]);
    assert!(err.contains("/no/such/directory cannot be read"), "{err}");
    std::fs::create_dir(world.path("empty")).unwrap();
    let set = format!("engine.data={}", world.path("empty").display());
    // Not when the first trial has failed.
    for (engine, has) in [("mariadb", "folder mysql"), ("mysql", "folder mysql"), ("postgresql", "file PG_VERSION")] {
        if engine_by_name(engine).unwrap().binary(None).is_err() {
            println!("not tried: {engine} is not installed");
            continue;
        }
        let words = ["run", &study, "--engine", engine, "--out", "fourth", "--set", &set];
        let (_, err) = world.exits(3, &words);
        assert!(err.contains("is not a data directory of") && err.contains(&format!("it has no {has}")), "{err}");
        assert!(!world.path("fourth").exists(), "{engine}");
    }
    world.assert_clean();
}

#[test]
fn a_server_that_dies_or_refuses_an_option_is_reported_and_leaves_nothing() {
    let world = World::new();
    let study = world.study(STUDY);
    for (set, code, expected) in [
        ("engine.binary=/bin/false", 3, "/bin/false"),
        ("engine.binary=/no/such/server", 3, "/no/such/server"),
        ("engine.options.no_such_option=1", 4, "no_such_option"),
    ] {
        let one = ["--set", "factors.placement=float", "--set", "factors.workload=point_select", "--set", set];
        let (_, err) = world.exits(code, &[&["run", &study, "--out", "results"], &one[..]].concat());
        assert!(err.contains(expected), "{set}\n{err}");
        world.assert_clean();
        // A request that is refused before the start leaves no results; others do.
        let _ = std::fs::remove_dir_all(world.path("results"));
    }
}

#[test]
fn sysbench_and_tare_run_on_the_same_tables_prepared_by_tare() {
    let world = World::new();
    let mut server = server_beside(&world, &Mariadb);
    let socket = server.address().to_string();
    let user = server.target().user.clone();
    let common = ["--engine", "mariadb", "--socket", &socket, "--user", &user, "--tables", "2", "--rows", "2000"];
    let load = |workload: &str, more: &[&str]| {
        let mut args = vec!["load", workload];
        args.extend(common);
        args.extend(more);
        world.exits(0, &args).0
    };
    load("point_select", &["--prepare"]);
    for test in ["oltp_point_select", "oltp_read_only"] {
        let output = Command::new("sysbench")
            .args([test, "--tables=2", "--table-size=2000", "--threads=2", "--time=1", "--db-driver=mysql"])
            .args([format!("--mysql-socket={socket}"), format!("--mysql-user={user}"), "--mysql-db=sbtest".into()])
            .arg("run")
            .output()
            .expect("sudo apt-get install sysbench");
        let out = text(&output.stdout);
        assert!(output.status.success(), "{out}{}", text(&output.stderr));
        let errors = out.lines().find(|l| l.contains("ignored errors:")).unwrap();
        assert!(errors.contains(" 0 "), "{errors}");
    }
    for (workload, queries) in [("point_select", 1.0), ("read_only", 16.0), ("read_write", 20.0)] {
        let out = load(workload, &["--time", "500ms", "--warmup", "0s", "--threads", "2", "--json"]);
        let result = json(&out);
        let ratio = result["qps"].as_f64().unwrap() / result["tps"].as_f64().unwrap();
        assert!((ratio - queries).abs() < 0.5, "{out}");
        for key in ["min", "mean", "p50", "p90", "p95", "p99", "p99_9", "max"] {
            assert!(result["latency_ms"][key].as_f64().unwrap() > 0.0, "{out}");
        }
    }
    for existed in [2, 0] {
        let dropped = json(&load("point_select", &["--cleanup", "--json"]));
        assert_eq!((&dropped["done"], &dropped["tables"]), (&"dropped".into(), &existed.into()), "{dropped}");
    }
    let mut args = vec!["load", "point_select"];
    args.extend(common);
    let (_, err) = world.exits(0, &[&args[..], &["--cleanup"]].concat());
    assert!(err.contains("no table to drop"), "{err}");
    args[3] = "mysql";
    let (_, err) = world.exits(2, &args);
    assert!(err.contains("is MariaDB ") && err.contains("use --engine mariadb"), "{err}");
    args[3] = "mariadb";
    let (_, err) = world.exits(2, &args);
    assert!(err.contains("--prepare"), "{err}");
    server.stop(Duration::from_secs(30)).unwrap();
}

#[test]
fn the_connection_character_set_is_recorded_and_unreadable_options_are_not_verified() {
    let world = World::new();
    let study = world.study(
        "name = \"sets\"\n[engine]\nname = \"mariadb\"\n\
         [engine.options]\ncharacter_set_server = \"latin1\"\nloose_no_such_thing = 1\n[workload]\nrows = 100\n\
         [sampling]\ntrials = 1\nattempts = 1\nwarmup_s = 0\nsample_s = 0.3\n\
         [factors]\ncharset = [\"server\", \"latin1\", \"utf8mb4\"]\n",
    );
    world.exits(0, &["run", &study, "--out", "results"]);
    let records = trials(&world.path("results"));
    assert_eq!(records.len(), 3);
    for record in records {
        assert_eq!(record["outcome"], "ok", "{record}");
        let set = record["levels"]["charset"].as_str().unwrap();
        let set = if set == "server" { "latin1" } else { set };
        assert_eq!(verified(&record, "charset"), format!("the server reports {set}"));
        assert_eq!(verified(&record, "option.character_set_server"), "the server reports latin1");
        assert!(verified(&record, "option.loose_no_such_thing").starts_with("not verified"), "{record}");
    }
    // A server that keeps its own character set reports it, and the trial has no result.
    let set = "engine.options.character_set_client_handshake=OFF";
    world.exits(4, &["run", &study, "--out", "deaf", "--set", set, "--set", "factors.charset=utf8mb4"]);
    let failed = trials(&world.path("deaf"));
    assert!(
        failed[0].to_string().contains("charset: requested utf8mb4, but the running server has latin1"),
        "{failed:?}"
    );
    let (_, err) =
        world.exits(3, &["run", &study, "--engine", "sqlite", "--set", "factors.charset=latin1", "--dry-run"]);
    assert!(err.contains("charset = latin1: tare cannot choose the character set of connections to sqlite"), "{err}");
    world.assert_clean();
}

/// On a machine with one node, the group holds all nodes; the virtual machines test four nodes.
#[test]
fn a_control_group_confines_a_buffer_pool_with_its_own_policy_and_is_removed() {
    let world = World::sharing();
    let study = world.study(
        "name = \"held\"\n[engine]\nname = \"mariadb\"\n[engine.options]\ninnodb_numa_interleave = 1\n\
         [workload]\nrows = 1000\n[placement]\nmemory = \"interleave:all\"\n\
         [sampling]\ntrials = 1\nattempts = 1\nwarmup_s = 0\nsample_s = 0.2\nsteal_limit = \"off\"\n\
         foreign_cpu_limit = \"off\"\nprobe = \"off\"\n",
    );
    world.exits(0, &["run", &study, "--out", "results"]);
    let settings = trials(&world.path("results"))[0]["settings"].to_string();
    let is_held = settings.contains("cpuset.mems of the server's control group is");
    let nodes = tare_topology::Machine::this().unwrap().memory_nodes();
    let confines = tare_noise::MemoryConfines { nodes: Some(nodes), limit_bytes: None };
    assert_eq!(is_held, tare_noise::MemoryGroups::here(&confines).is_ok(), "{settings}");
    world.assert_clean();
}
