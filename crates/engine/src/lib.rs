//! The databases: start, prove ready, connect, stop.
//!
//! | folder or file | holds |
//! | --- | --- |
//! | `contract/` | what every engine promises: the traits [`Engine`], [`Server`], [`Session`] and [`Dialect`], what they are asked with, how they fail |
//! | `registry` | the engine of a name |
//! | `mariadb/`, `mysql/`, `postgres/`, `sqlite/` | the engines; `wire/` is the protocol of the first two |
//! | `programs/` | a server program that was found, what it says of itself, and what tells it from another build |
//! | `process/` | the life of a server process: spawn, watch, stop, and what kill -9 leaves |
//! | `data/` | prepared data directories, the one working copy that trials work on, run directories |
//! | `login/` | how a server that runs already is reached: option files, files of passwords, services |
//! | `transport/` | the bytes between client and server, and limits on how many and how long; `tls/` encrypts them |
//!
//! A server never outlives the thread that started it: the kernel kills it when that *thread* ends
//! (`PR_SET_PDEATHSIG`), so start servers from a thread that lives as long as they should.

// Only crates of this workspace use it: where a name and a type say all, no comment does.
#![allow(missing_docs)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod contract;
mod data;
#[cfg(test)]
mod fake;
mod login;
mod mariadb;
mod mysql;
mod postgres;
mod process;
mod programs;
mod registry;
pub mod sqlite;
mod tls;
mod transport;
mod wire;

pub use contract::address::{Address, Charset, ConnectTarget, PasswordKey, Tls, TlsIdentity, TlsMode, Transport};
pub use contract::diagnostics::{Diagnostics, LockWait, SelfReport, ServerSetting, Unavailable, WaitKind};
pub use contract::dialect::{Backlog, BulkLoad, Collation, Counted, Dialect, Done, Identity, Index, PoolPages, Scan};
pub use contract::error::EngineError;
pub use contract::option_file::{OptionFile, bytes, same_value};
pub use contract::running::RunningServer;
pub use contract::server::{
    DEFAULT_DATABASE, DataDirectory, Engine, Fill, Footprint, PoolMemory, PrepareRequest, Server, StartRequest,
    StopOutcome,
};
pub use contract::session::{Code, Param, SET_UP, SILENCE, Session, SqlError, SqlErrorKind, SqlState, StatementId};
pub use data::cache::remove_half_made;
pub use data::working::{CopyMethod, Restored, WorkingCopy, remove_working_copies};
pub use login::{Login, target_of};
pub use mariadb::Mariadb;
pub use mysql::Mysql;
pub use postgres::Postgresql;
pub use process::address_space::{Aslr, Positions};
pub use process::allocator::Allocator;
pub use process::before_exec::dies_with_parent;
pub use process::guard::{interrupted, interrupted_by};
pub use process::leftovers::{Reaped, reap_leftovers};
pub use process::listed_folder::ListedFolder;
pub use process::tagged::TaggedProcesses;
pub use programs::ask::list_questions_in;
pub use programs::content::{file_sha1, program_sha1, remembered_sha1};
pub use programs::installed::installed;
pub use programs::program::{Binary, own_program, prefer_programs};
pub use programs::symbols::{ProgramFile, build_id, symbol_file};
pub use registry::{UnknownEngine, engine_by_name, engine_name, engine_names};
pub use sqlite::Sqlite;
pub use tare_cpuset::ThreadRef;
pub use transport::spin::Spinning;
pub use transport::stream::Interrupter;
