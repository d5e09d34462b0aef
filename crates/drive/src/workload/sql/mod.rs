//! Statements and transactions of one's own, from one file, on every engine.
//!
//! | file | holds |
//! | --- | --- |
//! | `settings` | which file; the keys of a study |
//! | `file` | the file as it is written |
//! | `sizes` | sizes that a study changes, and sums of them |
//! | `mix` | what a file comes to: transactions with weights |
//! | `statement` | a statement: its text with what stands in it |
//! | `parameter` | parameters and how their values are drawn; numbers that all clients count on |
//! | `pgbench` | scripts of pgbench, as such a file; SQL text, statement by statement |
//! | `step`, `steps` | what a trial does one after the other: who does what, and the runs |
//! | `fill` | schema and rows |
//! | `client` | one connection that runs transactions |
//! | `tally` | latency and rows by statement, errors by class |
//! | `load` | what a trial does with it |
//! | `error` | what can go wrong |
mod client;
mod error;
mod file;
mod fill;
mod load;
mod mix;
mod parameter;
mod pgbench;
mod settings;
mod sizes;
mod statement;
mod step;
mod steps;
mod tally;

pub use pgbench::{Script, ScriptError, Scripts, of_scripts};
pub use settings::{BUILTIN_NAMES, LARGEST, SqlSettings, read_statements};
