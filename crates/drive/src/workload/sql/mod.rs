//! Statements and transactions of one's own, from one file, on every engine.
//!
//! | file | holds |
//! | --- | --- |
//! | `settings` | which file; the keys of a study |
//! | `file` | the file as it is written |
//! | `mix` | what it comes to: transactions with weights, parameters and how they are drawn |
//! | `pgbench` | scripts of pgbench, as such a file |
//! | `script` | SQL text, statement by statement |
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
mod pgbench;
mod script;
mod settings;
mod tally;

pub use pgbench::{Script, of_scripts};
pub use settings::SqlSettings;
