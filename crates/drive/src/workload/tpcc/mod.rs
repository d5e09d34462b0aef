//! The transactions of TPC-C on a database: nine tables, five transactions, the standard's mix and skew, and its
//! consistency conditions. The result is not an audited TPC-C result, and may not be compared with one.
//!
//! Written after TPC Benchmark C, standard specification, revision 5.11; clauses are named for rules that come from
//! one. docs/tpcc.md lists the differences from the standard.
//!
//! | file | holds |
//! | --- | --- |
//! | `settings` | warehouses, keying, checked conditions, rows of each table; the keys of a study |
//! | `tables` | the nine tables and their indexes |
//! | `random` | texts, last names, non-uniform numbers |
//! | `rows` | the initial content of the tables |
//! | `batch`, `fill` | sending it to a server |
//! | `input` | the input of a transaction; the choice of the next transaction, keying and thinking |
//! | `statements` | the texts of all statements |
//! | `prepared` | the same, prepared on one session |
//! | `transactions` | the statements of each transaction |
//! | `client` | one connection that runs them, with restarts; the counts of clients |
//! | `conditions` | the consistency conditions, and the queries that find violations |
//! | `load` | a trial with the load, and an interactive run |
//! | `error` | errors |

mod batch;
mod client;
mod conditions;
mod error;
mod fill;
mod input;
mod load;
mod prepared;
mod random;
mod rows;
mod settings;
mod statements;
mod tables;
mod transactions;

use super::SessionError;
pub use client::{Tally, TpccClient};
pub use conditions::{CONDITIONS, Condition, check};
pub use error::TpccError;
pub use fill::{Fill, cleanup, prepare};
pub use input::Kind;
pub use random::Constants;
pub use settings::{Checked, Sizes, TpccSettings};
pub use statements::Statement;
pub(crate) use tables::TABLES;
