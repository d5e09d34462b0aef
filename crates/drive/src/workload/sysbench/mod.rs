//! sysbench itself as the client: its built-in scripts and own ones.
//!
//! | file | holds |
//! | --- | --- |
//! | `settings` | which script on which tables; the keys of a study |
//! | `arguments` | what is put on its command line |
//! | `load` | what a trial does with it |

mod arguments;
mod load;
mod settings;

pub use settings::SysbenchSettings;
