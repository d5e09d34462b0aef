//! The rows of the table of keys, a file a section or workload, in the order in which a study is written.

mod capture;
mod counters;
mod dbt3;
mod engine;
mod oltp;
mod placement;
mod process;
mod workload;

use super::field::Field;

/// The keys of every table, in the order in which they are explained.
pub const ALL: &[&[Field]] = &[
    engine::FIELDS,
    workload::FIELDS,
    oltp::FIELDS,
    dbt3::FIELDS,
    counters::FIELDS,
    placement::FIELDS,
    process::FIELDS,
    capture::FIELDS,
];
