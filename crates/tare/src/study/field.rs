//! Every key a study may hold, in one table: parsing, factors, `--set`, writing and the reference page all read it.

use super::settings::{AS_FOUND, CallGraph, Kind, Settings};
use crate::engine::{ENGINE_NAMES, Transport};
use crate::workload::oltp::{UnknownWorkload, Workload};
use std::fmt::Display;
use std::str::FromStr;

/// One key of a study. As a factor it is known by `key` alone.
pub struct Field {
    /// Table it stands in.
    pub section: &'static str,
    /// Its name.
    pub key: &'static str,
    /// The workload it belongs to; none: all.
    pub only: Option<Kind>,
    /// What it means, for the reference.
    pub help: &'static str,
    /// The present value, none when it is not set.
    pub get: fn(&Settings) -> Option<String>,
    /// Sets a value; the error says what was expected.
    pub set: fn(&mut Settings, &str) -> Result<(), String>,
}

/// The workload without a database.
const COUNTERS: &str = "counters";
/// The workload of 22 queries.
const DBT3: &str = "dbt3";

/// What is captured is no factor: it must not change what is measured.
pub const CAPTURE: &str = "capture";

/// All keys but `engine.options.*` and the machine settings, which are open-ended.
pub const FIELDS: &[Field] = &[
    Field {
        section: "engine",
        key: "name",
        only: None,
        help: "the database: sqlite (embedded, as a server process of its own) or mariadb",
        get: |s| Some(s.engine.name.clone()),
        set: |s, v| one_of(v, &ENGINE_NAMES).map(|v| s.engine.name = v),
    },
    Field {
        section: "engine",
        key: "binary",
        only: None,
        help: "path of the server binary; as a factor: two builds side by side",
        get: |s| s.engine.binary.as_ref().map(|p| p.display().to_string()),
        set: |s, v| {
            s.engine.binary = Some(v.into());
            Ok(())
        },
    },
    Field {
        section: "engine",
        key: "transport",
        only: None,
        help: "socket (Unix) or tcp (loopback)",
        get: |s| Some(if s.engine.transport == Transport::Tcp { "tcp" } else { "socket" }.into()),
        set: |s, v| {
            let v = one_of(v, &["socket", "tcp"])?;
            s.engine.transport = if v == "tcp" { Transport::Tcp } else { Transport::Socket };
            Ok(())
        },
    },
    Field {
        section: "engine",
        key: "start_timeout_s",
        only: None,
        help: "seconds the server may take to become ready",
        get: |s| Some(s.engine.start_timeout_s.to_string()),
        set: |s, v| seconds(v).map(|v| s.engine.start_timeout_s = v),
    },
    Field {
        section: "workload",
        key: "name",
        only: None,
        help: "what the clients do: point_select, read_only, read_write, write_only, update_index, \
               update_non_index, dbt3 (TPC-H's 22 queries), or counters (no database)",
        get: |s| {
            Some(match s.workload.kind {
                Kind::Oltp => s.workload.oltp.workload.to_string(),
                Kind::Dbt3 => DBT3.into(),
                Kind::Counters => COUNTERS.into(),
            })
        },
        set: |s, v| {
            if let Some((_, kind)) =
                [(COUNTERS, Kind::Counters), (DBT3, Kind::Dbt3)].iter().find(|(name, _)| *name == v)
            {
                s.workload.kind = *kind;
                return Ok(());
            }
            let names: Vec<&str> = Workload::names().chain([DBT3, COUNTERS]).collect();
            s.workload.oltp.workload = one_of(v, &names)?.parse().map_err(|e: UnknownWorkload| e.to_string())?;
            s.workload.kind = Kind::Oltp;
            Ok(())
        },
    },
    Field {
        section: "workload",
        key: "threads",
        only: None,
        help: "client threads, one connection each",
        get: |s| Some(s.workload.threads.to_string()),
        set: |s, v| whole(v, 1, 65_536).map(|v| s.workload.threads = v),
    },
    Field {
        section: "workload",
        key: "tables",
        only: Some(Kind::Oltp),
        help: "number of tables sbtest1, sbtest2 ...",
        get: |s| Some(s.workload.oltp.tables.tables.to_string()),
        set: |s, v| whole(v, 1, 10_000).map(|v| s.workload.oltp.tables.tables = v),
    },
    Field {
        section: "workload",
        key: "rows",
        only: Some(Kind::Oltp),
        help: "rows a table",
        get: |s| Some(s.workload.oltp.tables.rows.to_string()),
        set: |s, v| whole(v, 1, i32::MAX as u64).map(|v| s.workload.oltp.tables.rows = v),
    },
    Field {
        section: "workload",
        key: "distribution",
        only: Some(Kind::Oltp),
        help: "how ids are drawn: uniform, zipfian, special, pareto or gaussian",
        get: |s| Some(s.workload.oltp.distribution.to_string()),
        set: |s, v| parsed(v).map(|v| s.workload.oltp.distribution = v),
    },
    Field {
        section: "workload",
        key: "rate",
        only: Some(Kind::Oltp),
        help: "transactions a second over all threads (open loop); absent: as fast as they go (closed loop)",
        get: |s| s.workload.rate.map(|r| r.to_string()),
        set: |s, v| positive(v, "transactions a second").map(|v| s.workload.rate = Some(v)),
    },
    Field {
        section: "workload",
        key: "point_selects",
        only: Some(Kind::Oltp),
        help: "point selects in a transaction",
        get: |s| Some(s.workload.oltp.counts.point_selects.to_string()),
        set: |s, v| whole(v, 0, 1_000_000).map(|v| s.workload.oltp.counts.point_selects = v),
    },
    Field {
        section: "workload",
        key: "simple_ranges",
        only: Some(Kind::Oltp),
        help: "simple ranges in a transaction",
        get: |s| Some(s.workload.oltp.counts.simple_ranges.to_string()),
        set: |s, v| whole(v, 0, 1_000_000).map(|v| s.workload.oltp.counts.simple_ranges = v),
    },
    Field {
        section: "workload",
        key: "sum_ranges",
        only: Some(Kind::Oltp),
        help: "sum ranges in a transaction",
        get: |s| Some(s.workload.oltp.counts.sum_ranges.to_string()),
        set: |s, v| whole(v, 0, 1_000_000).map(|v| s.workload.oltp.counts.sum_ranges = v),
    },
    Field {
        section: "workload",
        key: "order_ranges",
        only: Some(Kind::Oltp),
        help: "order ranges in a transaction",
        get: |s| Some(s.workload.oltp.counts.order_ranges.to_string()),
        set: |s, v| whole(v, 0, 1_000_000).map(|v| s.workload.oltp.counts.order_ranges = v),
    },
    Field {
        section: "workload",
        key: "distinct_ranges",
        only: Some(Kind::Oltp),
        help: "distinct ranges in a transaction",
        get: |s| Some(s.workload.oltp.counts.distinct_ranges.to_string()),
        set: |s, v| whole(v, 0, 1_000_000).map(|v| s.workload.oltp.counts.distinct_ranges = v),
    },
    Field {
        section: "workload",
        key: "index_updates",
        only: Some(Kind::Oltp),
        help: "index updates in a transaction",
        get: |s| Some(s.workload.oltp.counts.index_updates.to_string()),
        set: |s, v| whole(v, 0, 1_000_000).map(|v| s.workload.oltp.counts.index_updates = v),
    },
    Field {
        section: "workload",
        key: "non_index_updates",
        only: Some(Kind::Oltp),
        help: "non index updates in a transaction",
        get: |s| Some(s.workload.oltp.counts.non_index_updates.to_string()),
        set: |s, v| whole(v, 0, 1_000_000).map(|v| s.workload.oltp.counts.non_index_updates = v),
    },
    Field {
        section: "workload",
        key: "delete_inserts",
        only: Some(Kind::Oltp),
        help: "delete inserts in a transaction",
        get: |s| Some(s.workload.oltp.counts.delete_inserts.to_string()),
        set: |s, v| whole(v, 0, 1_000_000).map(|v| s.workload.oltp.counts.delete_inserts = v),
    },
    Field {
        section: "workload",
        key: "range_size",
        only: Some(Kind::Oltp),
        help: "ids in a range query",
        get: |s| Some(s.workload.oltp.counts.range_size.to_string()),
        set: |s, v| whole(v, 1, 1_000_000).map(|v| s.workload.oltp.counts.range_size = v),
    },
    Field {
        section: "workload",
        key: "scale",
        only: Some(Kind::Dbt3),
        help: "scale factor of the tables: 1 is about a gigabyte of text, six million rows of lineitem",
        get: |s| Some(s.workload.dbt3.scale.to_string()),
        set: |s, v| parsed(v).map(|v| s.workload.dbt3.scale = v),
    },
    Field {
        section: "workload",
        key: "queries",
        only: Some(Kind::Dbt3),
        help: "which of the 22 queries, for example 1-6,14; all",
        get: |s| Some(s.workload.dbt3.queries.to_string()),
        set: |s, v| parsed(v).map(|v| s.workload.dbt3.queries = v),
    },
    Field {
        section: "workload",
        key: "warmup_runs",
        only: Some(Kind::Dbt3),
        help: "executions of each query before its measured ones (sampling.samples), left out of all figures",
        get: |s| Some(s.workload.dbt3.warmup_runs.to_string()),
        set: |s, v| whole(v, 0, 100_000).map(|v| s.workload.dbt3.warmup_runs = v),
    },
    Field {
        section: "workload",
        key: "query_timeout_s",
        only: Some(Kind::Dbt3),
        help: "seconds one execution of a query may take; one that takes longer fails its trial",
        get: |s| Some(s.workload.dbt3.query_timeout_s.to_string()),
        set: |s, v| match seconds(v)? {
            0.0 => Err("a number of seconds above 0".into()),
            v => {
                s.workload.dbt3.query_timeout_s = v;
                Ok(())
            }
        },
    },
    Field {
        section: "workload",
        key: "preload",
        only: Some(Kind::Dbt3),
        help: "on: every table and every index is read from end to end before the first query",
        get: |s| Some(if s.workload.dbt3.preload { "on" } else { "off" }.into()),
        set: |s, v| one_of(v, &["on", "off"]).map(|v| s.workload.dbt3.preload = v == "on"),
    },
    Field {
        section: "workload",
        key: "strategy",
        only: Some(Kind::Counters),
        help: "how counters are kept: pthread-mutex, atomic, counter-set ... (tare-counters lists them)",
        get: |s| Some(s.workload.counters.strategy.to_string()),
        set: |s, v| parsed(v).map(|v| s.workload.counters.strategy = v),
    },
    Field {
        section: "workload",
        key: "generator",
        only: Some(Kind::Counters),
        help: "faithful: libc rand() and its lock, as in the article; corrected: a generator a thread",
        get: |s| Some(s.workload.counters.generator.to_string()),
        set: |s, v| parsed(v).map(|v| s.workload.counters.generator = v),
    },
    Field {
        section: "workload",
        key: "data_work",
        only: Some(Kind::Counters),
        help: "on: a round works on data blocks as in the article; off: counters only",
        get: |s| Some(if s.workload.counters.data_work { "on" } else { "off" }.into()),
        set: |s, v| one_of(v, &["on", "off"]).map(|v| s.workload.counters.data_work = v == "on"),
    },
    Field {
        section: "workload",
        key: "rounds",
        only: Some(Kind::Counters),
        help: "rounds a thread and sample",
        get: |s| Some(s.workload.counters.rounds.to_string()),
        set: |s, v| whole(v, 1, 1_000_000_000).map(|v| s.workload.counters.rounds = v),
    },
    Field {
        section: "workload",
        key: "counter_blocks",
        only: Some(Kind::Counters),
        help: "blocks of global counters",
        get: |s| Some(s.workload.counters.counter_blocks.to_string()),
        set: |s, v| whole(v, 1, 1_000_000_000).map(|v| s.workload.counters.counter_blocks = v),
    },
    Field {
        section: "workload",
        key: "counters_per_block",
        only: Some(Kind::Counters),
        help: "global counters a block",
        get: |s| Some(s.workload.counters.counters_per_block.to_string()),
        set: |s, v| whole(v, 1, 1_000_000).map(|v| s.workload.counters.counters_per_block = v),
    },
    Field {
        section: "workload",
        key: "data_blocks",
        only: Some(Kind::Counters),
        help: "data blocks of 16 KiB, each with a counter of its own",
        get: |s| Some(s.workload.counters.data_blocks.to_string()),
        set: |s, v| whole(v, 0, 1_000_000_000_000).map(|v| s.workload.counters.data_blocks = v),
    },
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
    Field {
        section: "process",
        key: "aslr",
        only: None,
        help: "address space of the server: on (randomised), off (one fixed layout), layout:N (one of many fixed \
               layouts, N from 1 to 32767) or as-found",
        get: |s| Some(s.process.aslr.map_or(AS_FOUND.into(), |aslr| aslr.to_string())),
        set: |s, v| s.process.set_aslr(v),
    },
    Field {
        section: "process",
        key: "allocator",
        only: None,
        help: "memory allocator of the server: system (its own), jemalloc, tcmalloc, the path of a library to preload, \
               or as-found",
        get: |s| Some(s.process.allocator.as_ref().map_or(AS_FOUND.into(), ToString::to_string)),
        set: |s, v| s.process.set_allocator(v),
    },
    Field {
        section: "process",
        key: "environment_bytes",
        only: None,
        help: "bytes that a padding variable adds to the server's environment, which moves its stack; 0: none",
        get: |s| Some(s.process.environment_bytes.to_string()),
        set: |s, v| s.process.set_environment_bytes(v),
    },
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

/// The field known by `key` in `section`.
pub fn find(section: &str, key: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|f| f.section == section && f.key == key)
}

/// The field that a factor of this name varies: `engine` and `workload` stand for their `name`.
pub fn factor(name: &str) -> Option<&'static Field> {
    if matches!(name, "engine" | "workload") {
        return find(name, "name");
    }
    FIELDS.iter().find(|f| f.key == name && f.key != "name" && f.section != CAPTURE)
}

/// Accepts one of a few words.
pub fn one_of(value: &str, words: &[&str]) -> Result<String, String> {
    if words.contains(&value) {
        return Ok(value.to_owned());
    }
    let hint = crate::nearest::nearest(value, words.iter().copied())
        .map_or(String::new(), |w| format!(" (did you mean {w}?)"));
    Err(format!("one of {}{hint}", words.join(", ")))
}

/// `on` or `off`.
fn switch(value: &str) -> Result<bool, String> {
    one_of(value, &["on", "off"]).map(|v| v == "on")
}

fn on_off(on: bool) -> Option<String> {
    Some(if on { "on" } else { "off" }.into())
}

/// A whole number in a range.
pub fn whole<T>(value: &str, min: T, max: T) -> Result<T, String>
where
    T: FromStr + PartialOrd + Display + Copy,
{
    let expected = || format!("a whole number from {min} to {max}");
    let number: T = value.parse().map_err(|_| expected())?;
    if number < min || number > max { Err(expected()) } else { Ok(number) }
}

/// A positive, finite number of `what`.
pub fn positive(value: &str, what: &str) -> Result<f64, String> {
    match value.parse::<f64>() {
        Ok(n) if n.is_finite() && n > 0.0 => Ok(n),
        _ => Err(format!("a number of {what} above 0")),
    }
}

/// Seconds, at least 0, a day at most.
pub fn seconds(value: &str) -> Result<f64, String> {
    match value.parse::<f64>() {
        Ok(n) if (0.0..=86_400.0).contains(&n) => Ok(n),
        _ => Err("a number of seconds from 0 to 86400, without a unit".into()),
    }
}

fn parsed<T>(value: &str) -> Result<T, String>
where
    T: FromStr,
    T::Err: Display,
{
    value.parse().map_err(|e: T::Err| e.to_string())
}
