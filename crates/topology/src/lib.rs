//! The machine: hwloc topology, location expressions, placements, binding and reading back.

use serde::{Deserialize, Serialize};

/// A machine: this one, a synthetic one or one from an hwloc XML file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {}
