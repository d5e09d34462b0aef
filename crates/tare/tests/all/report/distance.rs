//! The cost of distance: every pair of four nodes, next to the machine's own distances.

use super::fake::{self, Fake};
use serde_json::{Value, json};
use std::fs;

const NODES: usize = 4;

/// Latency of a load from one node to another, ns; about the same for a cache line.
fn ns(from: usize, to: usize) -> f64 {
    [90.0, 140.0, 190.0, 230.0][from.abs_diff(to)]
}

/// The page of a study of all combinations of client, server and memory nodes.
pub fn page() -> String {
    let dir = tempfile::tempdir().unwrap();
    let places: Vec<[usize; 3]> = (0..NODES.pow(3)).map(|i| [i / 16, i / 4 % 4, i % 4]).collect();
    let name = |[client, server, memory]: &[usize; 3]| {
        format!("client=node:{client} server=node:{server} memory=bind:{memory}")
    };
    let tps = |[client, server, memory]: &[usize; 3]| {
        40_000.0 * (1.0 - 0.001 * ns(*client, *server) - 0.0005 * ns(*server, *memory))
    };
    let cpus = |[client, server, _]: &[usize; 3]| [2 * client, 2 * server + 1, 2 * client, 2 * server + 1];
    let conditions = places.iter().map(|place| Fake {
        name: name(place).leak(),
        tps: vec![tps(place)],
        between: 0.003,
        cpus: vec![cpus(place)],
    });
    let conditions = conditions.collect();
    let study = fake::Study { name: "node-matrix", conditions, trials: 2, samples: 1, bad: Vec::new(), missing: 0 };
    fake::write(&study, dir.path());
    let read = |file: &str| -> Value { serde_json::from_slice(&fs::read(dir.path().join(file)).unwrap()).unwrap() };
    let write = |file: &str, value: &Value| fs::write(dir.path().join(file), value.to_string()).unwrap();
    let mut plan = read("plan.json");
    for (condition, place) in plan["conditions"].as_array_mut().unwrap().iter_mut().zip(&places) {
        let [client, server, ..] = cpus(place);
        condition["placement"] =
            json!({"client": [[client]], "server": [[server]], "memory": format!("bind:{}", place[2])});
    }
    write("plan.json", &plan);
    let mut environment = read("environment.json");
    let machine = tare_topology::Machine::synthetic("package:4 [numa] core:2 pu:1").unwrap();
    environment["machine"] = serde_json::to_value(machine).unwrap();
    write("environment.json", &environment);
    let line = |from: usize, to: usize| (from != to).then(|| ns(from / 2, to / 2));
    let table = |size: usize, of: &dyn Fn(usize, usize) -> Option<f64>| -> Vec<Vec<Option<f64>>> {
        (0..size).map(|from| (0..size).map(|to| of(from, to)).collect()).collect()
    };
    let nodes: Vec<usize> = (0..NODES).collect();
    write(
        "distances.json",
        &json!({"measured": {
            "cpus": (0..2 * NODES).collect::<Vec<_>>(), "line_ns": table(2 * NODES, &line),
            "from_nodes": nodes, "to_nodes": nodes, "latency_ns": table(NODES, &|from, to| Some(ns(from, to))),
            "bandwidth_bytes_per_s": table(NODES, &|_, _| None), "readers": vec![1; NODES],
            "working_set_bytes": 1 << 26, "notes": [], "elapsed_s": 1.0
        }}),
    );
    fake::page(dir.path())
}

#[test]
fn distances_and_throughput_are_adjacent_heat_maps_with_one_scale() {
    let page = page();
    let section = page.split("<section id=\"distance\"").nth(1).unwrap().split("</section>").next().unwrap();
    let captions: Vec<&str> =
        section.split("<figcaption>").skip(1).map(|rest| rest.split('<').next().unwrap()).collect();
    let of = |memory: usize| format!("tps, memory=bind:{memory}");
    assert_eq!(captions[..2], ["a cache line there and back, ns", "a load from the server to its memory, ns"]);
    assert_eq!(captions[2..], [of(0), of(1), of(2), of(3)], "{captions:?}");
    let maps: Vec<&str> =
        section.split("<figure>").skip(1).map(|rest| rest.split("</figure>").next().unwrap()).collect();
    assert!(maps.iter().all(|map| map.matches("<rect").count() == 16), "16 cells each");
    assert!(maps[0].contains("node:0, node:3: 230") && maps[1].contains("<title>bind:3, node:0: 230"), "{section}");
    // One scale for all maps: the best placement is darkest and occurs once; that with the farthest memory is lighter.
    let darkest = |map: &str| map.matches("fill-opacity=\"0.62\"").count();
    let all: usize = maps[2..].iter().map(|map| darkest(map)).sum();
    assert_eq!((darkest(maps[0]), all), (2, 1), "{section}");
}
