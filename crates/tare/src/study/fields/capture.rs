//! What is recorded beside the metrics.

use super::super::field::CAPTURE;
use super::super::field::Field;
use super::super::settings::CallGraph;
use super::super::value::{on_off, one_of, switch};

/// The keys of `[capture]`.
pub const FIELDS: &[Field] = &[
    Field {
        section: CAPTURE,
        key: "profile",
        only: None,
        help: "on: a sampled profile of the server (perf) in one further sample after the measured ones",
        get: |s| on_off(s.capture.profile),
        set: |s, v| switch(v).map(|on| s.capture.profile = on),
    },
    Field {
        section: CAPTURE,
        key: "call_graph",
        only: None,
        help: "call chains of the profile: dwarf (any build) or fp (cheaper; servers built with frame pointers)",
        get: |s| Some(if s.capture.call_graph == CallGraph::Dwarf { "dwarf" } else { "fp" }.into()),
        set: |s, v| {
            let dwarf = one_of(v, &["dwarf", "fp"])? == "dwarf";
            s.capture.call_graph = if dwarf { CallGraph::Dwarf } else { CallGraph::FramePointers };
            Ok(())
        },
    },
    Field {
        section: CAPTURE,
        key: "locks",
        only: None,
        help: "on: lock waits inside the server in that further sample (MariaDB: starts it with performance_schema=ON)",
        get: |s| on_off(s.capture.locks),
        set: |s, v| switch(v).map(|on| s.capture.locks = on),
    },
    Field {
        section: CAPTURE,
        key: "status",
        only: None,
        help: "on: the server's counters over that further sample, and the InnoDB status at its end",
        get: |s| on_off(s.capture.status),
        set: |s, v| switch(v).map(|on| s.capture.status = on),
    },
    Field {
        section: CAPTURE,
        key: "memory",
        only: None,
        help: "on (default): memory of the server by node, and hits and misses of the nodes, in every sample",
        get: |s| on_off(s.capture.memory),
        set: |s, v| switch(v).map(|on| s.capture.memory = on),
    },
    Field {
        section: CAPTURE,
        key: "schedule",
        only: None,
        help: "on (default): time each thread ran, waited for a CPU and slept, in every sample",
        get: |s| on_off(s.capture.schedule),
        set: |s, v| switch(v).map(|on| s.capture.schedule = on),
    },
];
