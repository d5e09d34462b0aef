//! What every workload has; the loads themselves bring their own keys.

use super::super::key::{Access, Field, WORKLOAD};
use tare_drive::workload::AnyLoad;

/// The rows, in the order in which a study is written.
pub const FIELDS: &[Field] = &[
    Field {
        section: WORKLOAD,
        key: "name",
        help: "what the clients do: point_select, read_only, read_write, write_only, update_index, \
               update_non_index, insert, delete, bulk_insert, select_random_points, select_random_ranges, \
               dbt3 (TPC-H's 22 queries), sql (statements of your own), sysbench, pgbench, command (any program), or counters (no database)",
        access: Access::Common {
            get: |s| Some(s.workload.load.load().name().into()),
            set: |s, v| {
                let name = v.one_of(&AnyLoad::names())?;
                s.workload.load = AnyLoad::named(name).ok_or("a workload")?;
                Ok(())
            },
        },
    },
    Field {
        section: WORKLOAD,
        key: "threads",
        help: "client threads, one connection each",
        access: Access::Common {
            get: |s| Some(s.workload.threads.into()),
            set: |s, v| v.whole(1, tare_drive::workload::MOST_THREADS).map(|v| s.workload.threads = v),
        },
    },
];
