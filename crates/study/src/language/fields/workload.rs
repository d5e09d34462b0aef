//! What every workload has; the loads themselves bring their own keys.

use super::super::settings::Settings;
use super::super::statements;
use tare_drive::workload::{AnyLoad, MOST_THREADS};
use tare_text::Key;

/// The rows, in the order in which a study is written.
pub const KEYS: &[Key<Settings>] = &[
    Key::words(
        "name",
        "what the clients do: point_select, read_only, read_write, write_only, update_index, update_non_index, insert, \
         delete, bulk_insert, select_random_points, select_random_ranges, dbt3 (TPC-H's 22 queries), sql (statements \
         of your own), sysbench, pgbench, command (any program), or counters (no database)",
        |s| Some(s.workload.load.load().name().into()),
        |s, v| {
            let name = v.one_of(&AnyLoad::names())?;
            s.workload.load = AnyLoad::named(name).ok_or("a workload")?;
            Ok(())
        },
    ),
    Key::whole(
        "threads",
        "client threads, one connection each",
        (1, MOST_THREADS as u64),
        |s| Some(s.workload.threads as u64),
        |s, v| s.workload.threads = v as usize,
    ),
    Key::seconds(
        "settle_s",
        "seconds that are waited at most between warm-up and samples, clients at rest, until the server has nothing left \
         to do: InnoDB has purged old row versions and writes no more dirty pages; PostgreSQL has made a checkpoint and \
         autovacuum has nothing to do; SQLite's write-ahead log is empty. Not settled in that time is a warning; 0: not \
         waited. Not with dbt3, sysbench, pgbench and command",
        |s| Some(s.workload.settle.limit_s),
        |s, v| s.workload.settle.limit_s = v,
    ),
    Key::words(
        "settle",
        "statements that the server gets between warm-up and samples, before settle_s: a list, as [\"VACUUM ANALYZE\"]; \
         none: no statement",
        |s| match s.workload.settle.statements.as_slice() {
            [] => None,
            statements => Some(statements::text(statements)),
        },
        |s, v| statements::read(v).map(|statements| s.workload.settle.statements = statements),
    ),
];
