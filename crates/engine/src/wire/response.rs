//! A server's answers: OK, an error, or the start of a result set.

use super::framing::Bytes;
use crate::transport::session::malformed;
use crate::{Code, SqlError, SqlErrorKind};

/// Limit on the columns of a result (MAX_FIELDS of both servers).
const COLUMNS: u64 = 4096;
/// Limit on the text of an error that is kept, bytes; servers send less.
const TEXT: usize = 4096;
/// Set in the last packet of a result when another result follows (stored procedures).
const MORE_RESULTS: u16 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    Done(Done),
    /// Rows follow, after `columns` column definitions if `metadata` is set.
    Rows {
        columns: u64,
        metadata: bool,
    },
}

/// A statement or a result set is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Done {
    pub changed: u64,
    pub more: bool,
}

/// Reads the first packet of an answer. `caches_metadata` was negotiated at login.
#[inline]
pub(super) fn first(payload: &[u8], caches_metadata: bool) -> Result<First, SqlError> {
    match payload.first() {
        Some(0x00) => done(payload).map(First::Done),
        Some(0xff) => Err(error(payload)),
        Some(0xfb) => Err(malformed("a request for a local file")),
        _ => {
            let mut bytes = Bytes(payload);
            let columns = bytes.length_encoded().filter(|columns| *columns > 0).ok_or_else(cut_short)?;
            if columns > COLUMNS {
                return Err(malformed("a result with too many columns"));
            }
            let metadata = !caches_metadata || bytes.u8().ok_or_else(cut_short)? != 0;
            Ok(First::Rows { columns, metadata })
        }
    }
}

/// Whether the packet ends a result set: a row can begin with 0xFE too, but then it fills a whole packet.
#[inline]
pub(super) fn ends_rows(payload: &[u8]) -> bool {
    payload.first() == Some(&0xfe) && payload.len() < 0xff_ffff
}

/// An OK packet, with either of its headers.
#[inline]
pub(super) fn done(payload: &[u8]) -> Result<Done, SqlError> {
    let read = || {
        let mut bytes = Bytes(payload.get(1..)?);
        let changed = bytes.length_encoded()?;
        bytes.length_encoded()?; // last insert id
        Some(Done { changed, more: bytes.u16()? & MORE_RESULTS != 0 })
    };
    read().ok_or_else(cut_short)
}

/// The server's reply to preparing a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prepared {
    pub id: u32,
    pub columns: u16,
    pub parameters: u16,
}

pub(super) fn prepared(payload: &[u8]) -> Result<Prepared, SqlError> {
    if payload.first() == Some(&0xff) {
        return Err(error(payload));
    }
    let read = || {
        let mut bytes = Bytes(payload);
        bytes.u8().filter(|header| *header == 0)?;
        Some(Prepared { id: bytes.u32()?, columns: bytes.u16()?, parameters: bytes.u16()? })
    };
    read().ok_or_else(cut_short)
}

pub(super) fn text_row(payload: &[u8], columns: u64) -> Result<Vec<Option<String>>, SqlError> {
    let mut bytes = Bytes(payload);
    let mut row = Vec::with_capacity(columns.min(COLUMNS) as usize);
    for _ in 0..columns {
        if bytes.0.first() == Some(&0xfb) {
            bytes.take(1);
            row.push(None);
        } else {
            let value = bytes.string().ok_or_else(cut_short)?;
            row.push(Some(String::from_utf8_lossy(value).into_owned()));
        }
    }
    Ok(row)
}

/// Reads an error packet: code, SQL state and message.
#[cold]
pub(super) fn error(payload: &[u8]) -> SqlError {
    let mut bytes = Bytes(payload.get(1..).unwrap_or_default());
    let Some(code) = bytes.u16() else { return cut_short() };
    // "#" and five characters of SQL state, omitted in errors before authentication.
    if bytes.0.first() == Some(&b'#') {
        bytes.take(6);
    }
    let message = String::from_utf8_lossy(&bytes.0[..bytes.0.len().min(TEXT)]).into_owned();
    // ER_GET_ERRNO, ER_ERROR_ON_WRITE and others have the operating system's error only in their text.
    let kind = if message.contains("No space left on device") { SqlErrorKind::DiskFull } else { kind(code) };
    SqlError { kind, code: Some(Code::Number(code.into())), message }
}

/// What the caller can do about an error code. Retry and NotPreparable are sysbench's lists.
fn kind(code: u16) -> SqlErrorKind {
    match code {
        // ER_CHECKREAD, ER_LOCK_WAIT_TIMEOUT, ER_LOCK_DEADLOCK
        1020 | 1205 | 1213 => SqlErrorKind::Retry,
        // ER_UNSUPPORTED_PS
        1295 => SqlErrorKind::NotPreparable,
        // ER_DISK_FULL, and ER_RECORD_FILE_FULL, with which InnoDB reports a full disk
        1021 | 1114 => SqlErrorKind::DiskFull,
        // ER_SERVER_SHUTDOWN, aborted and broken connections, ER_CONNECTION_KILLED
        1053 | 1080 | 1152 | 1158..=1161 | 1184 | 1927 => SqlErrorKind::Lost,
        _ => SqlErrorKind::Other,
    }
}

#[cold]
fn cut_short() -> SqlError {
    malformed("a packet that is cut short")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn errors_are_sorted_by_what_the_caller_can_do() {
        let kind_of = |code: u16| {
            let [low, high] = code.to_le_bytes();
            error(&[0xff, low, high, b'#', b'4', b'0', b'0', b'0', b'1', b'w', b'o', b'e'])
        };
        let code = Some(Code::Number(1213));
        assert_eq!(kind_of(1213), SqlError { kind: SqlErrorKind::Retry, code, message: "woe".into() });
        assert_eq!(kind_of(1295).kind, SqlErrorKind::NotPreparable);
        assert_eq!(kind_of(1927).kind, SqlErrorKind::Lost);
        assert_eq!(kind_of(1114).kind, SqlErrorKind::DiskFull);
        let on_write = b"\xff\x02\x04#HY000Error writing file './t' (errno: 28 \"No space left on device\")";
        assert_eq!((error(on_write).kind, error(on_write).code), (SqlErrorKind::DiskFull, Some(Code::Number(1026))));
        assert_eq!(kind_of(1064).kind, SqlErrorKind::Other);
        assert_eq!(error(&[0xff, 0x10, 0x04, b'n', b'o']).message, "no");
    }

    #[test]
    fn an_end_of_rows_packet_differs_from_a_long_row() {
        assert!(ends_rows(&[0xfe, 0, 0, 2, 0, 0, 0]));
        assert!(!ends_rows(&[0, 0, 2, 0]));
        let mut long = vec![0u8; 0xff_ffff];
        long[0] = 0xfe;
        assert!(!ends_rows(&long));
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..64), cache: bool, n in 0u64..9) {
            let _ = first(&bytes, cache);
            let _ = prepared(&bytes);
            let _ = text_row(&bytes, n);
            let _ = done(&bytes);
            let _ = error(&bytes);
        }
    }
}
