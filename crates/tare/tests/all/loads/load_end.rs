//! How `tare load` ends: the measured figures, also after an early end, and a search for the highest rate.

use crate::engines::running_support::Theirs;
use crate::support::{Hog, World, json, send, server_beside, text};
use rustix::process::Signal;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use tare_engine::{Mariadb, Postgresql, Server, Sqlite};

/// A world with a server and its tables.
fn prepared() -> (World, Box<dyn Server>, String) {
    let world = World::new();
    let server = server_beside(&world, &Sqlite);
    let socket = server.address().to_string();
    let (out, err) = world.exits(0, &load(&socket, &["--prepare", "--json"]));
    let made = json(&out);
    assert_eq!((&made["schema"], &made["done"]), (&"tare-load-tables".into(), &"prepared".into()), "{made}");
    assert!(made["rows"].as_u64().is_some_and(|rows| rows > 0), "{made}");
    assert!(err.contains("1 table, 500 rows in "), "{err}");
    (world, server, socket)
}

fn load<'a>(socket: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["load", "point_select", "--engine", "sqlite", "--rows", "500", "--socket", socket][..], more].concat()
}

#[test]
fn the_load_summary_names_the_server_the_transport_and_the_workload() {
    let theirs = Theirs::new(&Mariadb);
    let args = theirs.load(&["--time", "200ms", "--warmup", "0", "--threads", "2"]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (out, _) = theirs.world.exits(0, &args);
    let version = theirs.server.version();
    let address = theirs.server.address();
    assert!(out.contains(&format!("server        MariaDB {version}, Unix socket {address}, not encrypted\n")), "{out}");
    assert!(out.contains("load          point_select, 2 client threads\n"), "{out}");
    let (out, _) = theirs.world.exits(0, &[&args[..], &["--json"]].concat());
    let measured = &json(&out)["measured"];
    assert_eq!(measured["version"], version, "{measured}");
    assert_eq!((&measured["transport"], &measured["workload"]), (&"socket".into(), &"point_select".into()));
    assert!(measured["encryption"].is_null() && measured["client_threads"] == 2, "{measured}");
}

/// The statement fails with any other character set, because its subquery has two rows.
#[test]
fn a_load_connects_with_the_requested_character_set() {
    let theirs = Theirs::new(&Mariadb);
    let is_latin1 = "SELECT IF(@@character_set_client = 'latin1', 1, (SELECT 1 UNION SELECT 2));\n";
    std::fs::write(theirs.world.path("own.sql"), is_latin1).unwrap();
    let socket = theirs.server.address().to_string();
    for (charset, code) in [("latin1", 0), ("utf8mb4", 4)] {
        let load = ["load", "own.sql", "--socket", &socket, "--time", "200ms", "--warmup", "0", "--charset", charset];
        theirs.world.exits(code, &load);
    }
}

/// Sends SIGINT after the load has printed the given line.
fn interrupted_after(mut load: Child, printed: &std::path::Path, line: &str) -> (i32, String) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !std::fs::read_to_string(printed).unwrap_or_default().contains(line) {
        assert!(Instant::now() < deadline && load.try_wait().unwrap().is_none(), "it never said {line}");
        std::thread::sleep(Duration::from_millis(20));
    }
    send(load.id(), Signal::INT);
    let begun = Instant::now();
    let output = load.wait_with_output().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(5), "it ends soon");
    (output.status.code().unwrap(), text(&output.stdout))
}

#[test]
fn ctrl_c_ends_a_load_with_the_figures_so_far_but_without_any_in_the_warm_up() {
    let (world, server, socket) = prepared();
    let tpcc = ["load", "tpcc", "--engine", "sqlite", "--scale", "0.01", "--socket", &socket];
    world.exits(0, &[&tpcc[..], &["prepare"]].concat());
    for (load, warmup, figures) in
        [(load(&socket, &[]), "0", true), (load(&socket, &[]), "60s", false), (tpcc.to_vec(), "0", true)]
    {
        let printed = world.path("said");
        let args = [&load[..], &["--time", "60s", "--warmup", warmup, "--threads", "2"]].concat();
        let mut command = world.tare(&args);
        command.stdout(Stdio::piped()).stderr(std::fs::File::create(&printed).unwrap());
        let (code, out) = interrupted_after(command.spawn().unwrap(), &printed, "[ 1s ]");
        assert_eq!(code, 130, "{out}");
        assert_eq!(out.contains("transactions ") && out.contains("latency ms "), figures, "{out}");
        if figures {
            let time = out.lines().find_map(|line| line.strip_prefix("time ")).unwrap();
            let seconds: f64 = time.split_whitespace().next().unwrap().parse().unwrap();
            assert!((1.0..4.0).contains(&seconds), "{out}");
            let note = std::fs::read_to_string(&printed).unwrap();
            assert!(note.contains("interrupted: the figures are for "), "{note}");
        }
    }
    assert!(server.connect().is_ok());
}

#[test]
fn one_command_finds_the_highest_rate_under_a_latency_limit() {
    let (world, _server, socket) = prepared();
    let short = ["--slo", "p99 <= 50ms", "--time", "300ms", "--warmup", "0", "--report-interval", "0"];
    let (out, _) = world.exits(0, &load(&socket, &short));
    assert!(out.contains("per second with latency_ms_p99 <= 50 (") && out.contains("met\n"), "{out}");
    let (out, _) = world.exits(0, &load(&socket, &[&short[..], &["--json"]].concat()));
    let document = json(&out);
    assert_eq!((&document["schema"], &document["version"]), (&"tare-load-search".into(), &1.into()), "{document}");
    assert!(document["found_tps"].as_f64().unwrap() > 0.0, "{document}");
    assert!(document["steps"].as_array().unwrap().len() > 1 && document["measured"]["engine"] == "sqlite");
    let (_, err) = world.exits(2, &load(&socket, &["--slo", "p98 <= 5ms"]));
    assert!(err.contains("p98 <= 5ms") && err.contains("latency_ms_p99_9"), "{err}");
    let (_, err) = world.exits(2, &load(&socket, &["--slo", "p99 <= 5ms", "--rate", "5"]));
    assert!(err.contains("--rate") && err.contains("cannot be used with"), "{err}");
}

#[test]
fn pgbench_scripts_run_by_weight_and_unusable_ones_are_refused_with_the_reason() {
    let theirs = Theirs::new(&Postgresql);
    let (world, socket) = (&theirs.world, theirs.server.address().to_string());
    let write = |name: &str, text: &str| std::fs::write(world.path(name), text).unwrap();
    write("look.sql", "\\set id random(1, 100 * :scale)\nSELECT c FROM sbtest1 WHERE id = :id;\n");
    write(
        "change.sql",
        "\\set id random(1, 500)\nBEGIN;\nSELECT k FROM sbtest1\n WHERE id = :id;\n\
         UPDATE sbtest1 SET k = k + 1 WHERE id = :id;\nEND;\n",
    );
    let way = ["--engine", "postgres", "--socket", &socket, "--time", "1s", "--warmup", "0", "--threads", "2"];
    std::fs::copy(world.path("change.sql"), world.path("change.pgbench")).unwrap();
    let (out, _) = world.exits(0, &[&["load", "change.pgbench"][..], &way].concat());
    assert!(out.contains("load          sql (change.pgbench), 2 client threads\n"), "{out}");
    let column = |row: &str, place: usize| -> f64 {
        let line = out.lines().find_map(|line| line.trim_start().strip_prefix(row)).expect(&out);
        line.split_whitespace().nth(place).expect(&out).parse().unwrap()
    };
    let hog = Hog::new();
    let (_, err) = world.exits(0, &[&["load", "change.pgbench"][..], &way].concat());
    assert!(err.contains("this measurement was disturbed: ") && err.contains("other processes took"), "{err}");
    drop(hog);
    // Each statement runs once in a transaction; with BEGIN and COMMIT they are its whole latency.
    let rest = out.lines().find(|line| line.trim_start().starts_with("rest")).expect(&out);
    let rest: f64 = rest.split_whitespace().last().expect(&out).parse().unwrap();
    let in_all = column("change_1", 1) + column("change_2", 1) + rest;
    let mean = column("latency ms", 3);
    assert!(column("change_2", 0) > 0.0 && (in_all / mean - 1.0).abs() < 0.05, "{out}");
    // A parameter has the same value in all scripts.
    let both = ["load", "-f", "look.sql@3", "-f", "change.sql", "-D", "scale=5", "--json"];
    let (out, _) = world.exits(0, &[&both[..], &way].concat());
    let document = json(&out);
    assert_eq!((&document["schema"], &document["version"]), (&"tare-load-sql".into(), &1.into()));
    let ran = |name: &str| document["covariates"][format!("statement_executions_{name}")].as_f64().unwrap();
    let ratio = ran("look_1") / ran("change_1");
    assert!((2.4..3.7).contains(&ratio), "{ratio}");
    assert!((ran("change_1") / ran("change_2") - 1.0).abs() < 0.1, "{document}");
    let measured = &document["measured"];
    assert!(measured["version"].as_str().unwrap().starts_with("PostgreSQL"), "{document}");
    assert_eq!(measured["files"], serde_json::json!(["look.sql@3", "change.sql"]));
    let (_, err) = world.exits(2, &[&["load", "-f", "look.sql", "-f", "change.sql"][..], &way].concat());
    assert!(err.contains("where: look.sql:1\n") && err.contains("-D scale=N"), "{err}");
    let (_, err) = world.exits(2, &[&["load", "none.sql"][..], &way].concat());
    assert!(err.contains("cannot read the statements") && err.contains("none.sql"), "{err}");
    let (_, err) = world.exits(2, &[&["load", "look.sql", "--rows", "5"][..], &way].concat());
    assert!(err.contains("have no effect on a file of statements"), "{err}");
}
