//! Servers reached like by their own clients, and connection errors that are the same for every command.

use crate::engines::running_support::Theirs;
use crate::support::{World, json, text};
use std::os::unix::net::UnixListener;
use std::path::Path;
use tare_engine::{Address, Mariadb, Postgresql};

fn socket(theirs: &Theirs) -> &Path {
    match theirs.server.address() {
        Address::Socket(path) => path,
        Address::Tcp(..) => panic!("a Unix socket"),
    }
}

#[test]
fn postgresql_is_found_by_folder_and_port_and_by_the_variables_of_libpq() {
    let theirs = Theirs::new(&Postgresql);
    let socket = socket(&theirs);
    let folder = socket.parent().unwrap().to_str().unwrap();
    let port = socket.file_name().unwrap().to_str().unwrap().strip_prefix(".s.PGSQL.").unwrap();
    let words = ["load", "point_select", "--rows", "500", "--time", "200ms", "--warmup", "0", "--json"];
    let by = |engine: &str, more: &[&str], variables: &[(&str, &str)]| {
        let all = [&words[..], &["--engine", engine], more].concat();
        let out = theirs.world.tare(&all).envs(variables.iter().copied()).output().unwrap();
        assert!(out.status.success(), "{more:?} {variables:?}: {}", text(&out.stderr));
        assert!(json(&text(&out.stdout))["tps"].as_f64().unwrap() > 0.0);
    };
    by("postgres", &["--socket", folder, "--port", port], &[]);
    by("postgresql", &["--host", folder, "--port", port], &[]);
    by("postgres", &[], &[("PGHOST", folder), ("PGPORT", port), ("PGUSER", "postgres"), ("PGDATABASE", "sbtest")]);
    by("postgres", &["--port", port], &[("PGHOST", folder), ("PGPORT", "1")]);
    // A study that was made from these options contains address and user, and needs no variables.
    let all = [&words[..8], &["--engine", "postgres", "--out", "kept"]].concat();
    let variables = [("PGHOST", folder), ("PGPORT", port)];
    assert!(theirs.world.tare(&all).envs(variables).output().unwrap().status.success());
    let study = std::fs::read_to_string(theirs.world.path("kept/study.toml")).unwrap();
    assert!(study.contains(socket.to_str().unwrap()) && study.contains("name = \"postgresql\""), "{study}");
    let study = theirs.study("");
    let named = std::fs::read_to_string(&study).unwrap().replace("name = \"postgresql\"", "name = \"postgres\"");
    let by_folder =
        named.replace(socket.to_str().unwrap(), folder).replace("[workload]", &format!("port = {port}\n[workload]"));
    let study = theirs.world.study(&by_folder);
    theirs.world.exits(0, &["run", &study, "--out", "by-folder"]);
}

#[test]
fn every_command_reports_a_refused_account_and_a_missing_socket_alike() {
    let theirs = Theirs::new(&Mariadb);
    let socket = socket(&theirs).to_str().unwrap();
    let study = theirs.study("");
    let refused = ["--user", "stranger"];
    let prepare = theirs.load(&[&refused[..], &["--prepare"]].concat());
    let drop = theirs.load(&[&refused[..], &["--cleanup"]].concat());
    let measure = theirs.load(&refused);
    let tpcc = ["load", "tpcc", "--engine", "mariadb", "--socket", socket, "--user", "stranger"].map(str::to_owned);
    let run = ["run", &study, "--set", "engine.user=stranger", "--out", "refused"].map(str::to_owned);
    for words in [&prepare[..], &drop, &measure, &tpcc, &run] {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (_, err) = theirs.world.exits(3, &words);
        assert!(err.contains("Access denied") && err.contains("TARE_PASSWORD"), "{words:?}: {err}");
        assert!(!err.contains("cannot prepare") && !err.contains("no server listens"), "{words:?}: {err}");
    }
    let mut owner = theirs.server.connect().unwrap();
    owner.run("CREATE USER 'reader'@'localhost'").unwrap();
    owner.run("GRANT SELECT ON sbtest.* TO 'reader'@'localhost'").unwrap();
    std::fs::write(theirs.world.path("own.sql"), "DELETE FROM sbtest1 WHERE id = 0").unwrap();
    let own = ["load", "own.sql", "--engine", "mariadb", "--socket", socket, "--user", "reader"];
    let (_, err) = theirs.world.exits(4, &own);
    assert!(err.contains("command denied") && err.contains("do now: grant the account the right"), "{err}");
    let no_database = theirs.load(&["--database", "nothing"]);
    let (_, err) = theirs.world.exits(3, &no_database.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(err.contains("Unknown database") && err.contains("do now: create it"), "{err}");
    let nowhere = theirs.world.path("nothing.sock");
    let left = theirs.world.path("left.sock");
    drop_listener(&left);
    let file = theirs.world.path("file");
    std::fs::write(&file, "").unwrap();
    for (place, reason) in
        [(&nowhere, "the socket does not exist"), (&left, "left behind by a server"), (&file, "this is not a socket")]
    {
        let place = place.to_str().unwrap();
        let set = format!("engine.socket={place}");
        for words in [
            &["load", "point_select", "--socket", place][..],
            &["load", "point_select", "--socket", place, "--prepare"],
            &["load", "tpcc", "--socket", place],
            &["run", &study, "--set", &set, "--out", "missing"],
        ] {
            let (_, err) = theirs.world.exits(3, words);
            assert!(
                err.contains(&format!("no server listens at {place}: ")) && err.contains(reason),
                "{words:?}: {err}"
            );
            assert!(err.contains("do now: start the server") && !err.contains("cannot prepare"), "{words:?}: {err}");
            let _ = std::fs::remove_dir_all(theirs.world.path("missing"));
        }
    }
}

#[test]
fn without_an_address_the_default_sockets_are_tried_and_reported() {
    let world = World::new();
    let (_, err) = world.exits(3, &["load", "point_select", "--engine", "postgres", "--port", "5999"]);
    assert!(err.contains("/var/run/postgresql/.s.PGSQL.5999") && err.contains("PGHOST"), "{err}");
}

/// Creates a socket whose process has ended without removing it.
fn drop_listener(path: &Path) {
    drop(UnixListener::bind(path).unwrap());
}
