//! pgbench as the client, with its built-in or custom scripts.
//!
//! | file | holds |
//! | --- | --- |
//! | `settings` | the scripts and the scale; the keys of a study |
//! | `arguments` | its command line |
//! | `load` | a trial with pgbench |

mod arguments;
mod load;
mod settings;

pub(crate) use settings::PgbenchSettings;
