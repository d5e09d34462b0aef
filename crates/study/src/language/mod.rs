//! The language of studies: converts TOML to a checked study and back.
//!
//! | file | holds |
//! | --- | --- |
//! | `spec`, `settings` | a study, and the settings of one trial: of the server process, limits on interference |
//! | `key`, `fields`, `lists` | all keys of a study |
//! | `decide` | two sides, and the rule that decides whether they differ |
//! | `values` | what a key or level sets, machine settings, and settings in the form that a plan stores |
//! | `document`, `parse`, `check` | TOML to study; keys that are refused with a hint |
//! | `elsewhere` | a server that is already running, and clients on another host |
//! | `write`, `builtin` | a study to TOML, and the built-in studies |
//! | `made`, `load_name` | a study from command line options, and their changes to one; what the name of a load means |

pub mod builtin;
mod check;
pub mod decide;
pub mod document;
pub(crate) mod elsewhere;
pub mod fields;
mod key;
mod lists;
pub mod load_name;
pub mod made;
#[cfg(test)]
mod mistakes_tests;
pub mod parse;
#[cfg(test)]
mod parse_loads_tests;
pub mod settings;
pub mod spec;
pub mod values;
pub mod write;
