//! What every workload has; the loads themselves bring their own keys.

use super::super::settings::Settings;
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
];
