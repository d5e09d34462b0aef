//! The loads, which drive a system under test. Each is in a file or directory that is independent of the others.
//!
//! | file | holds |
//! | --- | --- |
//! | `load` | the interface of all loads, and the context in which a load runs |
//! | `registry` | one line per load |
//! | `keys` | keys of a study that several loads have |
//! | `measured` | the result of a load; covariates of readings and stalls |
//! | `error` | errors of a load |
//! | `pool` | the content of a server's buffer pool, and preloading of all data |
//! | `fill` | concurrent sessions that fill tables |
//! | `sessions/` | one connection per client thread: connected, bound, watched, judged |
//! | `program/` | external programs as clients: found, bound, paired, their output parsed |
//! | `oltp/`, `dbt3/`, `sql/`, `tpcc/`, `counters`, `command`, `sysbench`, `pgbench` | the loads |

mod command;
mod counters;
pub mod dbt3;
mod error;
#[cfg(test)]
mod fake;
mod fill;
mod keys;
mod load;
mod measured;
pub mod oltp;
mod pgbench;
mod pool;
pub mod program;
mod registry;
pub mod sessions;
pub mod sql;
mod sysbench;
pub mod tpcc;

pub use error::{FillError, LoadError, SessionError};
pub use fill::sessions_on;
pub use load::{FillJob, Filled, Host, Load, LoadContext, Progress, ServerAt, Settle, TrialSize};
pub use measured::{Driven, Extra, Measured, Pool};
pub(crate) use pool::PoolContents;
pub use pool::Warm;
pub use registry::AnyLoad;
pub use tare_load::MOST_THREADS;
