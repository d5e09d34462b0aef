//! The database engines: start a server, wait until it answers, connect, stop it.
//!
//! | folder or file | holds |
//! | --- | --- |
//! | `contract/` | the interface of every engine: the traits [`Engine`], [`Server`], [`Session`] and [`Dialect`], their requests and errors |
//! | `registry` | finds an engine by its name, and the installed server programs |
//! | `mariadb/`, `mysql`, `postgres/`, `sqlite/` | the engines; `wire/` is the protocol that MariaDB and MySQL share |
//! | `programs/` | finding a server program, its version, and what distinguishes it from another build |
//! | `process/` | the life of a server process: spawn, watch, stop, and cleaning up after kill -9 |
//! | `data/` | prepared data directories, the one working copy that trials use, run directories |
//! | `login/` | how to reach a running server: option files, password files, service files |
//! | `transport/` | the bytes between client and server, and limits on their number and duration; `tls` encrypts them |
//!
//! A server never outlives the thread that started it: the kernel kills it when that *thread* ends
//! (`PR_SET_PDEATHSIG`), so start servers from a thread that lives as long as they should.

// Used only within this workspace: an item whose name and type say everything needs no comment.
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

pub use crate::process::guard::stopped_processes;
pub use crate::process::listed::{ListedFolder, TaggedProcesses};
pub use crate::process::memory::Allocator;
pub use crate::registry::installed;
pub use contract::address::{Address, Charset, ConnectTarget, PasswordKey, Tls, TlsIdentity, TlsMode, Transport};
pub use contract::diagnostics::{Diagnostics, LockWait, SelfReport, Unavailable};
pub use contract::dialect::{
    Backlog, BulkLoad, Collation, Counted, Dialect, Done, Identity, Index, PoolPages, Scan, SysbenchDriver,
};
pub use contract::error::{EngineError, Scarce};
pub use contract::option_file::{OptionFile, bytes, same_value};
pub use contract::running::RunningServer;
pub use contract::server::{
    DEFAULT_DATABASE, DataDirectory, Engine, Fill, Footprint, PoolMemory, PrepareRequest, Server, StartRequest,
    StopOutcome,
};
pub use contract::session::{
    Code, DESCRIPTORS_OF_SESSION, Param, SET_UP, SILENCE, Session, SqlError, SqlErrorKind, SqlState, StatementId,
};
pub use data::cache::remove_half_made;
pub use data::working::{WorkingCopy, remove_working_copies};
pub use login::{Login, target_of};
pub use mariadb::Mariadb;
pub use mysql::Mysql;
pub use postgres::Postgresql;
pub use process::address_space::{Aslr, Positions};
pub use process::before_exec::dies_with_parent;
pub use process::guard::{interrupted, interrupted_by};
pub use process::leftovers::{Reaped, reap_leftovers};
pub use process::process_tree::KILL_LIMIT;
pub use programs::ask::list_questions_in;
pub use programs::content::{file_sha1, program_sha1, remembered_sha1};
pub use programs::program::{Binary, ProgramFile, build_id, is_program, own_program, prefer_programs, symbol_file};
pub use registry::{UnknownEngine, engine_by_name, engine_name, engine_names, engines};
pub use sqlite::Sqlite;
pub use transport::spin::Spinning;
pub use transport::stream::Interrupter;
