//! Reading a file of the user's own that may hold a password.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::EngineError;

/// The most that is read, bytes: a file of settings is no larger.
const LARGEST: u64 = 1 << 20;

/// Who may do what to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closed {
    /// Others may read it and must not write to it, as for MySQL's option files.
    ToWriters,
    /// Others may do nothing with it, as for PostgreSQL's file of passwords.
    ToAll,
}

/// The text of a file; none where there is none of that name.
///
/// # Errors
/// When it cannot be read, is no plain file, or is more open than it may be.
pub(super) fn read(path: &Path, closed: Closed) -> Result<Option<String>, EngineError> {
    let wrong = |reason: String| EngineError::LoginFile { path: path.to_owned(), reason };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(wrong(format!("cannot be read: {error}"))),
    };
    let meta = file.metadata().map_err(|error| wrong(format!("cannot be read: {error}")))?;
    if !meta.is_file() {
        return Err(wrong("is no plain file".to_owned()));
    }
    let (open, mode) = match closed {
        Closed::ToWriters => (meta.mode() & 0o002 != 0, "go-w"),
        Closed::ToAll => (meta.mode() & 0o077 != 0, "0600"),
    };
    if open {
        let what = if closed == Closed::ToAll { "others may read or change it" } else { "others may change it" };
        return Err(wrong(format!("{what}, and it may hold a password: chmod {mode} {}", path.display())));
    }
    let mut bytes = Vec::new();
    Read::by_ref(&mut file)
        .take(LARGEST)
        .read_to_end(&mut bytes)
        .map_err(|error| wrong(format!("cannot be read: {error}")))?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// A file in the user's home; `~/` at the beginning of a path that was given means the same.
pub(super) fn in_home(name: &str) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())?;
    Some(home.join(name))
}

/// A path as it was given, with `~/` at its beginning spelt out.
pub(super) fn given(path: &Path) -> PathBuf {
    path.strip_prefix("~").ok().and_then(|rest| in_home(&rest.display().to_string())).unwrap_or_else(|| path.to_owned())
}

/// A variable that holds a path or a name; empty is as good as none.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
