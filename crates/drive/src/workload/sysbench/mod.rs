//! sysbench as the client, with its built-in or custom scripts.
//!
//! | file | holds |
//! | --- | --- |
//! | `settings` | the script and its tables; the keys of a study |
//! | `arguments` | its command line |
//! | `load` | a trial with sysbench |

mod arguments;
mod load;
mod settings;

pub(crate) use settings::SysbenchSettings;
