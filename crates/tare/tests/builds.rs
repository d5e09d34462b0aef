//! Several servers in one study: named, told apart, each with data of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod support;

use std::os::unix::fs::PermissionsExt;
use support::{World, json, trials};
use tare_engine::{Engine, Mariadb, Postgresql};

const REST: &str = "[workload]\nrows = 100\n[sampling]\ntrials = 2\nattempts = 1\nwarmup_s = 0\nsample_s = 0.2\n";

#[test]
fn servers_of_several_makers_run_interleaved_in_one_study_and_are_ranked() {
    let world = World::new();
    let study = world.study(&format!(
        "name = \"makers\"\nquestion = \"best\"\n{REST}[factors]\nbuild = [\"maria\", \"post\", \"small\", \"gone\"]\n\
         [builds.maria]\nname = \"mariadb\"\noptions = {{ innodb_old_blocks_time = 7 }}\n[builds.post]\nname = \"postgresql\"\n\
         [builds.small]\nname = \"sqlite\"\n[builds.gone]\nname = \"mysql\"\nbinary = \"/no/such/mysqld\"\n"
    ));
    let (_, err) = world.exits(0, &["run", &study, "--out", "results"]);
    assert!(err.contains("build=gone") && err.contains("/no/such/mysqld"), "left out with its reason: {err}");
    assert!(err.contains("note: maria is MariaDB ") && err.contains("note: post is PostgreSQL "), "{err}");
    let records = trials(&world.path("results"));
    assert_eq!(records.len(), 6);
    for (build, version) in [("maria", "MariaDB"), ("post", "."), ("small", "3.")] {
        let of: Vec<_> = records.iter().filter(|record| record["levels"]["build"] == build).collect();
        assert_eq!(of.len(), 2);
        for record in of {
            assert_eq!(record["outcome"], "ok", "{record}");
            assert!(record["server_version"].as_str().unwrap().contains(version), "{record}");
            let options = record["settings"].as_array().unwrap();
            let set = options.iter().any(|s| s["factor"] == "option.innodb_old_blocks_time");
            assert_eq!(set, build == "maria", "{record}");
        }
    }
    // The first three are one block, in whatever order.
    let mut block: Vec<&str> = records[..3].iter().map(|r| r["levels"]["build"].as_str().unwrap()).collect();
    block.sort_unstable();
    assert_eq!(block, ["maria", "post", "small"]);
    let (shown, _) = world.exits(0, &["show", "results", "--json"]);
    let shown = json(&shown);
    let measured = shown["conditions"].as_array().unwrap().iter().filter(|c| c["trials"] == 2);
    for condition in measured {
        let tps = condition["metrics"].as_array().unwrap().iter().find(|m| m["name"] == "tps").unwrap();
        assert!(tps["ci_low"].is_number() && tps["ci_high"].is_number(), "{condition}");
    }
    // Going on reads the builds back from what the run wrote.
    world.exits(0, &["run", "--resume", "results"]);
    world.assert_clean();
}

#[test]
fn programs_as_levels_are_of_the_engine_that_they_say_and_named_by_their_version() {
    let world = World::new();
    let (maria, post) = (Mariadb.binary(None).unwrap(), Postgresql.binary(None).unwrap());
    let study = world.study(&format!(
        "name = \"paths\"\n[engine]\nname = \"mariadb\"\n{REST}[factors]\nbinary = [\"{}\", \"{}\"]\n",
        maria.path.display(),
        post.path.display()
    ));
    let (out, _) = world.exits(0, &["run", &study, "--dry-run", "--json"]);
    let plan = json(&out);
    let conditions = plan["conditions"].as_array().unwrap();
    let short = |version: &str| version.split(['-', '+']).next().unwrap().to_owned();
    let expected = [
        ("mariadb", format!("mariadb-{}", short(&maria.version))),
        ("postgresql", format!("postgresql-{}", short(&post.version))),
    ];
    for (condition, (engine, name)) in conditions.iter().zip(expected) {
        assert_eq!(condition["settings"]["engine.name"], engine, "{condition}");
        assert_eq!(condition["levels"]["binary"], name, "{condition}");
        assert_eq!(condition["name"], format!("binary={name}"));
        assert_eq!(condition["realizable"], true);
    }
    assert!(plan["notes"].to_string().contains(maria.path.to_str().unwrap()), "{plan}");
}

#[test]
fn a_rehearsal_of_a_study_that_is_not_trusted_runs_nothing_that_it_names() {
    let world = World::new();
    let (server, mark) = (world.path("server"), world.path("mark"));
    std::fs::write(&server, format!("#!/bin/sh\ntouch {}\n", mark.display())).unwrap();
    std::fs::set_permissions(&server, std::fs::Permissions::from_mode(0o755)).unwrap();
    let study = world
        .study(&format!("name = \"theirs\"\n[engine]\nname = \"mariadb\"\nbinary = \"{}\"\n{REST}", server.display()));
    std::fs::set_permissions(&study, std::fs::Permissions::from_mode(0o666)).unwrap();
    world.exits(0, &["run", &study, "--dry-run"]);
    assert!(!mark.exists());
    // Once it is trusted, the program is asked, and is no server.
    let (_, err) = world.exits(3, &["run", &study, "--dry-run", "--trust"]);
    assert!(mark.exists() && err.contains("is not a MariaDB server"), "{err}");
}

#[test]
fn a_build_that_the_study_does_not_have_and_a_wrong_key_are_named() {
    let world = World::new();
    let of = |text: &str| world.exits(2, &["run", &world.study(&format!("name = \"wrong\"\n{text}")), "--dry-run"]).1;
    let err = of("[factors]\nbuild = [\"mariia\"]\n[builds.maria]\nname = \"mariadb\"\n");
    assert!(err.contains("build = mariia") && err.contains("maria"), "{err}");
    let err = of("[builds.a]\nbinery = \"/x\"\n");
    assert!(err.contains("binery") && err.contains("binary"), "{err}");
    let err = of("[builds.a]\nname = \"orakel\"\n");
    assert!(err.contains("orakel") && err.contains("mariadb"), "{err}");
}

#[test]
fn the_servers_of_this_machine_are_listed_and_how_the_others_are_installed() {
    let world = World::new();
    let (out, _) = world.exits(0, &["studies", "--engines", "--json"]);
    let engines = json(&out);
    let of = |name: &str| engines.as_array().unwrap().iter().find(|e| e["engine"] == name).unwrap().clone();
    for (name, product) in [("mariadb", "MariaDB"), ("postgresql", "PostgreSQL"), ("sqlite", "SQLite")] {
        let usual: Vec<_> =
            of(name)["found"].as_array().unwrap().iter().filter(|f| f["usual"] == true).cloned().collect();
        assert_eq!(usual.len(), 1, "{engines}");
        assert_eq!(usual[0]["product"], product);
    }
    let text = world.exits(0, &["studies", "--engines"]).0;
    assert!(text.contains("/mariadbd") && text.contains("build id"), "{text}");
    // Nothing is found where the PATH leads nowhere but the usual places: what is missing comes with its command.
    let mysql = of("mysql");
    let missing = mysql["found"].as_array().unwrap().is_empty();
    assert_eq!(mysql["install"].is_string(), missing, "{mysql}");
}
