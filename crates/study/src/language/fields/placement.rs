//! Where threads and memory go.

use super::super::settings::Settings;
use tare_text::Key;

/// The rows, in the order in which a study is written.
pub const KEYS: &[Key<Settings>] = &[
    Key::words(
        "client",
        "location of the client threads as hwloc-calc writes it (node:0.core:1, cpus:4-7 ...; node:near is the first \
         node with CPUs and memory, node:far the one farthest from it, node:usable all of them; core:performance and \
         core:efficiency are kinds of cores), or float; as a factor: node:each is one level for each node",
        |s| Some(s.placement.client.to_string().into()),
        |s, v| v.parsed().map(|v| s.placement.client = v),
    ),
    Key::words(
        "server",
        "location of the server threads, or float",
        |s| Some(s.placement.server.to_string().into()),
        |s, v| v.parsed().map(|v| s.placement.server = v),
    ),
    Key::words(
        "background",
        "location of the server threads that serve no connection (page cleaners, purge, log writer, checkpointer), or \
         float: then they are where the server threads are",
        |s| Some(s.placement.background.to_string().into()),
        |s, v| v.parsed().map(|v| s.placement.background = v),
    ),
    Key::words(
        "bind",
        "set: all threads of a side share its CPUs, as numactl does; thread: each thread its own PU",
        |s| Some(s.placement.bind.to_string().into()),
        |s, v| v.parsed().map(|v| s.placement.bind = v),
    ),
    Key::words(
        "pairing",
        "where a server thread sits relative to its client: none, same-pu, smt-sibling, same-core, same-cache, \
         other-cache, same-node, other-node",
        |s| Some(s.placement.pairing.to_string().into()),
        |s, v| v.parsed().map(|v| s.placement.pairing = v),
    ),
    Key::words(
        "memory",
        "memory policy of the server, or of counters and their data: default, local, bind:NODES, interleave:NODES, \
         weighted-interleave:NODES (Linux 6.9), preferred:NODE",
        |s| Some(s.placement.memory.to_string().into()),
        |s, v| v.parsed().map(|v| s.placement.memory = v),
    ),
    Key::words(
        "pool_memory",
        "memory policy of the server's pool of pages alone: PostgreSQL's shared memory takes any (as root), InnoDB's \
         pool interleave over all nodes that memory allows (by innodb_numa_interleave), SQLite's cache none; default: \
         as memory says",
        |s| Some(s.placement.pool_memory.to_string().into()),
        |s, v| v.parsed().map(|v| s.placement.pool_memory = v),
    ),
    Key::whole(
        "nodes",
        "both sides on so many NUMA nodes, the first that have CPUs and memory, with memory interleaved over exactly \
         those unless another policy is given; in place of client and server",
        (1, 1024),
        |s| s.placement.nodes.map(Into::into),
        |s, v| s.placement.nodes = Some(v as u32),
    ),
    Key::words(
        "node_order",
        "with nodes: logical indexes of the nodes to take, in this order, in place of the first: 0+2 and 0+1 as levels \
         compare two sets of nodes, and nodes = [1, 2] climbs each; absent: 0+1+2 and so on",
        |s| {
            let order: Vec<String> = s.placement.node_order.iter().map(u32::to_string).collect();
            (!order.is_empty()).then(|| order.join("+").into())
        },
        |s, v| {
            let order: Result<Vec<u32>, _> = v.to_string().split('+').map(|node| node.trim().parse()).collect();
            s.placement.node_order = order.map_err(|_| "logical indexes of nodes joined by +, such as 0+2")?;
            Ok(())
        },
    ),
    Key::whole(
        "caches",
        "as nodes, by last-level caches that several cores share (a CCX, a cluster): both sides on so many of them, \
         the first, with memory interleaved over their nodes unless another policy is given",
        (1, 4096),
        |s| s.placement.caches.map(Into::into),
        |s, v| s.placement.caches = Some(v as u32),
    ),
    Key::words(
        "client_pus",
        "with client_pus_per_node: whether those are the first or the last (default) of each node or cache",
        |s| Some(s.placement.client_pus.to_string().into()),
        |s, v| v.parsed().map(|v| s.placement.client_pus = v),
    ),
    Key::whole(
        "client_pus_per_node",
        "with nodes or caches: the last (client_pus) so many PUs of each are the clients', the others the server's; \
         absent: both sides share all",
        (1, 65_536),
        |s| s.placement.client_pus_per_node.map(Into::into),
        |s, v| s.placement.client_pus_per_node = Some(v as u32),
    ),
];
