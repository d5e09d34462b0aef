//! The OLTP workloads of sysbench 1.0.20, statement by statement, so that figures can be compared and either program
//! can run on tables that the other one created.
//!
//! | file | holds |
//! | --- | --- |
//! | `settings` | the workload, the number and size of its tables, the distribution of keys |
//! | `statements` | the texts, and the statements of each transaction |
//! | `client` | one connection that runs transactions |
//! | `work`, `ready` | the transactions of a connection, and how a statement is sent: prepared or as text |
//! | `grouped`, `random_selects`, `inserts` | the transactions of the workloads, by kind |
//! | `times` | the time of each kind of statement, in the capture sample |
//! | `keys`, `load` | the keys of a study, and a trial with the load |
//! | `reconnect` | clients that wait for a restarted server |
//! | `fill`, `text`, `tables` | filling of tables by INSERTs or a stream, checking and dropping them |
//! | `warm_phase` | warming the buffer pool before the first sample, and its proof |
//!
//! Two differences from sysbench are deliberate. After a deadlock, lock timeout or busy error, a transaction is rolled
//! back before it is run again: sysbench restarts at once, which after a lock timeout commits the half that was done
//! and can lose rows. On SQLite, which sysbench does not support, `BEGIN IMMEDIATE` begins transactions that write.

mod client;
mod error;
mod fill;
mod grouped;
mod inserts;
mod keys;
mod load;
mod random_selects;
mod ready;
mod reconnect;
mod settings;
mod statements;
mod tables;
mod text;
mod times;
mod warm_phase;
mod work;

#[cfg(test)]
mod fake;

use super::SessionError;
pub use client::OltpClient;
pub use error::OltpError;
pub use fill::prepare;
pub use settings::{OltpSettings, QueryCounts, Tables, Until, Warm, Workload};
pub use tables::{check, cleanup, prepare_bulk};
pub use text::Fill;
pub use work::ClientSlot;
