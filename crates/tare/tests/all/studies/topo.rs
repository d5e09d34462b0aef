//! `tare topo --measure` as a user runs it.

use crate::support::{World, json};

#[test]
fn measured_distances_are_written_as_json_and_heat_maps() {
    let world = World::new();
    // If the name is a foreign link, the file that it points to is not changed.
    let name = "heat\u{1b}[31m.html";
    std::fs::write(world.path("victim"), "precious").unwrap();
    std::os::unix::fs::symlink(world.path("victim"), world.path(name)).unwrap();
    let (out, err) = world.exits(0, &["topo", "--measure", "--limit-s", "5", "--html", name, "--json"]);
    assert!(err.contains("heat\\u{1b}[31m.html") && !err.contains('\u{1b}'), "{err:?}");
    assert_eq!(std::fs::read_to_string(world.path("victim")).unwrap(), "precious");
    let document = json(&out);
    let measured = &document["measured"];
    let cpus = measured["cpus"].as_array().unwrap().len();
    assert_eq!(measured["line_ns"].as_array().unwrap().len(), cpus, "{err}");
    assert_eq!(measured["latency_ns"].as_array().unwrap().len(), measured["from_nodes"].as_array().unwrap().len());
    assert!(measured["costs"]["sentences"].is_array());
    assert!(document["nodes"].is_array(), "what topo says without --measure is still there");

    let page = std::fs::read_to_string(world.path(name)).unwrap();
    assert_eq!(page.matches("<svg").count(), 3);
    assert_eq!(page.matches("<script").count(), 1, "our own, in the page itself");
    for outside in ["http://", "https://", "src="] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn topo_measures_only_the_local_machine() {
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
