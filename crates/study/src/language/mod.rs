//! The language of studies: TOML to a checked study and back.
//!
//! | file | holds |
//! | --- | --- |
//! | `spec`, `settings` | a study, and what one trial needs to know |
//! | `key`, `fields`, `sampling_field` | every key a study may hold |
//! | `machine`, `process`, `limit` | machine settings, properties of the server process, limits of interference |
//! | `other_host`, `arguments` | clients on another host, programs with their arguments |
//! | `running` | a server that runs already |
//! | `decide` | two sides, and how it is settled whether they differ |
//! | `refused` | keys that no study holds: passwords, and keys that went |
//! | `values` | settings as a plan keeps them |
//! | `document`, `parse`, `check`, `write`, `builtin` | TOML to study and back, and the built-in ones |
//! | `places` | where what is checked in the end stands |
//! | `made` | a study without a file, from options of a command line |

mod arguments;
pub mod builtin;
pub mod check;
pub mod decide;
pub mod document;
pub mod fields;
pub mod key;
pub mod limit;
pub mod machine;
pub mod made;
pub mod other_host;
pub mod parse;
#[cfg(test)]
mod parse_loads_tests;
pub mod places;
pub mod process;
mod refused;
pub mod running;
mod sampling_field;
pub mod settings;
pub mod spec;
mod statements;
pub mod values;
pub mod write;
