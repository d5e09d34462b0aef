//! `tare topo --measure` as a user types it.

use crate::support::{World, json};

#[test]
fn distances_come_as_json_and_as_heat_maps() {
    let world = World::new();
    let (out, err) = world.exits(0, &["topo", "--measure", "--limit-s", "5", "--html", "heat.html", "--json"]);
    let document = json(&out);
    let measured = &document["measured"];
    let cpus = measured["cpus"].as_array().unwrap().len();
    assert_eq!(measured["line_ns"].as_array().unwrap().len(), cpus, "{err}");
    assert_eq!(measured["latency_ns"].as_array().unwrap().len(), measured["from_nodes"].as_array().unwrap().len());
    assert!(measured["costs"]["sentences"].is_array());
    assert!(document["nodes"].is_array(), "what topo says without --measure is still there");

    let page = std::fs::read_to_string(world.path("heat.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 3);
    assert_eq!(page.matches("<script").count(), 1, "our own, in the page itself");
    for outside in ["http://", "https://", "src="] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn only_the_machine_at_hand_is_measured() {
    let world = World::new();
    let (_, err) = world.exits(2, &["topo", "--measure", "--topology", "node:2 core:2 pu:1"]);
    assert!(err.contains("--topology"), "{err}");
    let (_, err) = world.exits(2, &["topo", "--html", "heat.html"]);
    assert!(err.contains("--measure"), "{err}");
    let (_, err) = world.exits(3, &["topo", "--measure", "--limit-s", "1", "--html", "no/such/directory/heat.html"]);
    assert!(err.contains("cannot write the heat maps"), "{err}");
    let (out, _) = world.exits(0, &["topo", "--json"]);
    assert!(json(&out).get("measured").is_none());
}
