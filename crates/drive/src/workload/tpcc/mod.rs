//! The transactions of TPC-C on a database: nine tables, five transactions, the standard's mix and skew, and its
//! consistency conditions. The result is not an audited TPC-C result, and may not be compared with one.
//!
//! Written after TPC Benchmark C, standard specification, revision 5.11; clauses are named for rules that come from
//! one. docs/tpcc.md lists the differences from the standard.
//!
//! | file | holds |
//! | --- | --- |
//! | `settings` | warehouses, keying, checked conditions, rows of each table; the keys of a study; the tables and their indexes |
//! | `random` | texts, last names, non-uniform numbers |
//! | `fill` | the initial content of the tables, sent to a server |
//! | `input` | the input of a transaction; the choice of the next transaction, keying and thinking |
//! | `statements` | the texts of all statements; the same, prepared on one session; errors |
//! | `client` | one connection that runs the transactions, with restarts; the counts of clients |
//! | `load` | a trial with the load, and an interactive run; the consistency conditions |

mod client;
mod fill;
mod input;
mod load;
mod random;
mod settings;
mod statements;

use super::SessionError;

pub use client::{Tally, TpccClient};
pub use fill::{Fill, cleanup, prepare};
pub use input::Kind;
pub use load::{CONDITIONS, Condition, check};
pub use random::Constants;
pub(crate) use settings::TABLES;
pub use settings::{Checked, Sizes, TpccSettings};
pub use statements::{Statement, TpccError};
