//! Tests of placements: the vCPU numbers of the article "Benchmarking? Mind your core."
//! (<https://mysqlonarm.github.io/Benchmarking-Mind-Your-Core/>), every pairing on various machines, and pairings
//! compared with brute force.

use crate::common::{ARTICLE_A, hybrid, lopsided, set, synthetic};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tare_cpuset::CpuSet;
use tare_topology::{Bind, ClientPus, Location, Machine, MemoryPolicy, Pairing, Placement, ResolvedPlacement, Side};

fn placement(client: &str, server: &str, bind: Bind, pairing: Pairing) -> Placement {
    let (client, server) = (client.parse().unwrap(), server.parse().unwrap());
    Placement { client, server, bind, pairing, ..Placement::default() }
}

fn pairs(machine: &Machine, client: &str, server: &str, pairing: Pairing, threads: usize) -> Vec<(u32, u32)> {
    let resolved = placement(client, server, Bind::Thread, pairing).resolve(machine, threads).unwrap();
    let one = |set: &CpuSet| {
        assert_eq!(set.len(), 1);
        set.first().unwrap()
    };
    assert_eq!((resolved.client.len(), resolved.server.len()), (threads, threads));
    resolved.client.iter().map(one).zip(resolved.server.iter().map(one)).collect()
}

/// The article's table: each location in tare's notation, its vCPUs, and those of two threads bound one by one.
const CLIENTS: [(&str, &str, [u32; 2]); 6] = [
    ("node:0.core:0", "0,1", [0, 1]),
    ("node:0.core:0-1.pu:0", "0,2", [0, 2]),
    ("node:0.core:0.pu:0", "0", [0, 0]),
    ("node:1.core:0", "12,13", [12, 13]),
    ("node:1.core:0-1.pu:0", "12,14", [12, 14]),
    ("node:1.core:0.pu:0", "12", [12, 12]),
];
const SERVERS: [(&str, &str, [u32; 2]); 3] =
    [("node:0.core:2-5", "4-11", [4, 5]), ("node:0.core:2-3.pu:0", "4,6", [4, 6]), ("node:0.core:2", "4,5", [4, 5])];

#[test]
fn article_a_cells_have_its_vcpus() {
    let machine = synthetic(ARTICLE_A);
    for (client, client_cpus, clients) in CLIENTS {
        for (server, server_cpus, servers) in SERVERS {
            let shared = placement(client, server, Bind::Set, Pairing::None).resolve(&machine, 2).unwrap();
            assert_eq!((shared.client, shared.server), (vec![set(client_cpus)], vec![set(server_cpus)]));
            let expected = vec![(clients[0], servers[0]), (clients[1], servers[1])];
            assert_eq!(pairs(&machine, client, server, Pairing::None, 2), expected, "{client} x {server}");
        }
    }
}

#[test]
fn article_a_balanced_cases_have_its_vcpus() {
    let machine = synthetic(ARTICLE_A);
    let wide = placement("node:0-1.core:0", "node:0-1.core:1-", Bind::Set, Pairing::None).resolve(&machine, 4).unwrap();
    assert_eq!((wide.client, wide.server), (vec![set("0,1,12,13")], vec![set("2-11,14-23")]));
    let (client, server) = ("node:0-1.core:0.pu:0", "node:0-1.core:2.pu:0");
    // The article does not fix which client is served by which server thread.
    assert_eq!(pairs(&machine, client, server, Pairing::SameNode, 2), [(0, 4), (12, 16)]);
    assert_eq!(pairs(&machine, client, server, Pairing::OtherNode, 2), [(0, 16), (12, 4)]);
}

#[test]
fn every_pairing_spreads_its_pairs() {
    let machine = synthetic("package:2 node:1 l3:2 core:2 pu:2");
    for (pairing, expected) in [
        (Pairing::SamePu, [(0, 0), (1, 1), (2, 2)]),
        (Pairing::SmtSibling, [(0, 1), (2, 3), (4, 5)]),
        (Pairing::SameCore, [(0, 1), (2, 3), (4, 5)]),
        (Pairing::SameCache, [(0, 2), (1, 3), (4, 6)]),
        (Pairing::SameNode, [(0, 4), (1, 5), (2, 6)]),
        (Pairing::OtherNode, [(0, 8), (1, 9), (2, 10)]),
    ] {
        assert_eq!(pairs(&machine, "all", "all", pairing, 3), expected, "{pairing}");
        assert_eq!(pairs(&machine, "float", "float", pairing, 3), expected, "{pairing}, floating");
    }
}

#[test]
fn two_pus_hold_two_pairs_of_one_pu_each() {
    let machine = synthetic("core:2 pu:1");
    assert_eq!(pairs(&machine, "all", "all", Pairing::SamePu, 2), [(0, 0), (1, 1)]);
    assert_eq!(pairs(&machine, "all", "all", Pairing::SameCore, 2), [(0, 0), (1, 1)]);
}

#[test]
fn threads_beyond_the_pus_start_over() {
    let machine = synthetic("core:2 pu:1");
    assert_eq!(pairs(&machine, "all", "core:1", Pairing::None, 3), [(0, 1), (1, 1), (0, 1)]);
    let cpus = |bind: Bind, thread: usize| {
        let resolved = placement("all", "core:1", bind, Pairing::None).resolve(&machine, 3).unwrap();
        [resolved.client_cpus(thread), resolved.server_cpus(thread)].map(|found| found.map(CpuSet::to_string))
    };
    assert_eq!(cpus(Bind::Thread, 2), [Some("0".to_owned()), Some("1".to_owned())]);
    assert_eq!(cpus(Bind::Thread, 3), [None, None]);
    assert_eq!(cpus(Bind::Set, 3), [Some("0-1".to_owned()), Some("1".to_owned())]);
}

#[test]
fn floating_sides_are_empty() {
    let machine = synthetic(ARTICLE_A);
    for bind in [Bind::Set, Bind::Thread] {
        let resolved = placement("float", "cpus:4,6", bind, Pairing::None).resolve(&machine, 2).unwrap();
        assert!(resolved.client.is_empty());
        assert_eq!(resolved.server.len(), if bind == Bind::Set { 1 } else { 2 });
    }
}

#[test]
fn greedy_is_repaired_where_it_would_stack_threads() {
    // Three cores, three pairs: taking the lowest first leaves the two PUs of the last core, which cannot be paired.
    let machine = synthetic("l3:1 core:3 pu:2");
    assert_eq!(most_loaded(&pairs(&machine, "all", "all", Pairing::SameCache, 3)), 1);
    // The same with three large nodes.
    let machine = synthetic("node:3 core:32 pu:1");
    assert_eq!(most_loaded(&pairs(&machine, "all", "all", Pairing::OtherNode, 48)), 1);
}

#[test]
fn many_threads_on_a_big_machine_are_balanced() {
    let machine = synthetic("node:4 core:32 pu:1");
    assert_eq!(most_loaded(&pairs(&machine, "all", "all", Pairing::OtherNode, 1024)), 16);
    assert_eq!(most_loaded(&pairs(&machine, "node:0", "node:1-3", Pairing::OtherNode, 1024)), 32);
    // The greedy method and exchanges do not find this one; the search does.
    let machine = synthetic("node:3 core:2 pu:1");
    assert_eq!(most_loaded(&pairs(&machine, "cpus:0,5", "cpus:0,2,4", Pairing::OtherNode, 4)), 2);
    // One client PU with many server PUs and vice versa: the bound by counting is far too low.
    let machine = synthetic("l3:2 core:16 pu:1");
    assert_eq!(most_loaded(&pairs(&machine, "cpus:0,17-31", "cpus:1-16", Pairing::SameCache, 1024)), 512);
}

#[test]
fn a_pairing_that_cannot_be_has_its_reason() {
    let one_thread = synthetic("core:4 pu:1");
    let article_a = synthetic(ARTICLE_A);
    for (machine, client, server, bind, pairing, reason) in [
        (&one_thread, "all", "all", Bind::Thread, Pairing::SmtSibling, "no core here has a second hardware thread"),
        (&one_thread, "all", "all", Bind::Thread, Pairing::SameCache, "no two cores here share their last-level cache"),
        (&one_thread, "all", "all", Bind::Thread, Pairing::OtherNode, "there is no second NUMA node with CPUs here"),
        (
            &article_a,
            "node:0",
            "node:1",
            Bind::Thread,
            Pairing::SamePu,
            "no PU of server location node:1 is same-pu to a PU of client location node:0",
        ),
        (
            &article_a,
            "all",
            "all",
            Bind::Set,
            Pairing::SamePu,
            "pairing same-pu needs bind = \"thread\": threads that share a set have no PU of their own",
        ),
        (&article_a, "node:2", "all", Bind::Set, Pairing::None, "this machine has 2 NUMA nodes; node:2 does not exist"),
    ] {
        let e = placement(client, server, bind, pairing).resolve(machine, 2).unwrap_err();
        assert_eq!(e.reason, reason);
    }
    let e = placement("all", "all", Bind::Thread, Pairing::None).resolve(&one_thread, 0).unwrap_err();
    assert_eq!(e.reason, "a placement needs at least one thread");
}

#[test]
fn machines_say_which_pairings_they_have() {
    use Pairing::{OtherCache, OtherNode, SameCache, SameCore, SameNode, SamePu, SmtSibling};
    let distinct = |machine: &Machine| -> Vec<Pairing> {
        let choices = machine.pairings().into_iter();
        choices.filter(|c| c.missing.is_none() && c.same_as.is_none()).map(|c| c.pairing).collect()
    };
    assert_eq!(distinct(&synthetic("core:1 pu:1")), [SamePu]);
    assert_eq!(distinct(&synthetic("l3:1 core:2 pu:1")), [SamePu, SameCache]);
    assert_eq!(
        distinct(&synthetic("package:2 node:1 l3:2 core:2 pu:2")),
        [SamePu, SmtSibling, SameCache, OtherCache, OtherNode]
    );
    // A level 2 cache that cores share counts, one of a single core does not.
    assert_eq!(distinct(&synthetic("node:1 l2:2 core:4 pu:1")), [SamePu, SameCache, OtherCache]);
    assert_eq!(distinct(&synthetic("node:1 l2:4 core:1 pu:2")), [SamePu, SmtSibling, SameNode]);
    assert_eq!(distinct(&synthetic("node:1 l3:4 core:1 pu:1")), [SamePu, OtherCache]);
    assert_eq!(distinct(&synthetic(ARTICLE_A)), [SamePu, SmtSibling, SameNode, OtherNode]);
    assert_eq!(distinct(&lopsided()), [SamePu, SmtSibling, SameNode, OtherNode]);
    assert_eq!(distinct(&hybrid()), [SamePu, SmtSibling, SameNode]);
    for (machine, same_as) in [(ARTICLE_A, SmtSibling), ("core:2 pu:1", SamePu)] {
        let same_core = &synthetic(machine).pairings()[2];
        assert_eq!((same_core.pairing, same_core.same_as), (SameCore, Some(same_as)));
    }
}

#[test]
fn two_cpus_know_how_near_they_are() {
    let machine = synthetic("package:2 node:1 l3:2 core:2 pu:2");
    let near = [0, 1, 2, 4, 8, 99].map(|cpu| machine.relation(0, cpu));
    use Pairing::{OtherCache, OtherNode, SameCache, SamePu, SmtSibling};
    assert_eq!(near, [Some(SamePu), Some(SmtSibling), Some(SameCache), Some(OtherCache), Some(OtherNode), None]);
    let one_cache_a_node = synthetic(ARTICLE_A);
    assert_eq!(one_cache_a_node.relation(0, 2), Some(Pairing::SameNode));
}

#[test]
fn memory_comes_from_nodes_that_have_some() {
    let machine = lopsided();
    let resolve = |text: &str| {
        let policy: MemoryPolicy = text.parse().unwrap();
        policy.resolve(&machine).map(|p| p.to_string()).map_err(|e| e.reason)
    };
    assert_eq!(resolve("interleave:all").unwrap(), "interleave:0-1,3");
    assert_eq!(resolve("bind:3").unwrap(), "bind:3");
    assert_eq!(resolve("preferred:1").unwrap(), "preferred:1");
    assert_eq!(resolve("bind:1-2").unwrap_err(), "NUMA node 2 has no memory; memory can come from nodes 0-1,3");
    assert_eq!(resolve("preferred:7").unwrap_err(), "NUMA node 7 does not exist; memory can come from nodes 0-1,3");
    // Of another machine's kernel nothing is known.
    assert_eq!(resolve("weighted-interleave:all").unwrap(), "weighted-interleave:0-1,3");
    let here = "weighted-interleave:all".parse::<MemoryPolicy>().unwrap().resolve(&Machine::this().unwrap());
    assert_eq!(here.is_ok(), std::path::Path::new("/sys/kernel/mm/mempolicy/weighted_interleave").exists());
}

#[test]
fn each_stands_for_one_level_per_node() {
    let machine = synthetic("node:2 core:2 pu:1");
    let locations = |text: &str| {
        let each = text.parse::<Location>().unwrap().of_each_node(&machine).unwrap();
        each.map(|each| each.iter().map(Location::to_string).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(locations("node:each").as_deref(), Some("node:0 node:1"));
    assert_eq!(locations("node:each.core:1").as_deref(), Some("node:0.core:1 node:1.core:1"));
    assert_eq!([locations("node:1.core:0"), locations("all")], [None, None]);
    let policies = |text: &str| {
        let each = text.parse::<MemoryPolicy>().unwrap().of_each_node(&machine);
        each.map(|each| each.iter().map(MemoryPolicy::to_string).collect::<Vec<_>>().join(" "))
    };
    for word in ["bind", "interleave", "weighted-interleave"] {
        assert_eq!(policies(&format!("{word}:each")), Some(format!("{word}:0 {word}:1")));
        assert_eq!(policies(&format!("{word}:0")), None);
    }
    for (text, nodes) in [("bind:0-1", "0-1"), ("preferred:1", "1"), ("interleave:all", ""), ("local", "")] {
        assert_eq!(text.parse::<MemoryPolicy>().unwrap().nodes().to_string(), nodes, "{text}");
    }
}

#[test]
fn a_placement_is_read_as_a_study_writes_it() {
    let json = r#"{"client":"node:0.core:0","server":"float","bind":"thread","pairing":"same-pu","memory":"bind:0"}"#;
    let read: Placement = serde_json::from_str(json).unwrap();
    assert_eq!((read.server.clone(), read.bind, read.pairing), (Side::Float, Bind::Thread, Pairing::SamePu));
    assert_eq!(serde_json::to_string(&read).unwrap(), json);
    assert_eq!(serde_json::from_str::<Placement>("{}").unwrap(), Placement::default());
    let e = serde_json::from_str::<Placement>(r#"{"client":"nod:0"}"#).unwrap_err().to_string();
    assert!(e.contains("did you mean \"node\"?"), "{e}");
}

fn most_loaded(pairs: &[(u32, u32)]) -> usize {
    let mut load = BTreeMap::new();
    for cpu in pairs.iter().flat_map(|(c, s)| [c, s]) {
        *load.entry(*cpu).or_insert(0) += 1;
    }
    load.into_values().max().unwrap_or(0)
}

/// Whether two CPUs satisfy a pairing, from the machine's sets alone.
fn paired(machine: &Machine, pairing: Pairing, c: u32, s: u32) -> bool {
    let together = |sets: Vec<&CpuSet>| sets.iter().any(|set| set.contains(c) && set.contains(s));
    let core = c == s || together(machine.cores.iter().map(|o| &o.cpus).collect());
    let node = together(machine.nodes.iter().map(|o| &o.cpus).collect());
    let last = machine.caches.iter().map(|cache| cache.level).max();
    let cache = together(machine.caches.iter().filter(|o| Some(o.level) == last).map(|o| &o.cpus).collect());
    match pairing {
        Pairing::None => true,
        Pairing::SamePu => c == s,
        Pairing::SmtSibling => core && c != s,
        Pairing::SameCore => core,
        Pairing::SameCache => cache && !core,
        // All caches of these machines are of level 3.
        Pairing::OtherCache => node && !cache && last.is_some(),
        Pairing::SameNode => node && !core,
        Pairing::OtherNode => !node,
    }
}

/// The least possible number of threads on the most loaded PU, by trying every choice of `n` edges.
fn brute_force(edges: &[(u32, u32)], n: usize, from: usize, chosen: &mut Vec<(u32, u32)>) -> usize {
    if chosen.len() == n {
        return most_loaded(chosen);
    }
    let mut best = usize::MAX;
    for i in from..edges.len() {
        chosen.push(edges[i]);
        best = best.min(brute_force(edges, n, i, chosen));
        chosen.pop();
    }
    best
}

const SMALL: [&str; 7] = [
    "l3:1 core:3 pu:2",
    "l3:2 core:3 pu:1",
    "node:3 core:2 pu:1",
    "node:2 l3:2 core:1 pu:2",
    "package:2 core:2 pu:2",
    "l3:2 core:2 pu:1",
    "core:3 pu:2",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Every pair satisfies its pairing and its locations, no possible pairing is refused, and no other assignment has
    /// fewer threads on its most loaded PU.
    #[test]
    fn pairing_is_as_good_as_brute_force(
        machine in prop::sample::select(&SMALL[..]),
        pairing in prop::sample::select(&Pairing::PAIRED[..]),
        client in prop::collection::btree_set(0u32..6, 1..=6),
        server in prop::collection::btree_set(0u32..6, 1..=6),
        threads in 1usize..=4,
    ) {
        let machine = synthetic(machine);
        let cpus = machine.cpus();
        let limit = |side: &std::collections::BTreeSet<u32>| side.iter().map(|cpu| cpu % cpus.len() as u32).collect::<CpuSet>();
        let (client, server) = (limit(&client), limit(&server));
        let edges: Vec<(u32, u32)> = client
            .iter()
            .flat_map(|c| server.iter().map(move |s| (c, s)))
            .filter(|(c, s)| paired(&machine, pairing, *c, *s))
            .collect();
        let side = |cpus: &CpuSet| Side::At(format!("cpus:{cpus}").parse().unwrap());
        let requested = Placement {
            client: side(&client),
            server: side(&server),
            bind: Bind::Thread,
            pairing,
            ..Placement::default()
        };
        match requested.resolve(&machine, threads) {
            Err(e) => prop_assert!(edges.is_empty(), "{e}, but {edges:?}"),
            Ok(_) => {
                let [client, server] = [&requested.client, &requested.server].map(ToString::to_string);
                let found = pairs(&machine, &client, &server, pairing, threads);
                for pair in &found {
                    prop_assert!(edges.contains(pair), "{pair:?}");
                }
                prop_assert_eq!(most_loaded(&found), brute_force(&edges, threads, 0, &mut Vec::new()), "{:?}", found);
            }
        }
    }
}

fn any_side() -> impl Strategy<Value = Side> {
    let side = prop::sample::select(vec!["float", "all", "cpus:0-3,9", "node:0-", "node:1.core:0-1.pu:odd+l3:2"]);
    side.prop_map(|text| text.parse().unwrap())
}

fn any_policy() -> impl Strategy<Value = MemoryPolicy> {
    let policy = prop::sample::select(vec![
        "default",
        "local",
        "bind:0-1,3",
        "interleave:all",
        "weighted-interleave:1",
        "preferred:1",
    ]);
    policy.prop_map(|text| text.parse().unwrap())
}

fn any_pairing() -> impl Strategy<Value = Pairing> {
    prop::sample::select([&[Pairing::None][..], &Pairing::PAIRED].concat())
}

proptest! {
    #[test]
    fn a_placement_is_stored_and_read_back_exactly(
        client in any_side(),
        server in any_side(),
        background in any_side(),
        thread in any::<bool>(),
        pairing in any_pairing(),
        memory in any_policy(),
        pool_memory in any_policy(),
        nodes in prop::option::of(1..5u32),
        client_pus_per_node in prop::option::of(1..5u32),
        client_pus in prop::sample::select(&[ClientPus::First, ClientPus::Last][..]),
    ) {
        let bind = if thread { Bind::Thread } else { Bind::Set };
        let placement = Placement {
            client, server, background, bind, pairing, memory, pool_memory, nodes, client_pus_per_node, client_pus,
            ..Placement::default()
        };
        let json = serde_json::to_string(&placement).unwrap();
        prop_assert_eq!(serde_json::from_str::<Placement>(&json).unwrap(), placement);
    }

    #[test]
    fn a_resolved_placement_is_stored_and_read_back_exactly(
        client in prop::collection::vec(prop::collection::vec(0..=tare_cpuset::MAX_INDEX, 0..9), 0..9),
        server in prop::collection::vec(prop::collection::vec(0..=tare_cpuset::MAX_INDEX, 0..9), 0..9),
        background in prop::option::of(prop::collection::vec(0..=tare_cpuset::MAX_INDEX, 0..9)),
        thread in any::<bool>(),
        pairing in any_pairing(),
        memory in any_policy(),
        pool_memory in any_policy(),
    ) {
        let background = background.map(CpuSet::from_iter);
        let sets = |of: Vec<Vec<u32>>| of.into_iter().map(CpuSet::from_iter).collect::<Vec<_>>();
        let bind = if thread { Bind::Thread } else { Bind::Set };
        let resolved = ResolvedPlacement { client: sets(client), server: sets(server), background, bind, pairing, memory, pool_memory };
        let json = serde_json::to_string(&resolved).unwrap();
        prop_assert_eq!(serde_json::from_str::<ResolvedPlacement>(&json).unwrap(), resolved);
    }
}

#[test]
fn every_part_of_a_stored_placement_is_a_text_that_a_study_may_hold() {
    let requested = Placement {
        client: "node:0".parse().unwrap(),
        server: "node:1".parse().unwrap(),
        bind: Bind::Thread,
        pairing: Pairing::OtherNode,
        memory: "interleave:all".parse().unwrap(),
        ..Placement::default()
    };
    let resolved = requested.resolve(&synthetic("node:2 core:2 pu:1"), 3).unwrap();
    assert_eq!(
        serde_json::to_string(&resolved).unwrap(),
        r#"{"client":["0","1","0"],"server":["2","3","2"],"bind":"thread","pairing":"other-node","memory":"interleave:0-1"}"#
    );
}
