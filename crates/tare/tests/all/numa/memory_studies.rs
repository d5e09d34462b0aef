//! The studies of near and far memory, in machines that other tests boot: every pair of nodes, and huge pages.

use serde_json::{Value, json};

use crate::numa::judge::{cpus, kept_to, only_on, trials};
use crate::numa::machine::Evidence;
use crate::support::verified;

const NODES: u64 = 4;
/// The part of the study that runs: clients on two nodes, the server on one of them and on another, memory on two.
const CLIENTS: [u64; 2] = [0, 3];
const SERVERS: [u64; 2] = [1, 3];
const MEMORIES: [u64; 2] = [0, 1];

/// These places: client, server and memory.
fn places() -> impl Iterator<Item = [u64; 3]> {
    let of_client =
        |client| SERVERS.into_iter().flat_map(move |server| MEMORIES.map(|memory| [client, server, memory]));
    CLIENTS.into_iter().flat_map(of_client)
}

/// Four nodes of two CPUs: clients on the first CPU of a node, the server on the second of any node, memory on any.
pub fn matrix(evidence: &Evidence) {
    let plan: Value = serde_json::from_str(&evidence.step("matrix-plan", 0)).unwrap();
    let planned = plan["conditions"].as_array().unwrap();
    assert_eq!(planned.len() as u64, NODES.pow(3));
    for place in (0..NODES.pow(3)).map(|i| [i / 16, i / 4 % 4, i % 4]) {
        let [client, server, memory] = place;
        let found = planned.iter().find(|found| is_of(found, place)).unwrap_or_else(|| panic!("{place:?}: {plan}"));
        let placement = &found["placement"];
        assert_eq!(placement["client"], json!([[2 * client]]), "{found}");
        assert_eq!(placement["server"], json!([[2 * server + 1]]), "{found}");
        assert_eq!(placement["memory"], format!("bind:{memory}"), "{found}");
    }
    evidence.step("matrix", 0);
    let trials = trials(&evidence.path("matrix"));
    assert_eq!(trials.len(), places().count());
    for place in places() {
        let [client, server, memory] = place;
        let trial = trials.iter().find(|trial| is_of(trial, place)).unwrap_or_else(|| panic!("no trial of {place:?}"));
        kept_to(trial, "client", &[2 * client].into(), 2);
        kept_to(trial, "server", &[2 * server + 1].into(), 2);
        only_on(trial, &[memory], 0.01);
    }
    costs(evidence);
    away(evidence);
}

/// Between memory on the server's node and on another one, the difference is work away from memory, on the second side
/// only. How much time that takes means nothing in emulation.
fn away(evidence: &Evidence) {
    let why: Value = serde_json::from_str(&evidence.step("matrix-why", 0)).unwrap();
    let [near, far] = [0, 1].map(|side: usize| why["sides"][side]["away_from_memory"].as_f64().unwrap());
    eprintln!("away from memory: {near} near, {far} far");
    assert!(near < 0.01 && far > 0.99, "{near}, {far}: {why}");
    let us = |of: &Value, name: &str| part(of, name)["us"].as_f64().unwrap();
    let user = "server_user";
    let [near, far] = [0, 1].map(|side: usize| us(&why["sides"][side], user));
    let difference = us(&why["difference"], user);
    assert!((far - near - difference).abs() <= 1e-6 * near.max(far), "{near}, {far}: {difference}");
}

fn part<'a>(of: &'a Value, name: &str) -> &'a Value {
    let parts = of["parts"].as_array().unwrap();
    parts.iter().find(|part| part["name"] == name).unwrap_or_else(|| panic!("no {name}: {of}"))
}

/// Whether a condition or a trial has its clients, server and memory on these nodes.
fn is_of(found: &Value, [client, server, memory]: [u64; 3]) -> bool {
    let levels = &found["levels"];
    levels["client"] == format!("node:{client}.core:0")
        && levels["server"] == format!("node:{server}.core:1")
        && levels["memory"] == format!("bind:{memory}")
}

/// The line through these conditions by the machine's own distances. Values mean nothing in emulation.
fn costs(evidence: &Evidence) {
    let shown: Value = serde_json::from_str(&evidence.step("matrix-show", 0)).unwrap();
    let measured: Value = serde_json::from_str(&evidence.step("measure", 0)).unwrap();
    let [cost] = shown["distance"].as_array().unwrap().as_slice() else { panic!("{}", shown["distance"]) };
    assert!(cost["line"]["change"].is_number() && cost["memory"]["ci_low"].is_number(), "{cost}");
    let points = cost["points"].as_array().unwrap();
    assert_eq!(points.len(), places().count(), "{cost}");
    for point in points {
        let condition = point["condition"].as_str().unwrap();
        let name = |[client, server, memory]: [u64; 3]| {
            format!("client=node:{client}.core:0 server=node:{server}.core:1 memory=bind:{memory}")
        };
        let [client, server, memory] = places().find(|place| condition == name(*place)).unwrap();
        assert_eq!(&point["line_ns"], distance(&measured, "line_ns", 2 * client, 2 * server + 1), "{point}");
        assert_eq!(&point["memory_ns"], distance(&measured, "latency_ns", server, memory), "{point}");
    }
    evidence.step("matrix-report", 0);
    maps(&evidence.text("matrix/report.html"), &measured);
}

fn distance<'m>(measured: &'m Value, table: &str, from: u64, to: u64) -> &'m Value {
    &measured["measured"][table][from as usize][to as usize]
}

/// Heat maps of the places that ran: both distances with the machine's own figures, and the metric for each memory.
fn maps(page: &str, measured: &Value) {
    let (_, section) = page.split_once("<section id=\"distance\"").expect("the costs of distance");
    let section = section.split("</section>").next().unwrap();
    let map = |title: &str| {
        let found = section.split("<figure>").find(|map| map.contains(&format!("<figcaption>{title}</figcaption>")));
        found.unwrap_or_else(|| panic!("no map {title:?}: {section}"))
    };
    let ns = |table: &str, from: u64, to: u64| distance(measured, table, from, to).as_f64().unwrap();
    let [lines, loads] = ["a cache line there and back, ns", "a load from the server to its memory, ns"].map(map);
    for [client, server, memory] in places() {
        let at = format!("node:{client}.core:0, node:{server}.core:1: ");
        let line_ns = ns("line_ns", 2 * client, 2 * server + 1);
        assert!(lines.contains(&format!("{at}{line_ns:.0}<")), "{at}{line_ns}: {lines}");
        let at = format!("bind:{memory}, node:{server}.core:1: ");
        let load_ns = ns("latency_ns", server, memory);
        assert!(loads.contains(&format!("{at}{load_ns:.0}<")), "{at}{load_ns}: {loads}");
    }
    for memory in MEMORIES {
        let of_metric = map(&format!("tps, memory=bind:{memory}"));
        assert!(of_metric.matches("%<").count() >= CLIENTS.len() * SERVERS.len(), "{of_metric}");
    }
}

/// Memory on the node that is not the server's, in huge pages and in small ones; the other tests have local memory.
pub fn huge_or_near(evidence: &Evidence, cpus_of_node_0: &str) {
    evidence.step("huge", 0);
    let trials = trials(&evidence.path("huge"));
    assert_eq!(trials.len(), 2);
    for thp in ["always", "never"] {
        let is_it = |trial: &&Value| trial["levels"] == json!({"memory": "bind:1", "thp": thp});
        let trial = trials.iter().find(is_it).unwrap_or_else(|| panic!("no trial of {thp}"));
        kept_to(trial, "server", &cpus(cpus_of_node_0), 4);
        only_on(trial, &[1], 0.01);
        assert_eq!(verified(trial, "thp"), format!("reads back {thp}"));
        let huge = trial["samples"][0]["covariates"]["server_transparent_huge_bytes"].as_f64().unwrap();
        eprintln!("huge pages {thp}: {huge} bytes in them");
        assert_eq!(huge > 0.0, thp == "always", "{thp}: {huge}");
    }
    assert!(evidence.text("huge-after").contains("[never]"), "{}", evidence.text("huge-after"));
}
