//! Where threads and memory go.

use super::super::key::{Access, Field};

/// The rows, in the order in which a study is written.
pub const FIELDS: &[Field] = &[
    Field {
        section: "placement",
        key: "client",
        help: "location of the client threads as hwloc-calc writes it (node:0.core:1, cpus:4-7 ...; node:near is the first \
               node with CPUs and memory, node:far the one farthest from it, node:usable all of them), or float",
        access: Access::Common {
            get: |s| Some(s.placement.client.to_string().into()),
            set: |s, v| v.parsed().map(|v| s.placement.client = v),
        },
    },
    Field {
        section: "placement",
        key: "server",
        help: "location of the server threads, or float",
        access: Access::Common {
            get: |s| Some(s.placement.server.to_string().into()),
            set: |s, v| v.parsed().map(|v| s.placement.server = v),
        },
    },
    Field {
        section: "placement",
        key: "background",
        help: "location of the server threads that serve no connection (page cleaners, purge, log writer, checkpointer), \
               or float: then they are where the server threads are",
        access: Access::Common {
            get: |s| Some(s.placement.background.to_string().into()),
            set: |s, v| v.parsed().map(|v| s.placement.background = v),
        },
    },
    Field {
        section: "placement",
        key: "bind",
        help: "set: all threads of a side share its CPUs, as numactl does; thread: each thread its own PU",
        access: Access::Common {
            get: |s| Some(s.placement.bind.to_string().into()),
            set: |s, v| v.parsed().map(|v| s.placement.bind = v),
        },
    },
    Field {
        section: "placement",
        key: "pairing",
        help: "where a server thread sits relative to its client: none, same-pu, smt-sibling, same-core, same-cache, \
               other-cache, same-node, other-node",
        access: Access::Common {
            get: |s| Some(s.placement.pairing.to_string().into()),
            set: |s, v| v.parsed().map(|v| s.placement.pairing = v),
        },
    },
    Field {
        section: "placement",
        key: "memory",
        help: "memory policy of the server, or of counters and their data: default, local, bind:NODES, interleave:NODES, \
               weighted-interleave:NODES (Linux 6.9), preferred:NODE",
        access: Access::Common {
            get: |s| Some(s.placement.memory.to_string().into()),
            set: |s, v| v.parsed().map(|v| s.placement.memory = v),
        },
    },
    Field {
        section: "placement",
        key: "nodes",
        help: "both sides on so many NUMA nodes, the first that have CPUs and memory, with memory interleaved over \
               exactly those unless another policy is given; in place of client and server",
        access: Access::Common {
            get: |s| s.placement.nodes.map(Into::into),
            set: |s, v| v.whole(1, 1024).map(|v| s.placement.nodes = Some(v)),
        },
    },
    Field {
        section: "placement",
        key: "caches",
        help: "as nodes, by last-level caches that several cores share (a CCX, a cluster): both sides on so many of \
               them, the first, with memory interleaved over their nodes unless another policy is given",
        access: Access::Common {
            get: |s| s.placement.caches.map(Into::into),
            set: |s, v| v.whole(1, 4096).map(|v| s.placement.caches = Some(v)),
        },
    },
    Field {
        section: "placement",
        key: "client_pus",
        help: "with client_pus_per_node: whether those are the first or the last (default) of each node or cache",
        access: Access::Common {
            get: |s| Some(s.placement.client_pus.to_string().into()),
            set: |s, v| v.parsed().map(|v| s.placement.client_pus = v),
        },
    },
    Field {
        section: "placement",
        key: "client_pus_per_node",
        help: "with nodes or caches: the last (client_pus) so many PUs of each are the clients', the others the \
               server's; absent: both sides share all",
        access: Access::Common {
            get: |s| s.placement.client_pus_per_node.map(Into::into),
            set: |s, v| v.whole(1, 65_536).map(|v| s.placement.client_pus_per_node = Some(v)),
        },
    },
];
