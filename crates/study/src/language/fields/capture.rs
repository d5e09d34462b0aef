//! What is recorded alongside the metrics.

use super::super::key::CAPTURE;
use super::super::key::{Access, Field};

/// The rows, in the order in which a study is written.
pub const FIELDS: &[Field] = &[
    Field {
        section: CAPTURE,
        key: "profile",
        help: "on: a sampled profile of the server (perf) in one further sample after the measured ones",
        access: Access::Common {
            get: |s| Some(s.capture.profile.into()),
            set: |s, v| v.switch().map(|on| s.capture.profile = on),
        },
    },
    Field {
        section: CAPTURE,
        key: "call_graph",
        help: "call chains of the profile: dwarf (any build) or fp (cheaper; servers built with frame pointers)",
        access: Access::Common {
            get: |s| Some(s.capture.call_graph.to_string().into()),
            set: |s, v| v.parsed().map(|v| s.capture.call_graph = v),
        },
    },
    Field {
        section: CAPTURE,
        key: "locks",
        help: "on: lock waits inside the server in that further sample (MariaDB: starts it with performance_schema=ON)",
        access: Access::Common {
            get: |s| Some(s.capture.locks.into()),
            set: |s, v| v.switch().map(|on| s.capture.locks = on),
        },
    },
    Field {
        section: CAPTURE,
        key: "status",
        help: "on: the server's counters over that further sample, and the InnoDB status at its end",
        access: Access::Common {
            get: |s| Some(s.capture.status.into()),
            set: |s, v| v.switch().map(|on| s.capture.status = on),
        },
    },
    Field {
        section: CAPTURE,
        key: "memory",
        help: "on (default): memory of the server by node, and hits and misses of the nodes, in every sample",
        access: Access::Common {
            get: |s| Some(s.capture.memory.into()),
            set: |s, v| v.switch().map(|on| s.capture.memory = on),
        },
    },
    Field {
        section: CAPTURE,
        key: "schedule",
        help: "on (default): time each thread ran, waited for a CPU and slept, in every sample",
        access: Access::Common {
            get: |s| Some(s.capture.schedule.into()),
            set: |s, v| v.switch().map(|on| s.capture.schedule = on),
        },
    },
];
