//! What is recorded alongside the metrics.

use super::super::settings::Settings;
use tare_text::Key;

/// The rows, in the order in which a study is written.
pub const KEYS: &[Key<Settings>] = &[
    Key::switch(
        "profile",
        "on: a sampled profile of the server (perf) in one further sample after the measured ones",
        |s| s.capture.profile,
        |s, on| s.capture.profile = on,
    ),
    Key::words(
        "call_graph",
        "call chains of the profile: dwarf (any build) or fp (cheaper; servers built with frame pointers)",
        |s| Some(s.capture.call_graph.to_string().into()),
        |s, v| v.parsed().map(|v| s.capture.call_graph = v),
    ),
    Key::switch(
        "locks",
        "on: lock waits inside the server in that further sample (MariaDB: starts it with performance_schema=ON)",
        |s| s.capture.locks,
        |s, on| s.capture.locks = on,
    ),
    Key::switch(
        "waits",
        "on: in what the server's threads sleep, looked at 150 times a second in that further sample",
        |s| s.capture.waits,
        |s, on| s.capture.waits = on,
    ),
    Key::switch(
        "wakes",
        "on: who wakes the threads that serve connections, and what keeps those (perf, scheduler tracepoints; root), in \
         that further sample",
        |s| s.capture.wakes,
        |s, on| s.capture.wakes = on,
    ),
    Key::switch(
        "status",
        "on: the server's counters over that further sample, and the InnoDB status at its end",
        |s| s.capture.status,
        |s, on| s.capture.status = on,
    ),
    Key::switch(
        "memory",
        "on (default): memory of the server by node, and hits and misses of the nodes, in every sample",
        |s| s.capture.memory,
        |s, on| s.capture.memory = on,
    ),
    Key::switch(
        "schedule",
        "on (default): time each thread ran, waited for a CPU and slept, in every sample",
        |s| s.capture.schedule,
        |s, on| s.capture.schedule = on,
    ),
];
