//! What every workload has.

use super::super::field::Field;
use super::super::settings::Kind;
use super::super::value::{one_of, whole};
use crate::workload::oltp::{UnknownWorkload, Workload};

/// The workload without a database.
const COUNTERS: &str = "counters";
/// The workload of 22 queries.
const DBT3: &str = "dbt3";

/// The keys that all workloads share.
pub const FIELDS: &[Field] = &[
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
];
