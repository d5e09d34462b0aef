//! The databases: start, prove ready, connect, stop.
//!
//! | file | holds |
//! | --- | --- |
//! | `diagnostics` | what a running server says of itself: lock waits, counters |
//! | `session`, `code` | one connection as a workload sees it, and what its errors are called |
//! | `dialect` | the SQL that a database speaks |
//! | `server` | the traits [`Engine`] and [`Server`] and what they are asked with |
//! | `registry` | the engine of a name |
//! | `mariadb/`, `mysql/`, `postgres/`, `sqlite/` | the engines; `wire/` is the protocol of the first two |
//! | `program`, `self_told`, `build_id`, `installed` | a server program that was found, and what tells it from another build |
//! | `huge_pages` | whether a server has those that it was asked to use |
//! | `option_file`, `server_settings` | what a file gives a server, and what a server says of all its settings |
//! | `running` | a server that somebody else runs |
//! | `namespace` | for servers that refuse to run as root |
//! | `process`, `instance`, `leftovers` | the life of a server process: spawn, watch, stop, and what kill -9 leaves |
//! | `family`, `identity` | a server and all that it starts, however far that goes |
//! | `marked` | programs of others that are no servers, and all that they start |
//! | `interrupt` | the end of this program is wanted |
//! | `allocator` | another memory allocator, preloaded |
//! | `address` | where a server listens, and how a client reaches it |
//! | `address_space` | randomisation and fixed layouts of a server process |
//! | `cache`, `directories` | prepared data directories, private copies, run directories |
//! | `room` | copies of files: blocks shared, or room looked for first |
//! | `working/` | the one copy of prepared data that trials work on, brought back before each |
//! | `socket`, `stream`, `answer`, `ask` | limits: how long servers and programs may take, how much they may say |
//! | `tls` | encrypted connections, and who is believed to be the server |
//! | `log`, `guard` | a server's log; the end of a server when it fills the disk or is no longer wanted |
//! | `login` | how a server that runs already is reached: option files, files of passwords, services |
//! | `content` | which program a server process runs |
//! | `threads` | the server thread behind a connection, for engines that cannot say it |
//!
//! A server never outlives the thread that started it: the kernel kills it when that *thread* ends
//! (`PR_SET_PDEATHSIG`), so start servers from a thread that lives as long as they should.

mod address;
mod address_space;
mod allocator;
mod answer;
mod ask;
mod buffer;
mod build_id;
mod cache;
mod code;
mod content;
mod diagnostics;
mod dialect;
mod directories;
mod error;
#[cfg(test)]
mod fake;
mod family;
mod guard;
mod huge_pages;
mod identity;
mod initialised;
mod installed;
mod installer;
mod instance;
mod interrupt;
mod leftovers;
mod log;
mod login;
mod mariadb;
mod marked;
mod mysql;
mod namespace;
mod option_file;
mod options;
mod postgres;
mod process;
mod program;
mod registry;
mod room;
mod running;
mod secret;
mod self_told;
mod server;
mod server_settings;
mod session;
mod socket;
pub mod sqlite;
mod stream;
mod threads;
mod tls;
mod wire;
mod working;

pub use address::{Address, ConnectTarget, Tls, TlsIdentity, TlsMode, Transport};
pub use address_space::{Aslr, Positions};
pub use allocator::Allocator;
pub use ask::list_questions_in;
pub use cache::remove_half_made;
pub use code::{Code, SqlState};
pub use content::program_sha1;
pub use diagnostics::{Diagnostics, LockWait, Unavailable};
pub use dialect::{BulkLoad, Collation, Counted, Dialect, Identity, Index, Scan};
pub use error::EngineError;
pub use installed::installed;
pub use interrupt::{interrupted, interrupted_by};
pub use leftovers::{Reaped, reap_leftovers};
pub use login::{Login, target_of};
pub use mariadb::Mariadb;
pub use marked::Marked;
pub use mysql::Mysql;
pub use option_file::OptionFile;
pub use options::same_value;
pub use postgres::Postgresql;
pub use process::dies_with_parent;
pub use program::{Binary, prefer_programs};
pub use registry::{UnknownEngine, engine_by_name, engine_names};
pub use running::RunningServer;
pub use server::{
    DEFAULT_DATABASE, DataDirectory, Engine, Fill, Footprint, PrepareRequest, Server, StartRequest, StopOutcome,
};
pub use server_settings::{SelfReport, ServerSetting};
pub use session::{Param, SILENCE, Session, SqlError, SqlErrorKind, StatementId};
pub use sqlite::Sqlite;
pub use stream::Interrupter;
pub use tare_cpuset::ThreadRef;
pub use threads::find_serving_thread;
pub use working::{Restored, Way, WorkingCopy, remove_working_copies};
