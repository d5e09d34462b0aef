//! `tare load --reconnect` with a real MariaDB that is killed and restarted under the load.

use crate::engines::support::{Place, copied};
use crate::support::{World, json, send, text, wait_until};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use tare_engine::{Address, DataDirectory, Engine, Mariadb, Server, StartRequest};

/// Starts a server on the data of the place; the server ends with this thread.
fn start(place: &Place, data: &Path) -> Box<dyn Server> {
    let data = DataDirectory::InPlace(data.to_owned());
    let request = StartRequest::new(data, place.path("run"), place.log("server.log"));
    Mariadb.start(&request).unwrap()
}

fn socket(server: &dyn Server) -> String {
    let Address::Socket(path) = server.address() else { panic!("a socket") };
    path.to_str().unwrap().to_owned()
}

/// A server with sysbench's tables, and the options to connect to it.
fn with_tables(world: &World, place: &Place) -> (Box<dyn Server>, Vec<String>) {
    let data = copied(&Mariadb, place, None, "data");
    let server = start(place, &data);
    let tables = ["--socket", &socket(server.as_ref()), "--user", "root", "--rows", "1000"].map(str::to_owned);
    let prepare =
        [["load", "read_write"].map(str::to_owned).to_vec(), tables.to_vec(), vec!["--prepare".into()]].concat();
    world.exits(0, &prepare.iter().map(String::as_str).collect::<Vec<_>>());
    (server, tables.to_vec())
}

fn load(world: &World, tables: &[String], more: &[&str]) -> Child {
    let mut tare = world.tare(&["load", "read_write", "--threads", "4", "--warmup", "0s"]);
    tare.args(tables).args(more).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn kill(server: &dyn Server) {
    assert!(send(server.pid(), rustix::process::Signal::KILL));
    crate::engines::support::wait_until_gone(server.pid());
}

#[test]
fn a_load_waits_for_a_restarted_server_and_its_figures_include_the_outage() {
    let (world, place) = (World::new(), Place::new());
    let (server, tables) = with_tables(&world, &place);
    let data = server.data().to_owned();
    let load = load(&world, &tables, &["--time", "6s", "--reconnect", "--json"]);
    std::thread::sleep(Duration::from_secs(2));
    kill(server.as_ref());
    drop(server);
    std::thread::sleep(Duration::from_secs(1));
    let _server = start(&place, &data);
    let output = load.wait_with_output().unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    let printed = json(&out);
    let outage = &printed["outage"];
    let lost = (outage["lost_transactions"].as_u64(), outage["reconnected"].as_u64());
    assert_eq!(lost, (Some(4), Some(4)), "{printed}");
    assert!(outage["without_server_s"].as_f64().unwrap() > 0.9 && outage["still_away"] == 0, "{printed}");
    assert!(printed["errors"].as_u64().unwrap() >= 4 && printed["transactions"].as_u64().unwrap() > 10, "{printed}");
    assert!(printed["latency_ms"]["max"].as_f64().unwrap() > 900.0, "the wait is in the latency: {printed}");
}

#[test]
fn a_load_fails_and_reports_the_outage_first_if_its_server_stays_away() {
    let (world, place) = (World::new(), Place::new());
    let (server, tables) = with_tables(&world, &place);
    let data = server.data().to_owned();
    // Without --reconnect the load ends at once.
    let (began, plain) = (Instant::now(), load(&world, &tables, &["--time", "30s"]));
    std::thread::sleep(Duration::from_secs(1));
    kill(server.as_ref());
    drop(server);
    let output = plain.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let err = text(&output.stderr);
    assert!(began.elapsed() < Duration::from_secs(20) && err.contains("closed the connection"), "{err}");
    assert!(err.contains("do now: read in the server's log why it ended; to continue") && err.contains("--reconnect"));
    // With --reconnect the load runs for the full time and prints its figures, but fails all the same.
    let mut server = start(&place, &data);
    let waiting = load(&world, &tables, &["--time", "4s", "--reconnect"]);
    std::thread::sleep(Duration::from_secs(2));
    kill(server.as_ref());
    wait_until("the end of its last thread", 10, || server.exit_status().is_some());
    assert_eq!(server.exit_status().as_deref(), Some("signal: 9 (SIGKILL)"));
    let output = waiting.wait_with_output().unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(4), "{out}{err}");
    // The outage comes first.
    assert!(out.starts_with("the server was unavailable for "), "{out}");
    assert!(out.contains("4 clients had none at the end") && err.contains("no connection at the end"), "{out}{err}");
}
