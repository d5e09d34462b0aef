//! From a study file to finished trials.
//!
//! | file | holds |
//! | --- | --- |
//! | `spec`, `settings` | a study, and what one trial needs to know |
//! | `field`, `sampling_field`, `machine` | every key a study may hold |
//! | `document`, `parse`, `check`, `write`, `builtin` | TOML to study and back, and the built-in ones |
//! | `design`, `plan` | factors to conditions, conditions to a schedule on a machine |
//! | `run`, `queue`, `child`, `progress` | the run: trials as child processes, in order |
//! | `trial`, `dataset`, `server_start`, `session_load`, `counters_trial` | one trial |
//! | `state` | what is kept between commands: locks, journal, caches |

pub mod builtin;
pub mod check;
pub mod child;
pub mod counters_trial;
pub mod dataset;
pub mod design;
pub mod document;
pub mod field;
pub mod machine;
pub mod parse;
pub mod plan;
pub mod progress;
pub mod queue;
pub mod run;
pub mod sampling_field;
pub mod server_start;
pub mod session_load;
pub mod settings;
pub mod spec;
pub mod state;
pub mod trial;
pub mod write;
