//! What differs between MariaDB and MySQL when a private instance is started, filled and queried.

use super::dialect::InnoDb;
use crate::{Binary, Engine, EngineError, PrepareRequest, Session};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tare_files::LogFile;

/// Creates an empty data directory inside a directory, with the options that determine the format of its files.
type Install = fn(&Binary, &PrepareRequest, &BTreeMap<String, String>, &Path) -> Result<(), EngineError>;

/// The creator of a data directory, as recorded in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MadeBy {
    Version(String),
    Another(String),
}

pub(crate) struct Kind {
    pub engine: &'static dyn Engine,
    pub name: &'static str,
    /// The first series that interleaves the buffer pool over all nodes by default; none if no series does.
    pub interleaves_from: Option<(u32, u32)>,
    pub start_cost_s: f64,
    pub fresh_cost_s: f64,
    /// File names of its server programs, their folders, and the command that installs one.
    pub programs: &'static [&'static str],
    pub places: fn() -> Vec<PathBuf>,
    pub install_command: &'static str,
    pub login_groups: &'static [&'static str],
    pub socket: &'static str,
    pub variables: &'static str,
    /// A query with a row of name, value, default, source, unit and option file for each setting.
    pub settings: &'static str,
    pub dialect: &'static InnoDb,
    pub find: fn(Option<&Path>) -> Result<Binary, EngineError>,
    /// The creator of a data directory; none if the directory does not record it.
    pub made_by: fn(&Path) -> Option<MadeBy>,
    /// Creates the data directory `data` inside a directory.
    pub install: Install,
    /// Additional arguments of this kind of server; the flag says whether its lock waits are to be readable.
    pub arguments: fn(&Path, &LogFile, bool) -> Vec<OsString>,
    /// Speeds up the filling of a fresh data directory, which is discarded unless it is completed.
    pub begin_fill: fn(&mut dyn Session) -> Result<(), EngineError>,
    /// Runs after it: restores the server's defaults and verifies them.
    pub end_fill: fn(&mut dyn Session) -> Result<(), EngineError>,
    pub root_stays_local: fn(&mut dyn Session) -> Result<(), EngineError>,
    /// The RSA key (PEM) that encrypts passwords for the server, as the server reports it; none if it has none.
    pub password_key: fn(&mut dyn Session) -> Result<Option<String>, EngineError>,
    /// Statements that create an account ('name'@'host') with a password.
    pub account: fn(&str, &str) -> Vec<String>,
    /// Arguments of a server whose clients may not choose the folder of a table (DATA DIRECTORY).
    pub tables_stay_inside: &'static [&'static str],
}

pub(crate) trait OfKind: Send + Sync {
    fn kind(&self) -> &'static Kind;
}
