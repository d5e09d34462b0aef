//! The transactions of TPC-C on a database: nine tables, five transactions, the standard's mix and skew, and its
//! consistency conditions. What it gives is no audited TPC-C result, and may not be compared with those.
//!
//! Written after TPC Benchmark C, standard specification, revision 5.11; clauses are named where a rule comes from
//! one. docs/tpcc.md says what differs from the standard.
//!
//! | file | holds |
//! | --- | --- |
//! | `settings` | how many warehouses, keying, which conditions; the keys of a study |
//! | `sizes` | rows of each table |
//! | `tables` | the nine tables and their indexes |
//! | `random` | texts, last names, non-uniform numbers |
//! | `rows` | what the tables hold at first |
//! | `batch`, `fill` | bringing that into a server |
//! | `deck` | which transaction comes next, keying and thinking |
//! | `input` | what a transaction is asked |
//! | `statements` | the texts of all statements |
//! | `prepared` | the same on one session |
//! | `transactions` | what each transaction does with them |
//! | `client` | one connection that runs them, with restarts |
//! | `tally` | what clients count |
//! | `conditions` | what must hold in the tables, and finding where it does not |
//! | `load` | what a trial does, and someone at a prompt |
//! | `error` | what can go wrong |

mod batch;
mod client;
mod conditions;
mod deck;
mod error;
mod fill;
mod input;
mod load;
mod prepared;
mod random;
mod rows;
mod settings;
mod sizes;
mod statements;
mod tables;
mod tally;
mod transactions;

pub use client::TpccClient;
pub use conditions::{CONDITIONS, Condition, check};
pub use deck::Kind;
pub use error::TpccError;
pub use fill::{Fill, cleanup, prepare};
pub use random::Constants;
pub use settings::{Checked, TpccSettings};
pub use sizes::{LEAST_SCALE, MOST_WAREHOUSES, Sizes};
pub use statements::Statement;
pub use tables::TABLES;
pub use tally::Tally;
