//! Several servers in one study: named, distinguished, each with data of its own.

use crate::support::{World, json, script, trials};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tare_engine::{Engine, Mariadb, Postgresql};

const REST: &str = "[workload]\nrows = 100\n[sampling]\ntrials = 2\nattempts = 1\nwarmup_s = 0\nsample_s = 0.2\n";

#[test]
fn servers_of_several_engines_run_interleaved_in_one_study() {
    let world = World::new();
    let study = world.study(&format!(
        "name = \"makers\"\nquestion = \"best\"\n{REST}[factors]\nbuild = [\"maria\", \"post\", \"small\", \"gone\"]\n\
         [builds.maria]\nname = \"mariadb\"\ndefaults_file = \"my.cnf\"\noptions = {{ innodb_old_blocks_time = 7 }}\n\
         [builds.post]\nname = \"postgresql\"\ndefaults_file = \"postgresql.conf\"\n\
         [builds.small]\nname = \"sqlite\"\n[builds.gone]\nname = \"mysql\"\nbinary = \"/no/such/mysqld\"\n"
    ));
    let file = "[mysqld]\ninnodb-old-blocks-time = 9\ninnodb_buffer_pool_size = 24M\nport = 3307\n[client]\nport = 1\n";
    std::fs::write(world.path("my.cnf"), file).unwrap();
    std::fs::write(world.path("postgresql.conf"), "work_mem = 9MB # each\nlisten_addresses = '*'\n").unwrap();
    let (out, err) = world.exits(0, &["run", &study, "--out", "results"]);
    assert!(err.contains("note: 2 options for mariadb from my.cnf"), "{err}");
    assert!(err.contains("port of my.cnf left out") && err.contains("listen_addresses of postgresql.conf"), "{err}");
    assert!(out.contains("build=gone") && out.contains("/no/such/mysqld"), "left out with its reason: {out}");
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
    the_servers_are_told_whole(&world, &records);
    // The first three trials are one block, in any order.
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
    // A resumed run reads the builds from the files of the run.
    world.exits(0, &["run", "--resume", "results"]);
    world.assert_clean();
}

/// Information for reviewers: the build, the command line, all settings and the changed ones.
fn the_servers_are_told_whole(world: &World, records: &[serde_json::Value]) {
    let of = |build: &str| records.iter().filter(|r| r["levels"]["build"] == build).collect::<Vec<_>>();
    for (build, setting, value, pool) in [
        ("maria", "innodb_old_blocks_time", "7", Some(24 << 20)),
        ("maria", "innodb_buffer_pool_size", "25165824", Some(24 << 20)),
        ("post", "work_mem", "9216", None),
    ] {
        for record in of(build) {
            let server = &record["server"];
            assert_eq!(server["changed"][setting]["value"], value, "{server}");
            assert!(server["changed"][setting]["default"].is_string(), "{server}");
            assert_eq!(server["build_id"].as_str().map(|id| id.len() >= 16), Some(true), "{server}");
            let words = server["arguments"].as_array().unwrap();
            assert!(words.len() > 8 && words[0].as_str().unwrap().contains('/'), "{server}");
            assert!(server["option_files"].to_string().contains("f\""), "{server}");
            match pool {
                Some(bytes) => assert_eq!(server["buffer_pool_bytes"], bytes),
                None => assert!(server["buffer_pool_bytes"].as_u64().unwrap() > 1 << 20, "{server}"),
            }
            let file = world.path("results").join(record["captures"]["settings"].as_str().unwrap());
            let all = json(&std::fs::read_to_string(file).unwrap());
            assert!(all["settings"].as_object().unwrap().len() > 300, "{build}");
            assert_eq!(all["settings"][setting]["value"], value);
        }
        let files: Vec<_> = of(build).iter().map(|record| record["captures"]["settings"].clone()).collect();
        assert_eq!(files[0], files[1], "trials with the same settings share a file");
    }
    assert!(of("post")[0]["server"]["build"]["CFLAGS"].as_str().unwrap().contains("-O"));
    assert_eq!(of("small")[0]["server"]["product"], "SQLite");
    let report = std::fs::read_to_string(world.path("results/report.html")).unwrap();
    assert!(report.contains("Table of servers") && report.contains("innodb_old_blocks_time"));
}

/// Simulates a replaced program: the version of the program at the path differs from that of the running server.
#[test]
fn a_server_is_recorded_as_it_reports_itself_not_as_the_program_at_its_path() {
    let world = World::new();
    for folder in ["tree/bin", "tree/sbin"] {
        std::fs::create_dir_all(world.path(folder)).unwrap();
    }
    for part in ["bin/mariadb-install-db", "bin/my_print_defaults", "bin/resolveip", "share", "lib"] {
        std::os::unix::fs::symlink(Path::new("/usr").join(part), world.path("tree").join(part)).unwrap();
    }
    let own = Mariadb.binary(None).unwrap();
    // A version of the same series, or its data would be refused.
    let series: Vec<&str> = own.version.split('.').take(2).collect();
    let other = format!("{}.99-MariaDB", series.join("."));
    let server = world.path("tree/sbin/mariadbd");
    let says = format!("case \"$*\" in *--version*) echo mariadbd Ver {other} for Linux; exit;; esac");
    script(&server, &format!("{says}\nexec {} \"$@\"", own.path.display()));
    let study = world
        .study(&format!("name = \"path\"\n[engine]\nname = \"mariadb\"\nbinary = \"{}\"\n{REST}", server.display()));
    world.exits(0, &["run", &study, "--out", "results"]);
    for record in trials(&world.path("results")) {
        let reported = record["server"]["version"].as_str().unwrap();
        assert!(reported != other && record["server_version"] == reported, "{reported}");
        assert_eq!(record["server"]["product"], "MariaDB");
        assert_eq!(record["server"]["build_id"].as_str(), own.build_id.as_deref());
    }
}

#[test]
fn programs_as_levels_get_their_engine_and_name_from_their_version_output() {
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
fn planning_an_untrusted_study_runs_no_program_that_it_names() {
    let world = World::new();
    let (server, mark) = (world.path("server"), world.path("mark"));
    script(&server, &format!("touch {}", mark.display()));
    let study = world
        .study(&format!("name = \"theirs\"\n[engine]\nname = \"mariadb\"\nbinary = \"{}\"\n{REST}", server.display()));
    std::fs::set_permissions(&study, std::fs::Permissions::from_mode(0o666)).unwrap();
    world.exits(0, &["run", &study, "--dry-run"]);
    assert!(!mark.exists());
    // Once the study is trusted, the program is run, and turns out not to be a server.
    let (_, err) = world.exits(3, &["run", &study, "--dry-run", "--trust"]);
    assert!(mark.exists() && err.contains("is not a MariaDB server"), "{err}");
}

#[test]
fn servers_of_this_machine_are_listed_and_missing_ones_with_an_install_command() {
    let world = World::new();
    let (out, _) = world.exits(0, &["studies", "--engines", "--json"]);
    let engines = json(&out)["engines"].clone();
    let of = |name: &str| engines.as_array().unwrap().iter().find(|e| e["engine"] == name).unwrap().clone();
    for (name, product) in [("mariadb", "MariaDB"), ("postgresql", "PostgreSQL"), ("sqlite", "SQLite")] {
        let usual: Vec<_> =
            of(name)["found"].as_array().unwrap().iter().filter(|f| f["usual"] == true).cloned().collect();
        assert_eq!(usual.len(), 1, "{engines}");
        assert_eq!(usual[0]["product"], product);
    }
    let text = world.exits(0, &["studies", "--engines"]).0;
    assert!(text.contains("/mariadbd") && text.contains("build id"), "{text}");
    // A missing engine comes with its install command, an existing one without.
    let mysql = of("mysql");
    let missing = mysql["found"].as_array().unwrap().is_empty();
    assert_eq!(mysql["install"].is_string(), missing, "{mysql}");
}

#[test]
fn checksums_that_differ_between_versions_are_reported_before_a_trial() {
    let world = World::new();
    let study = world.study(&format!(
        "name = \"sums\"\n[engine]\nname = \"postgresql\"\n{REST}[factors]\nbuild = [\"old\", \"new\"]\n\
         [builds.old]\n[builds.new]\nbinary = \"new/postgres\"\n"
    ));
    std::fs::create_dir(world.path("new")).unwrap();
    for (version, differs) in [("18.1", true), ("15.9", false)] {
        script(&world.path("new/postgres"), &format!("echo 'postgres (PostgreSQL) {version}'"));
        let (out, _) = world.exits(0, &["run", &study, "--dry-run", "--set", "builds.old.start_timeout_s=9"]);
        let note = format!("data of PostgreSQL {version} have page checksums");
        assert!(out.contains(&format!("new is PostgreSQL {version}")) && out.contains(&note) == differs, "{out}");
    }
}

#[test]
fn initdb_arguments_get_their_own_data_and_a_missing_account_ends_the_start_at_once() {
    let world = World::new();
    let study =
        world.study(&format!("name = \"init\"\n[engine]\nname = \"postgresql\"\nstart_timeout_s = 300\n{REST}"));
    let small = ["--set", "sampling.trials=1"];
    let factor = "factors.init_options=none,--data-checksums";
    world.exits(0, &[&["run", &study, "--out", "sums", "--set", factor], &small[..]].concat());
    let records = trials(&world.path("sums"));
    let on = |level: &str| {
        let record = records.iter().find(|record| record["levels"]["init_options"] == level).unwrap();
        record["server"]["changed"]["data_checksums"]["value"] == "on"
    };
    assert!(
        on("--data-checksums") && (!on("none") || records[0]["server_version"].as_str() >= Some("18")),
        "{records:?}"
    );
    // This data has no account postgres, and waiting does not change that.
    let began = std::time::Instant::now();
    let words = ["run", &study, "--out", "other", "--set", "engine.init_options=--username=other"];
    let (_, err) = world.exits(3, &[&words, &small[..]].concat());
    assert!(err.contains("role \"postgres\" does not exist") && began.elapsed().as_secs() < 200, "{err}");
    let words = ["run", &study, "--dry-run", "--engine", "sqlite", "--set", "engine.init_options=--x"];
    let (_, err) = world.exits(3, &words);
    assert!(err.contains("init_options = --x: sqlite has no program that creates its data directory"), "{err}");
}
