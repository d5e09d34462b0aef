//! The language of studies: TOML to a checked study and back.
//!
//! | file | holds |
//! | --- | --- |
//! | `spec`, `settings` | a study, and what one trial needs to know |
//! | `key`, `fields`, `sampling_field`, `lists` | every key a study may hold |
//! | `machine`, `process`, `limit` | machine settings, properties of the server process, limits of interference |
//! | `other_host` | clients on another host |
//! | `running` | a server that runs already |
//! | `decide` | two sides, and how it is settled whether they differ |
//! | `refused` | keys that no study holds: passwords, and keys that went |
//! | `values` | settings as a plan keeps them |
//! | `target`, `without_effect` | what keys and levels set; what the command line sets in vain |
//! | `document`, `parse`, `check`, `write`, `builtin` | TOML to study and back, and the built-in ones |
//! | `made` | a study without a file, from options of a command line |

pub mod builtin;
pub mod check;
pub mod decide;
pub mod document;
pub mod fields;
pub mod key;
pub mod limit;
mod lists;
pub mod machine;
pub mod made;
#[cfg(test)]
mod mistakes_tests;
pub mod other_host;
pub mod parse;
#[cfg(test)]
mod parse_loads_tests;
pub mod process;
mod refused;
pub mod running;
mod sampling_field;
pub mod settings;
pub mod spec;
mod target;
pub mod values;
pub mod without_effect;
pub mod write;
