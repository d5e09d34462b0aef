//! The transactions of TPC-C on a database: nine tables, five transactions, the standard's mix and skew, and its
//! consistency conditions. What it gives is no audited TPC-C result, and may not be compared with those.
//!
//! Written after TPC Benchmark C, standard specification, revision 5.11; clauses are named where a rule comes from
//! one. docs/tpcc.md says what differs from the standard.
//!
//! | file | holds |
//! | --- | --- |
//! | `settings` | how many warehouses, keying, which conditions, rows of each table; the keys of a study |
//! | `tables` | the nine tables and their indexes |
//! | `random` | texts, last names, non-uniform numbers |
//! | `rows` | what the tables hold at first |
//! | `batch`, `fill` | bringing that into a server |
//! | `input` | what a transaction is asked; which transaction comes next, keying and thinking |
//! | `statements` | the texts of all statements |
//! | `prepared` | the same on one session |
//! | `transactions` | what each transaction does with them |
//! | `client` | one connection that runs them, with restarts; what clients count |
//! | `conditions` | what must hold in the tables, and finding where it does not |
//! | `load` | what a trial does, and someone at a prompt |
//! | `error` | what can go wrong |

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

pub use client::{Tally, TpccClient};
pub use conditions::{CONDITIONS, Condition, check};
pub use error::TpccError;
pub use fill::{Fill, cleanup, prepare};
pub use input::Kind;
pub use random::Constants;
pub use settings::{Checked, LEAST_SCALE, MOST_WAREHOUSES, Sizes, TpccSettings};
pub use statements::Statement;
pub use tables::TABLES;
