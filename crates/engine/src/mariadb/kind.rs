//! What MariaDB and MySQL do differently, of all that starts, fills and asks a private instance.

use super::dialect::InnoDb;
use crate::{Binary, Engine, EngineError, PrepareRequest, Session};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tare_files::LogFile;

/// Makes an empty data directory inside a directory, with the options that shape its files.
type Install = fn(&Binary, &PrepareRequest, &BTreeMap<String, String>, &Path) -> Result<(), EngineError>;

/// What a data directory says of who made it, in its own words.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MadeBy {
    Version(String),
    Another(String),
}

pub(crate) struct Kind {
    pub engine: &'static dyn Engine,
    pub name: &'static str,
    /// The series from which on the buffer pool is interleaved over all nodes by default; none: in none.
    pub interleaves_from: Option<(u32, u32)>,
    pub start_cost_s: f64,
    pub fresh_cost_s: f64,
    /// File names of its server programs, where they are, and the command that installs one.
    pub programs: &'static [&'static str],
    pub places: fn() -> Vec<PathBuf>,
    pub install_command: &'static str,
    pub login_groups: &'static [&'static str],
    pub socket: &'static str,
    pub variables: &'static str,
    /// A row of name, value, default, source, unit and option file for each of its settings.
    pub settings: &'static str,
    pub dialect: &'static InnoDb,
    pub find: fn(Option<&Path>) -> Result<Binary, EngineError>,
    /// Who made a data directory; none when it does not say.
    pub made_by: fn(&Path) -> Option<MadeBy>,
    /// Makes the data directory `data` in a directory.
    pub install: Install,
    /// What its command line has alongside that of the other one; for a server whose lock waits can be read, or not.
    pub arguments: fn(&Path, &LogFile, bool) -> Vec<OsString>,
    /// Before a fresh data directory is filled, of which nothing is kept unless it becomes whole: makes that quicker.
    pub begin_fill: fn(&mut dyn Session) -> Result<(), EngineError>,
    /// After it: everything is again as the server has it by default, and proved to be.
    pub end_fill: fn(&mut dyn Session) -> Result<(), EngineError>,
    /// Afterwards root can come over the socket only.
    pub root_stays_local: fn(&mut dyn Session) -> Result<(), EngineError>,
    /// The RSA key (PEM) with which passwords may be encrypted for the server, in its own words; none: it has none.
    pub password_key: fn(&mut dyn Session) -> Result<Option<String>, EngineError>,
    /// Makes this account ('name'@'host') with a password.
    pub account: fn(&str, &str) -> Vec<String>,
}

pub(crate) trait OfKind: Send + Sync {
    fn kind(&self) -> &'static Kind;
}
