//! Placements on a number of nodes or last-level caches, which clients and server share.

use crate::common::{ARTICLE_A, lopsided, set, synthetic};
use tare_topology::{ClientPus, Machine, MemoryPolicy, Placement, Side};

/// `nodes` on a machine: client, server and memory of the explicit placement, and the CPUs of both sides.
fn nodes(machine: &Machine, nodes: u32, clients: Option<u32>) -> Result<[String; 5], String> {
    let requested = Placement { nodes: Some(nodes), client_pus_per_node: clients, ..Placement::default() };
    let explicit = requested.explicit(machine).map_err(|e| e.reason)?;
    let resolved = requested.resolve(machine, 64).map_err(|e| e.reason)?;
    assert_eq!(explicit.resolve(machine, 64).unwrap(), resolved);
    let (client, server) = (explicit.client.to_string(), explicit.server.to_string());
    Ok([client, server, explicit.memory.to_string(), resolved.client[0].to_string(), resolved.server[0].to_string()])
}

#[test]
fn the_first_nodes_are_shared_as_stated() {
    // The machine of "1.6 million QPS with MDB-10.6" (https://mysqlonarm.github.io/1.6mqps-with-mdb106/).
    let machine = synthetic("node:4 core:32 pu:1");
    for (count, expected) in [
        (1, ["node:0.pu:28-31", "node:0.pu:0-27", "interleave:0", "28-31", "0-27"]),
        (2, ["node:0-1.pu:28-31", "node:0-1.pu:0-27", "interleave:0-1", "28-31,60-63", "0-27,32-59"]),
        (
            4,
            [
                "node:0-3.pu:28-31",
                "node:0-3.pu:0-27",
                "interleave:0-3",
                "28-31,60-63,92-95,124-127",
                "0-27,32-59,64-91,96-123",
            ],
        ),
    ] {
        assert_eq!(nodes(&machine, count, Some(4)).unwrap(), expected);
    }
    let shared = nodes(&machine, 2, None).unwrap();
    assert_eq!(shared, ["node:0-1.pu:0-31", "node:0-1.pu:0-31", "interleave:0-1", "0-63", "0-63"]);
    // Whole cores, if they have two hardware threads.
    let article_a = nodes(&synthetic(ARTICLE_A), 2, Some(2)).unwrap();
    assert_eq!(article_a[3..], ["10-11,22-23", "0-9,12-21"]);
}

#[test]
fn nodes_that_cannot_be_shared_have_their_reason() {
    let machine = synthetic("node:2 core:2 pu:1");
    assert_eq!(
        nodes(&machine, 4, Some(1)).unwrap_err(),
        "4 nodes are requested, and this machine has 2 NUMA nodes with CPUs and memory"
    );
    assert_eq!(
        nodes(&machine, 1, Some(2)).unwrap_err(),
        "node:0 has 2 PUs: 2 for the clients leave none for the server"
    );
    let twice = Placement { nodes: Some(1), client: Side::At("all".parse().unwrap()), ..Placement::default() };
    assert_eq!(
        twice.resolve(&machine, 1).unwrap_err().reason,
        "nodes sets where both client and server run: leave out client and server"
    );
    let alone = Placement { client_pus_per_node: Some(1), ..Placement::default() };
    let reason = alone.resolve(&machine, 1).unwrap_err().reason;
    assert_eq!(reason, "client_pus_per_node has no effect without nodes or caches");
}

/// `caches` on a machine: client, server and memory of the explicit placement, and the CPUs of both sides.
fn caches(machine: &Machine, caches: u32, clients: Option<u32>) -> Result<[String; 5], String> {
    let requested = Placement { caches: Some(caches), client_pus_per_node: clients, ..Placement::default() };
    let spelt = requested.explicit(machine).map_err(|e| e.reason)?;
    let resolved = requested.resolve(machine, 2).map_err(|e| e.reason)?;
    let cpus = [&resolved.client, &resolved.server].map(|sets| sets.first().map(ToString::to_string));
    let [client, server] = cpus.map(Option::unwrap_or_default);
    Ok([spelt.client.to_string(), spelt.server.to_string(), spelt.memory.to_string(), client, server])
}

#[test]
fn last_level_caches_are_steps_finer_than_nodes() {
    // Two nodes with two caches of four cores each, as on a processor with chiplets.
    let machine = synthetic("node:2 l3:2 core:4 pu:1");
    for (count, expected) in [
        (1, ["l3:0.pu:3", "l3:0.pu:0-2", "interleave:0", "3", "0-2"]),
        (2, ["l3:0-1.pu:3", "l3:0-1.pu:0-2", "interleave:0", "3,7", "0-2,4-6"]),
        (3, ["l3:0-2.pu:3", "l3:0-2.pu:0-2", "interleave:0-1", "3,7,11", "0-2,4-6,8-10"]),
    ] {
        assert_eq!(caches(&machine, count, Some(1)).unwrap(), expected);
    }
    let shared = caches(&machine, 4, None).unwrap();
    assert_eq!(shared[2..], ["interleave:0-1", "0-15", "0-15"]);
}

#[test]
fn caches_that_cannot_be_had_have_their_reason() {
    let machine = synthetic("node:2 l3:2 core:4 pu:1");
    let five = caches(&machine, 5, None).unwrap_err();
    assert_eq!(
        five,
        "5 last-level caches are requested, and this machine has 4 that cores share on a node with memory"
    );
    // A level 2 cache of a single core does not count.
    assert!(caches(&synthetic("node:2 l2:4 pu:1"), 1, None).unwrap_err().contains("has none that cores share"));
    assert!(caches(&synthetic("node:2 core:4 pu:1"), 1, None).unwrap_err().contains("has none"));
    assert!(caches(&machine, 1, Some(4)).unwrap_err().starts_with("l3:0 has 4 PUs"));
    let both = Placement { nodes: Some(1), caches: Some(1), ..Placement::default() };
    assert!(both.resolve(&machine, 1).unwrap_err().reason.contains("leave out one of them"));
}

#[test]
fn nodes_of_different_sizes_and_without_memory_or_cpus() {
    // Nodes 0-1 and 3 have memory, node 2 has none.
    let machine = lopsided();
    let ladder = [1, 2, 3].map(|count| nodes(&machine, count, Some(1)).map(|spelt| spelt.join(" ")));
    assert_eq!(ladder[0].as_deref(), Ok("node:0.pu:3 node:0.pu:0-2 interleave:0 7 0-1,6"));
    assert_eq!(
        ladder[1].as_deref(),
        Ok("node:0.pu:3+node:1.pu:2 node:0.pu:0-2+node:1.pu:0-1 interleave:0-1 4,7 0-3,6")
    );
    let third = ladder[2].as_ref().unwrap_err();
    assert_eq!(third, "3 nodes are requested, and this machine has 2 NUMA nodes with CPUs and memory");
    let kept = Placement { nodes: Some(1), memory: "local".parse().unwrap(), ..Placement::default() };
    assert_eq!(kept.resolve(&machine, 1).unwrap().memory, MemoryPolicy::Local);
}

#[test]
fn a_ladder_climbs_chosen_nodes_in_a_chosen_order() {
    let machine = synthetic("node:4 core:2 pu:1");
    let on = |nodes, order: &[u32]| {
        let requested = Placement { nodes: Some(nodes), node_order: order.to_vec(), ..Placement::default() };
        let resolved = requested.resolve(&machine, 2).map_err(|e| e.reason)?;
        Ok((resolved.server[0].to_string(), resolved.memory.to_string()))
    };
    let found = |cpus: &str, memory: &str| Ok((cpus.to_owned(), memory.to_owned()));
    assert_eq!(on(1, &[2, 0]), found("4-5", "interleave:2"));
    assert_eq!(on(2, &[2, 0]), found("0-1,4-5", "interleave:0,2"));
    assert_eq!(on(2, &[]), found("0-3", "interleave:0-1"));
    for (nodes, order, reason) in [
        (2, &[3][..], "2 nodes are requested, and node_order names 1"),
        (2, &[0, 4], "node:4 of node_order is not one of this machine's nodes"),
        (2, &[1, 1], "node:1 of node_order is not one of this machine's nodes with CPUs and memory, or is named twice"),
    ] {
        let why: Result<(String, String), String> = on(nodes, order);
        assert!(why.clone().unwrap_err().contains(reason), "{why:?}");
    }
    let alone = Placement { node_order: vec![0], ..Placement::default() };
    assert_eq!(alone.resolve(&machine, 1).unwrap_err().reason, "node_order has no effect without nodes");
}

#[test]
fn the_first_pus_of_each_node_can_be_the_clients_too() {
    let placement = Placement {
        nodes: Some(2),
        client_pus_per_node: Some(4),
        client_pus: ClientPus::First,
        ..Placement::default()
    };
    let resolved = placement.resolve(&synthetic("node:4 core:32 pu:1"), 8).unwrap();
    assert_eq!((&resolved.client, &resolved.server), (&vec![set("0-3,32-35")], &vec![set("4-31,36-63")]));
}
