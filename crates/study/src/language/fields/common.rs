//! The sections that every study has.

use super::super::key::Field;
use super::{capture, client, engine, placement, process, running, workload};

/// Those that every study has; the loads bring theirs, which stand behind `[workload]`.
pub const COMMON: &[&[Field]] = &[
    engine::FIELDS,
    running::FIELDS,
    workload::FIELDS,
    client::FIELDS,
    placement::FIELDS,
    process::FIELDS,
    capture::FIELDS,
];
