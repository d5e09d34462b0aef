//! The user's own statements and transactions, from one file, on every engine.
//!
//! | file | holds |
//! | --- | --- |
//! | `settings` | the file of statements; the keys of a study |
//! | `file` | the file as it is written; sizes that a study changes, and expressions with them |
//! | `mix` | the parsed file: transactions with weights |
//! | `statement` | a statement: its text and its parameters |
//! | `parameter` | parameters and how their values are drawn; counters shared by all clients |
//! | `pgbench` | conversion of pgbench scripts to a file of statements; splitting SQL text into statements |
//! | `step`, `steps` | steps of a trial: their roles, and the runs |
//! | `client` | one connection that runs transactions; latency and rows by statement, errors by class; errors |
//! | `load` | schema and rows, and a trial with the statements |
mod client;
mod file;
mod load;
mod mix;
mod parameter;
mod pgbench;
mod settings;
mod statement;
mod step;
mod steps;

pub use pgbench::{Script, ScriptError, Scripts, of_scripts};
pub use settings::{BUILTIN_NAMES, LARGEST, SqlSettings, read_statements};
