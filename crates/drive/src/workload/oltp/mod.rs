//! The OLTP workloads of sysbench 1.0.20, statement by statement, so that figures can be compared and either program
//! can run on tables that the other one made.
//!
//! | file | holds |
//! | --- | --- |
//! | `settings` | which workload, on how many tables of how many rows, how keys are drawn |
//! | `statements` | the texts, and which of them make up a transaction |
//! | `client` | one connection that runs transactions |
//! | `work`, `ready` | what it does for a transaction, and how a statement is sent: prepared or as text |
//! | `grouped`, `random_selects`, `inserts` | the transactions of the workloads, by kind |
//! | `times` | how long each kind of statement takes, in the capture sample |
//! | `keys`, `load` | its keys of a study, and what a trial does with it |
//! | `reconnect` | clients that wait for a server which is started again |
//! | `fill`, `text`, `tables` | making the tables by INSERTs or a stream, checking and dropping them |
//! | `warm_phase` | a warm pool before the first sample, and its proof |
//!
//! Two differences from sysbench are deliberate. After a deadlock, lock timeout or busy, a transaction is rolled back
//! before it is run again: sysbench begins anew at once, which after a lock timeout commits the half that was done and
//! can lose rows. And on SQLite, which sysbench does not know, transactions that write begin with `BEGIN IMMEDIATE`.

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

pub use client::OltpClient;
pub use error::OltpError;
pub use fill::prepare;
pub use settings::{OltpSettings, QueryCounts, Tables, Until, Warm, Workload};
pub use tables::{check, cleanup, prepare_bulk};
pub use text::Fill;
pub use work::ClientSlot;
