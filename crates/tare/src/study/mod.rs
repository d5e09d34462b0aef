//! From a study file to finished trials.
//!
//! | file | holds |
//! | --- | --- |
//! | `spec`, `settings` | a study, and what one trial needs to know |
//! | `field`, `sampling_field`, `machine` | every key a study may hold |
//! | `process`, `allocator` | properties of the server process as factors |
//! | `document`, `parse`, `check`, `write`, `builtin` | TOML to study and back, and the built-in ones |
//! | `adapt`, `design`, `plan` | a study made fit, factors to conditions, conditions to a schedule on a machine |
//! | `run`, `queue`, `child`, `progress` | the run: trials as child processes, in order |
//! | `trial`, `dataset`, `server_start` | one trial |
//! | `session_load`, `dbt3_load`, `session_threads`, `counters_trial` | its load |
//! | `contamination` | which trials were interfered with |
//! | `pilot` | counts chosen from the first trials |
//! | `state` | what is kept between commands: locks, journal, caches |

pub mod adapt;
pub mod allocator;
pub mod builtin;
pub mod check;
pub mod child;
pub mod contamination;
pub mod counters_trial;
pub mod dataset;
pub mod dbt3_load;
pub mod design;
pub mod document;
pub mod field;
mod fields;
pub mod loaded;
pub mod machine;
pub mod parse;
pub mod pilot;
pub mod plan;
pub mod process;
pub mod progress;
pub mod queue;
pub mod run;
pub mod sampling_field;
pub mod server_start;
pub mod session_load;
pub mod session_threads;
pub mod settings;
pub mod spec;
pub mod state;
pub mod trial;
mod value;
pub mod write;
