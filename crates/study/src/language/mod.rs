//! The language of studies: converts TOML to a checked study and back.
//!
//! | file | holds |
//! | --- | --- |
//! | `spec`, `settings` | a study, and the settings of one trial |
//! | `key`, `fields`, `sampling_field`, `lists` | all keys of a study |
//! | `machine`, `process`, `limit` | machine settings, properties of the server process, limits on interference |
//! | `other_host` | clients on another host |
//! | `running` | a server that is already running |
//! | `decide` | two sides, and the rule that decides whether they differ |
//! | `refused` | keys that are refused with a hint: passwords, and login paths |
//! | `values` | settings in the form that a plan stores |
//! | `target`, `without_effect` | what a key or level sets; command line settings without effect |
//! | `document`, `parse`, `command_line`, `check` | TOML to study, with the changes of the command line |
//! | `write`, `builtin` | a study to TOML, and the built-in studies |
//! | `made`, `load_name` | a study without a file, from command line options; what the name of a load means |

pub mod builtin;
mod check;
mod command_line;
pub mod decide;
pub mod document;
pub mod fields;
mod key;
pub mod limit;
mod lists;
pub mod load_name;
pub mod machine;
pub mod made;
#[cfg(test)]
mod mistakes_tests;
pub(crate) mod other_host;
pub mod parse;
#[cfg(test)]
mod parse_loads_tests;
pub mod process;
mod refused;
mod running;
mod sampling_field;
pub mod settings;
pub mod spec;
mod target;
pub mod values;
pub mod without_effect;
pub mod write;
