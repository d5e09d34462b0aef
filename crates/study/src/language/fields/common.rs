//! The sections that every study has.

use super::super::key::{CAPTURE, WORKLOAD};
use super::super::settings::Settings;
use super::{capture, client, engine, placement, process, running, workload};
use tare_text::Key;

/// Those that every study has, each with its table; the loads bring theirs, which stand behind `[workload]`.
pub const COMMON: &[(&str, &[Key<Settings>])] = &[
    ("engine", engine::KEYS),
    ("engine", running::KEYS),
    (WORKLOAD, workload::KEYS),
    ("client", client::KEYS),
    ("placement", placement::KEYS),
    ("process", process::KEYS),
    (CAPTURE, capture::KEYS),
];
