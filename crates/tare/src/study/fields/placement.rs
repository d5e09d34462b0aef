//! Where threads and memory go.

use super::super::field::Field;
use super::super::value::{parsed, whole};

/// The keys of `[placement]`.
pub const FIELDS: &[Field] = &[
    Field {
        section: "placement",
        key: "client",
        only: None,
        help: "location of the client threads, or float",
        get: |s| Some(s.placement.client.to_string()),
        set: |s, v| parsed(v).map(|v| s.placement.client = v),
    },
    Field {
        section: "placement",
        key: "server",
        only: None,
        help: "location of the server threads, or float",
        get: |s| Some(s.placement.server.to_string()),
        set: |s, v| parsed(v).map(|v| s.placement.server = v),
    },
    Field {
        section: "placement",
        key: "bind",
        only: None,
        help: "set: all threads of a side share its CPUs, as numactl does; thread: each thread its own PU",
        get: |s| Some(s.placement.bind.to_string()),
        set: |s, v| parsed(v).map(|v| s.placement.bind = v),
    },
    Field {
        section: "placement",
        key: "pairing",
        only: None,
        help: "where a server thread sits relative to its client: none, same-pu, smt-sibling, same-core, same-cache, \
               same-node, other-node",
        get: |s| Some(s.placement.pairing.to_string()),
        set: |s, v| parsed(v).map(|v| s.placement.pairing = v),
    },
    Field {
        section: "placement",
        key: "memory",
        only: None,
        help: "memory policy of the server: default, local, bind:NODES, interleave:NODES, preferred:NODE",
        get: |s| Some(s.placement.memory.to_string()),
        set: |s, v| parsed(v).map(|v| s.placement.memory = v),
    },
    Field {
        section: "placement",
        key: "nodes",
        only: None,
        help: "both sides on so many NUMA nodes, the first that have CPUs and memory, with memory interleaved over \
               exactly those unless another policy is given; in place of client and server",
        get: |s| s.placement.nodes.map(|n| n.to_string()),
        set: |s, v| whole(v, 1, 1024).map(|v| s.placement.nodes = Some(v)),
    },
    Field {
        section: "placement",
        key: "client_pus_per_node",
        only: None,
        help: "with nodes: the last so many PUs of each node are the clients', the others the server's; absent: both \
               sides share all",
        get: |s| s.placement.client_pus_per_node.map(|n| n.to_string()),
        set: |s, v| whole(v, 1, 65_536).map(|v| s.placement.client_pus_per_node = Some(v)),
    },
];
