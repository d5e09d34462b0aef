//! The language of studies: TOML to a checked study and back.
//!
//! | file | holds |
//! | --- | --- |
//! | `spec`, `settings` | a study, and what one trial needs to know |
//! | `field`, `fields`, `sampling_field` | every key a study may hold |
//! | `document`, `parse`, `check`, `write`, `written`, `builtin` | TOML to study and back, and the built-in ones |

pub mod builtin;
pub mod check;
pub mod document;
pub mod field;
mod fields;
pub mod parse;
pub mod sampling_field;
pub mod settings;
pub mod spec;
mod value;
pub mod write;
pub mod written;
