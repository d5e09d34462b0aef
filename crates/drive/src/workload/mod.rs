//! The loads: what drives a system under test. Each has a folder that knows nothing of the others.
//!
//! | file | holds |
//! | --- | --- |
//! | `load` | what every load can do, and what it is given |
//! | `registry` | one line a load |
//! | `keys` | keys of a study that several loads have |
//! | `measured` | what a load gives; what readings and stalls say of a sample |
//! | `error` | why a load gave no result |
//! | `pool` | what a server holds of the data in memory, and having it read all of them |
//! | `fill` | several sessions that fill tables at the same time |
//! | `sessions/` | one connection a client thread: connected, bound, watched, judged |
//! | `program/` | programs of others as clients: found, bound, paired, read |
//! | `oltp/`, `dbt3/`, `counters/`, `command/`, `sysbench/`, `pgbench/`, `sql/`, `tpcc/` | the loads |

pub mod command;
pub mod counters;
pub mod dbt3;
mod error;
#[cfg(test)]
mod fake;
mod fill;
mod keys;
mod load;
mod measured;
pub mod oltp;
pub mod pgbench;
mod pool;
pub mod program;
mod registry;
pub mod sessions;
pub mod sql;
pub mod sysbench;
pub mod tpcc;

pub use error::{FillError, LoadError};
pub use fill::sessions_on;
pub use load::{FillJob, Host, Load, LoadContext, NamedLoad, Progress, ServerAt, Settle, TrialSize};
pub use measured::{Driven, Extra, Measured, Pool};
pub use pool::{PoolContents, Warm};
pub use registry::AnyLoad;
pub use tare_load::MOST_THREADS;
