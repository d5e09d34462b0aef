//! The frames between client and server of the embedded engine.
//!
//! A frame is four bytes of length (little endian) and a body whose first byte is its type. A request is one frame;
//! an answer is any number of ROW frames and one END, ERROR or READY frame.
//!
//! | request | body |
//! | --- | --- |
//! | 1 hello, always first | password |
//! | 2 prepare | SQL |
//! | 3 execute | u32 statement, then each parameter: 1 and i64, or 3, u32 length and text |
//! | 4 text | SQL |
//! | 5 thread | |
//!
//! | answer | body |
//! | --- | --- |
//! | 1 end | u64: rows, changed rows, statement or thread id |
//! | 2 row | values: 0 NULL; 1 i64; 2 f64; 3 text and 4 blob with u32 length |
//! | 3 error | kind, u32 code, message |
//! | 4 ready, answers hello | SQLite's version |

use crate::{Code, Param, SqlError, SqlErrorKind};
use std::str;

pub(super) const HEADER: usize = 4;
/// Limit on the size of a body, bytes; a larger length means that the stream is out of step.
pub(super) const LIMIT: usize = 64 << 20;

pub(super) const END: u8 = 1;
pub(super) const ROW: u8 = 2;
pub(super) const ERROR: u8 = 3;
pub(super) const READY: u8 = 4;

pub(super) const HELLO: u8 = 1;
const PREPARE: u8 = 2;
const EXECUTE: u8 = 3;
const TEXT: u8 = 4;
const THREAD: u8 = 5;

pub(super) const NULL: u8 = 0;
pub(super) const INTEGER: u8 = 1;
pub(super) const REAL: u8 = 2;
pub(super) const STRING: u8 = 3;
pub(super) const BLOB: u8 = 4;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Request<'a> {
    Hello { password: &'a [u8] },
    Prepare { sql: &'a str },
    Execute { statement: u32, params: Params<'a> },
    Text { sql: &'a str },
    Thread,
}

/// The length of a body; `None` if it is 0 or over the limit.
#[inline]
pub(super) fn body_length(header: [u8; HEADER]) -> Option<usize> {
    let length = u32::from_le_bytes(header) as usize;
    (1..=LIMIT).contains(&length).then_some(length)
}

/// Appends a frame with the body that `body` writes.
#[inline]
pub(super) fn frame(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0, 0, 0, 0, kind]);
    body(out);
    let length = (out.len() - start - HEADER) as u32;
    out[start..start + HEADER].copy_from_slice(&length.to_le_bytes());
}

#[inline]
pub(super) fn put_bytes(out: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    out.push(kind);
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

impl<'a> Request<'a> {
    pub(super) fn put(self, out: &mut Vec<u8>) {
        match self {
            Self::Hello { password } => frame(out, HELLO, |out| out.extend_from_slice(password)),
            Self::Prepare { sql } => frame(out, PREPARE, |out| out.extend_from_slice(sql.as_bytes())),
            Self::Text { sql } => frame(out, TEXT, |out| out.extend_from_slice(sql.as_bytes())),
            Self::Thread => frame(out, THREAD, |_| {}),
            Self::Execute { statement, params } => frame(out, EXECUTE, |out| {
                out.extend_from_slice(&statement.to_le_bytes());
                out.extend_from_slice(params.0);
            }),
        }
    }

    /// Parses a body; `None` if it is no request.
    #[inline]
    pub(super) fn parse(body: &'a [u8]) -> Option<Self> {
        let (kind, rest) = body.split_first()?;
        match *kind {
            HELLO => Some(Self::Hello { password: rest }),
            PREPARE => Some(Self::Prepare { sql: str::from_utf8(rest).ok()? }),
            EXECUTE => {
                let (statement, params) = rest.split_first_chunk::<4>()?;
                Some(Self::Execute { statement: u32::from_le_bytes(*statement), params: Params(params) })
            }
            TEXT => Some(Self::Text { sql: str::from_utf8(rest).ok()? }),
            THREAD => rest.is_empty().then_some(Self::Thread),
            _ => None,
        }
    }
}

/// Appends an execute frame directly from the parameters.
#[inline]
pub(super) fn put_execute(out: &mut Vec<u8>, statement: u32, params: &[Param<'_>]) {
    frame(out, EXECUTE, |out| {
        out.extend_from_slice(&statement.to_le_bytes());
        for param in params {
            match param {
                Param::Int(number) => {
                    out.push(INTEGER);
                    out.extend_from_slice(&number.to_le_bytes());
                }
                Param::Text(text) => put_bytes(out, STRING, text.as_bytes()),
            }
        }
    });
}

/// The parameters of an execute request, read one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Params<'a>(&'a [u8]);

impl<'a> Params<'a> {
    /// The next parameter; `None` at the end, an error if the remaining bytes are not a parameter.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<Param<'a>>, SqlError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        match take_value(&mut self.0) {
            Some(Value::Integer(number)) => Ok(Some(Param::Int(number))),
            Some(Value::String(bytes)) => match str::from_utf8(bytes) {
                Ok(text) => Ok(Some(Param::Text(text))),
                Err(_) => Err(malformed("a text parameter that is not UTF-8")),
            },
            _ => Err(malformed("a parameter that cannot be read")),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Value<'a> {
    Null,
    Integer(i64),
    Real(f64),
    String(&'a [u8]),
}

#[inline]
fn take_value<'a>(bytes: &mut &'a [u8]) -> Option<Value<'a>> {
    let (kind, rest) = bytes.split_first()?;
    let (value, rest) = match *kind {
        NULL => (Value::Null, rest),
        INTEGER => {
            rest.split_first_chunk().map(|(number, rest)| (Value::Integer(i64::from_le_bytes(*number)), rest))?
        }
        REAL => rest.split_first_chunk().map(|(number, rest)| (Value::Real(f64::from_le_bytes(*number)), rest))?,
        STRING | BLOB => {
            let (length, rest) = rest.split_first_chunk::<4>()?;
            let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            (Value::String(text), rest)
        }
        _ => return None,
    };
    *bytes = rest;
    Some(value)
}

pub(super) fn row(mut bytes: &[u8]) -> Result<Vec<Option<String>>, SqlError> {
    let mut row = Vec::new();
    while !bytes.is_empty() {
        row.push(match take_value(&mut bytes).ok_or_else(|| malformed("a row that cannot be read"))? {
            Value::Null => None,
            Value::Integer(number) => Some(number.to_string()),
            // As SQLite writes it: a real number always shows a decimal point or an exponent.
            Value::Real(number) => Some(format!("{number:?}")),
            Value::String(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        });
    }
    Ok(row)
}

#[inline]
pub(super) fn end(bytes: &[u8]) -> Result<u64, SqlError> {
    bytes.try_into().map(u64::from_le_bytes).map_err(|_| malformed("an end that cannot be read"))
}

pub(super) fn put_error(out: &mut Vec<u8>, error: &SqlError) {
    let kind = match error.kind {
        SqlErrorKind::Retry => 0,
        SqlErrorKind::NotPreparable => 1,
        SqlErrorKind::Lost => 2,
        SqlErrorKind::Other | SqlErrorKind::NoProcess => 3,
        SqlErrorKind::DiskFull => 4,
    };
    // SQLite's result code 0 means success, so no error uses it.
    let code = match error.code {
        Some(Code::Number(number)) => number,
        Some(Code::State(_)) | None => 0,
    };
    frame(out, ERROR, |out| {
        out.push(kind);
        out.extend_from_slice(&code.to_le_bytes());
        out.extend_from_slice(error.message.as_bytes());
    });
}

#[cold]
pub(super) fn error(bytes: &[u8]) -> SqlError {
    let Some((kind, rest)) = bytes.split_first() else { return malformed("an empty error") };
    let Some((code, message)) = rest.split_first_chunk() else { return malformed("an error that cannot be read") };
    let kind = match kind {
        0 => SqlErrorKind::Retry,
        1 => SqlErrorKind::NotPreparable,
        2 => SqlErrorKind::Lost,
        4 => SqlErrorKind::DiskFull,
        _ => SqlErrorKind::Other,
    };
    let code = Some(u32::from_le_bytes(*code)).filter(|code| *code != 0).map(Code::Number);
    SqlError { kind, code, message: String::from_utf8_lossy(message).into_owned() }
}

#[cold]
pub(super) fn malformed(what: &str) -> SqlError {
    SqlError::own(SqlErrorKind::Lost, format!("the other side sent {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn body(frame: &[u8]) -> &[u8] {
        let (header, body) = frame.split_first_chunk().unwrap();
        assert_eq!(body_length(*header), Some(body.len()));
        body
    }

    proptest! {
        #[test]
        fn parameters_arrive_as_they_were_sent(statement: u32, ints in prop::collection::vec(any::<i64>(), 0..5), text: String) {
            let mut params: Vec<Param<'_>> = ints.into_iter().map(Param::Int).collect();
            params.push(Param::Text(&text));
            let mut out = Vec::new();
            put_execute(&mut out, statement, &params);
            let Some(Request::Execute { statement: id, params: mut read }) = Request::parse(body(&out)) else {
                panic!("not an execute request");
            };
            prop_assert_eq!(id, statement);
            for param in params {
                prop_assert_eq!(read.next(), Ok(Some(param)));
            }
            prop_assert_eq!(read.next(), Ok(None));
        }

        #[test]
        fn requests_and_errors_read_back(sql: String, code: u32, message: String) {
            for request in [Request::Prepare { sql: &sql }, Request::Text { sql: &sql }, Request::Thread] {
                let mut out = Vec::new();
                request.put(&mut out);
                prop_assert_eq!(Request::parse(body(&out)), Some(request));
            }
            use SqlErrorKind::{DiskFull, Lost, NotPreparable, Other, Retry};
            for kind in [Retry, NotPreparable, Lost, Other, DiskFull] {
                let sent = SqlError { kind, code: (code != 0).then_some(Code::Number(code)), message: message.clone() };
                let mut out = Vec::new();
                put_error(&mut out, &sent);
                prop_assert_eq!(error(&body(&out)[1..]), sent);
            }
        }

        #[test]
        fn any_bytes_are_something_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..64), execute: bool) {
            let mut bytes = bytes;
            if execute && !bytes.is_empty() {
                bytes[0] = EXECUTE;
            }
            if let Some(Request::Execute { mut params, .. }) = Request::parse(&bytes) {
                while let Ok(Some(_)) = params.next() {}
            }
            let _ = (row(&bytes), end(&bytes), error(&bytes));
        }

        #[test]
        fn a_length_over_the_limit_is_refused(length: u32) {
            let accepted = body_length(length.to_le_bytes());
            prop_assert_eq!(accepted.is_some(), length >= 1 && length as usize <= LIMIT);
        }
    }
}
