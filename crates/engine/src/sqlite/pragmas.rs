//! Options of the embedded engine: PRAGMAs, set on every connection and read back.

use crate::EngineError;
use crate::contract::option_file::same_value;
use rusqlite::{Connection, ErrorCode};
use std::collections::BTreeMap;

/// The engine `sqlite`: the SQLite that is built into this program.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sqlite;

pub(super) const NAME: &str = "sqlite";

/// Set unless the options say otherwise. WAL lets readers and a writer run at once; with it, `synchronous = normal`
/// does not sync at each commit; mapped files are read without a copy; BUSY is returned at once, and the client
/// retries.
const DEFAULTS: [(&str, &str); 6] = [
    ("journal_mode", "wal"),
    ("synchronous", "normal"),
    ("cache_size", "-16384"),
    ("mmap_size", "1073741824"),
    ("temp_store", "memory"),
    ("busy_timeout", "0"),
];

/// Options that determine the format of the file; they must be set before the first write, that is, before WAL.
pub(super) const SHAPING: [&str; 3] = ["page_size", "auto_vacuum", "encoding"];

/// An option that was refused: its name and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("option refused: {option}: {reason}")]
pub(super) struct Refused {
    pub option: String,
    pub reason: String,
}

#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum NotSet {
    #[error(transparent)]
    Refused(#[from] Refused),
    /// SQLite cannot use its files, whatever the option.
    #[error(transparent)]
    Files(rusqlite::Error),
}

/// Sets the defaults and `options` and reads each back.
pub(super) fn apply(connection: &Connection, options: &BTreeMap<String, String>) -> Result<(), NotSet> {
    let mut all: BTreeMap<String, String> =
        DEFAULTS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    all.extend(options.iter().map(|(name, value)| (name.to_lowercase(), value.clone())));
    let mut all: Vec<_> = all.iter().collect();
    all.sort_by_key(|(name, _)| turn(name));
    all.into_iter().try_for_each(|(name, value)| set(connection, name, value))
}

/// The order of setting: first the options that determine the file format, beginning with the page size, because
/// setting another one creates the file. `busy_timeout` comes last: entering WAL may have to wait for another
/// connection.
fn turn(name: &str) -> u8 {
    match name {
        "page_size" => 0,
        name if SHAPING.contains(&name) => 1,
        "busy_timeout" => 3,
        _ => 2,
    }
}

fn set(connection: &Connection, name: &str, value: &str) -> Result<(), NotSet> {
    let refuse = |reason: String| Err(Refused { option: name.to_owned(), reason }.into());
    let failed = |error: rusqlite::Error| match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure | ErrorCode::NotADatabase) => Err(NotSet::Files(error)),
        _ => refuse(error.to_string()),
    };
    match is_known(connection, name) {
        Ok(true) => {}
        Ok(false) => return refuse("SQLite has no such PRAGMA".to_owned()),
        Err(error) => return failed(error),
    }
    // Words, numbers and signs only: the value becomes part of the statement.
    if value.is_empty() || !value.chars().all(|c| c.is_ascii_alphanumeric() || "+-._".contains(c)) {
        return refuse(format!("{value:?} is not a valid PRAGMA value: expected a word or a number"));
    }
    match connection.query_row(&format!("PRAGMA {name} = {value}"), [], |_| Ok(())) {
        Ok(()) | Err(rusqlite::Error::QueryReturnedNoRows) => {}
        Err(error) => return failed(error),
    }
    match read(connection, name) {
        Ok(Some(found)) if same_value(number_of(name, value), &found) => Ok(()),
        Ok(Some(found)) => {
            refuse(format!("requested {value}, but SQLite has {found}; choose a value that it does not adjust"))
        }
        Ok(None) => refuse("is an action without a value, not a setting".to_owned()),
        Err(error) => failed(error),
    }
}

pub(super) fn names() -> Result<Vec<String>, EngineError> {
    let read = || -> rusqlite::Result<Vec<String>> {
        let connection = Connection::open_in_memory()?;
        let mut list = connection.prepare("SELECT name FROM pragma_pragma_list")?;
        list.query_map([], |row| row.get(0))?.collect()
    };
    read().map_err(|e| EngineError::OptionRefused {
        engine: NAME,
        option: "pragma_list".to_owned(),
        reason: e.to_string(),
    })
}

fn is_known(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    let count: i64 =
        connection.query_row("SELECT count(*) FROM pragma_pragma_list WHERE name = ?", [name], |row| row.get(0))?;
    Ok(count > 0)
}

/// A PRAGMA's value as text; `None` if it has none.
fn read(connection: &Connection, name: &str) -> rusqlite::Result<Option<String>> {
    let text = |row: &rusqlite::Row<'_>| {
        Ok(match row.get_ref(0)? {
            rusqlite::types::ValueRef::Integer(number) => number.to_string(),
            rusqlite::types::ValueRef::Real(number) => number.to_string(),
            other => String::from_utf8_lossy(other.as_bytes().unwrap_or_default()).into_owned(),
        })
    };
    match connection.query_row(&format!("PRAGMA {name}"), [], text) {
        Ok(value) => Ok(Some(value)),
        Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The number that SQLite reports for a word.
fn number_of<'a>(name: &str, value: &'a str) -> &'a str {
    let words: &[&str] = match name {
        "synchronous" => &["off", "normal", "full", "extra"],
        "temp_store" => &["default", "file", "memory"],
        "auto_vacuum" => &["none", "full", "incremental"],
        _ => return value,
    };
    match words.iter().position(|word| value.eq_ignore_ascii_case(word)) {
        Some(number) => ["0", "1", "2", "3"][number],
        None => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(options: &[(&str, &str)]) -> Result<(), NotSet> {
        let folder = tempfile::tempdir().unwrap();
        let connection = Connection::open(folder.path().join("db")).unwrap();
        let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        apply(&connection, &options)
    }

    #[test]
    fn a_pragma_that_reads_back_is_accepted() {
        assert_eq!(with(&[]), Ok(()));
        assert_eq!(
            with(&[
                ("page_size", "8192"),
                ("Synchronous", "FULL"),
                ("journal_mode", "delete"),
                ("auto_vacuum", "incremental")
            ]),
            Ok(())
        );
    }

    #[test]
    fn an_unknown_pragma_or_one_that_does_not_read_back_is_refused() {
        for (name, value) in [
            ("cash_size", "1"),
            ("page_size", "1000"),
            ("journal_mode", "wall"),
            ("synchronous", "1; DROP TABLE t"),
            ("shrink_memory", "1"),
            ("cache_size", ""),
        ] {
            let error = with(&[(name, value)]).unwrap_err();
            assert!(matches!(&error, NotSet::Refused(refused) if refused.option == name), "{error}");
        }
    }
}
