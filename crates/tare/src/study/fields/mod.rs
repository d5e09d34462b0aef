//! The rows of the table of keys, a file a section, in the order in which a study is written.

mod capture;
mod engine;
mod placement;
mod process;
mod workload;

use super::key::Field;

/// Those that every study has; the loads bring theirs, which stand behind `[workload]`.
pub const COMMON: &[&[Field]] =
    &[engine::FIELDS, workload::FIELDS, placement::FIELDS, process::FIELDS, capture::FIELDS];
