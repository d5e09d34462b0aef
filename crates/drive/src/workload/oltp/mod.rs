//! The OLTP workloads of sysbench 1.0.20, statement by statement, so that figures can be compared and either program
//! can run on tables that the other one created.
//!
//! | file | holds |
//! | --- | --- |
//! | `settings` | the workload, the number and size of its tables, the distribution of keys; the keys of a study |
//! | `statements` | the texts of statements and columns, the statements of each transaction, and their time in the capture sample |
//! | `client` | one connection that runs transactions; clients that wait for a restarted server |
//! | `work` | the transactions of a connection, and how a statement is sent: prepared or as text |
//! | `grouped`, `one_statement` | the transactions of the workloads, by kind |
//! | `load` | a trial with the load; warming the buffer pool before the first sample, and its proof |
//! | `fill` | filling of tables by INSERTs or a stream, checking and dropping them |
//!
//! Two differences from sysbench are deliberate. After a deadlock, lock timeout or busy error, a transaction is rolled
//! back before it is run again: sysbench restarts at once, which after a lock timeout commits the half that was done
//! and can lose rows. On SQLite, which sysbench does not support, `BEGIN IMMEDIATE` begins transactions that write.

mod client;
mod error;
mod fill;
mod grouped;
mod load;
mod one_statement;
mod settings;
mod statements;
mod work;

#[cfg(test)]
mod fake;

use super::SessionError;

pub use client::OltpClient;
pub use error::OltpError;
pub use fill::{check, cleanup, prepare, prepare_bulk};
pub(super) use load::number_on;
pub use settings::{OltpSettings, QueryCounts, Tables, Until, Warm, Workload};
pub use statements::Fill;
pub use work::ClientSlot;
