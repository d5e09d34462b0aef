//! The messages of protocol version 3: a type byte, four bytes of length, and the body; and those before the first
//! statement: encryption if required, then authentication of both sides.

use crate::transport::buffer::ReadBuffer;
use crate::transport::pieces::in_pieces;
use crate::transport::session::{lost, malformed};
use crate::transport::stream::Channel;
use crate::{Code, ConnectTarget, Param, SqlError, SqlErrorKind, SqlState, TlsMode};
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use std::io::{self, Write};

const HEADER: usize = 5;
/// Limit on the size of a message, bytes. No message of a benchmark is larger; a larger length means that the stream
/// is out of step.
const LIMIT: usize = 64 << 20;
/// The limit until the login is complete, bytes.
const LOGIN_LIMIT: usize = 64 << 10;
/// Limit on the text of an error that is kept, bytes; servers send less.
const TEXT: usize = 4096;

#[derive(Debug)]
pub(super) struct Messages<S> {
    pub(super) stream: S,
    input: ReadBuffer,
    current: usize,
    limit: usize,
}

impl<S: Channel> Messages<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, input: ReadBuffer::new(), current: 0, limit: LOGIN_LIMIT }
    }

    /// Raises the limit after login: rows may be large.
    pub(super) fn logged_in(&mut self) {
        self.limit = LIMIT;
    }

    /// The next message: its type and its body.
    #[inline]
    pub(super) fn receive(&mut self) -> io::Result<(u8, &[u8])> {
        self.input.consume(std::mem::take(&mut self.current));
        let header = self.input.peek(&mut self.stream, HEADER)?;
        let (kind, length) = (header[0], u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize);
        // The length includes its own four bytes.
        if !(4..=self.limit).contains(&length) {
            return Err(bad_length(length, self.limit));
        }
        self.current = length + 1;
        let message = self.input.peek(&mut self.stream, length + 1)?;
        Ok((kind, &message[HEADER..]))
    }

    /// The error of a server that could not start a process for this connection, if the message that could not be
    /// received is one. It is the only message in the form of protocol version 2: a letter and a text that ends with 0.
    #[cold]
    pub(super) fn refused_process(&mut self) -> Option<SqlError> {
        let mut length = HEADER;
        loop {
            let message = self.input.peek(&mut self.stream, length).ok().filter(|_| length <= TEXT)?;
            match message.split_first()? {
                (b'E', text) if text.ends_with(&[0]) => {
                    let text = String::from_utf8_lossy(&text[..text.len() - 1]);
                    return Some(SqlError::own(SqlErrorKind::NoProcess, text.trim_end()));
                }
                (b'E', _) => length += 1,
                _ => return None,
            }
        }
    }
}

#[cold]
fn bad_length(length: usize, limit: usize) -> io::Error {
    let limit = limit >> 10;
    let message = format!("a message of {length} bytes, expected at most {limit} KiB: check that it is PostgreSQL");
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Appends a message with the body that `body` writes.
#[inline]
pub(super) fn put(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

#[inline]
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// Parses an ErrorResponse: fields of a letter and a text each.
#[cold]
pub(super) fn error(body: &[u8]) -> SqlError {
    let field = |letter: u8| {
        let mut fields = body.split(|byte| *byte == 0).filter(|field| !field.is_empty());
        fields.find(|field| field[0] == letter).map(|field| &field[1..field.len().min(TEXT)])
    };
    let state = field(b'C').and_then(SqlState::new);
    let message = String::from_utf8_lossy(field(b'M').unwrap_or_default()).into_owned();
    SqlError { kind: state.map_or(SqlErrorKind::Other, kind), code: state.map(Code::State), message }
}

/// What the caller can do about a SQLSTATE (Appendix A of PostgreSQL's manual).
fn kind(state: SqlState) -> SqlErrorKind {
    match state.as_str() {
        // serialization_failure, deadlock_detected, lock_not_available
        "40001" | "40P01" | "55P03" => SqlErrorKind::Retry,
        // disk_full
        "53100" => SqlErrorKind::DiskFull,
        // admin_shutdown, crash_shutdown, cannot_connect_now, idle session time-outs
        "57P01" | "57P02" | "57P03" | "57P05" | "25P03" => SqlErrorKind::Lost,
        _ if state.class() == "08" => SqlErrorKind::Lost,
        _ => SqlErrorKind::Other,
    }
}

/// The row count in a CommandComplete: "INSERT 0 5", "UPDATE 5", "SELECT 5"; 0 for "BEGIN".
#[inline]
pub(super) fn rows_of(tag: &[u8]) -> u64 {
    let digits = tag.strip_suffix(&[0]).unwrap_or(tag).rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    digits
        .iter()
        .try_fold(0u64, |number, digit| {
            digit.is_ascii_digit().then(|| number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
        })
        .unwrap_or(0)
}

/// Sends what `feed` writes as CopyData messages.
pub(super) fn copy_data<S: Channel>(
    stream: &mut S,
    feed: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    in_pieces(HEADER, feed, |message| {
        let length = (message.len() - 1) as u32;
        message[0] = b'd';
        message[1..HEADER].copy_from_slice(&length.to_be_bytes());
        stream.write_all(message)
    })
}

const INT8: u32 = 20;
const INT2: u32 = 21;
const INT4: u32 = 23;
const TEXT_TYPE: u32 = 25;
const BPCHAR: u32 = 1042;
const VARCHAR: u32 = 1043;
/// CHAR(n): trailing blanks are no part of its value, but are sent.
pub(super) const BLANK_PADDED: u32 = BPCHAR;

/// Whether a parameter of this type is sent in binary.
#[inline]
pub(super) fn is_binary(param: &Param<'_>, oid: u32) -> bool {
    match param {
        Param::Int(_) => matches!(oid, INT2 | INT4 | INT8),
        Param::Text(_) => matches!(oid, TEXT_TYPE | BPCHAR | VARCHAR),
    }
}

/// Appends the length and the bytes of a parameter.
#[inline]
pub(super) fn put_param(out: &mut Vec<u8>, param: &Param<'_>, oid: u32) -> Result<(), SqlError> {
    match (param, oid) {
        (Param::Int(number), INT4) => {
            put_bytes(out, &i32::try_from(*number).map_err(|_| range(*number))?.to_be_bytes())
        }
        (Param::Int(number), INT2) => {
            put_bytes(out, &i16::try_from(*number).map_err(|_| range(*number))?.to_be_bytes())
        }
        (Param::Int(number), INT8) => put_bytes(out, &number.to_be_bytes()),
        (Param::Int(number), _) => put_bytes(out, number.to_string().as_bytes()),
        (Param::Text(text), _) => put_bytes(out, text.as_bytes()),
    }
    Ok(())
}

#[inline]
fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

#[cold]
fn range(number: i64) -> SqlError {
    let message = format!("{number} is too large for its column");
    SqlError::own(SqlErrorKind::Other, message)
}

/// SSLRequest: a message of eight bytes with the number 80877103 in place of a protocol version.
const REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

/// Encrypts if the target requires it; returns whether it did. PostgreSQL never encrypts Unix sockets.
pub(super) fn secure<S: Channel>(stream: &mut S, target: &ConnectTarget) -> Result<bool, SqlError> {
    let mode = target.tls.mode;
    if mode == TlsMode::Off || stream.is_private() {
        return Ok(false);
    }
    stream.write_all(&REQUEST).map_err(lost)?;
    // Read one byte only: everything after it must be encrypted.
    let mut answer = [0];
    stream.read_exact(&mut answer).map_err(lost)?;
    match (answer[0], mode) {
        (b'S', _) => stream.encrypt(&target.tls, target.host()).map(|()| true).map_err(lost),
        (b'N', TlsMode::Preferred) => Ok(false),
        (b'N', _) => {
            let message =
                format!("the server offers no TLS, and {mode} was requested: set ssl = on in the server, or tls = off");
            Err(SqlError::own(SqlErrorKind::Other, message))
        }
        _ => Err(malformed("an invalid answer to the request for TLS: check that it is PostgreSQL")),
    }
}

/// A refusal of an unencrypted connection may be due to the missing encryption: pg_hba.conf can have lines for
/// encrypted connections only, and the SQLSTATE for a client that matches no line is
/// invalid_authorization_specification.
#[cold]
pub(super) fn maybe_for_want_of_tls(mut error: SqlError) -> SqlError {
    if error.code.is_some_and(|code| code.is_state("28000")) {
        error.message.push_str(
            "; the connection was not encrypted, and pg_hba.conf may require encryption: request TLS (tls = \
             \"required\" or \
             stricter, or sslmode in your service)",
        );
    }
    error
}

/// How far both sides have authenticated themselves.
#[derive(Default)]
pub(super) struct Proof {
    /// SCRAM, once it has begun: then no other method is accepted, because SCRAM also authenticates the server.
    pub scram: Option<ScramSha256>,
    /// Whether the server has proved that it knows the password.
    pub is_server_proved: bool,
    pub is_let_in: bool,
}

/// Appends to `out` the answer to one authentication request of the server.
pub(super) fn authenticate(
    step: u32,
    rest: &[u8],
    user: &str,
    password: &str,
    is_private: bool,
    proof: &mut Proof,
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    let failed = |e: io::Error| SqlError::own(SqlErrorKind::Other, format!("logging in: {e}"));
    match (step, proof.scram.as_mut()) {
        (0, Some(_)) if !proof.is_server_proved => {
            let message = "the server accepted the login without proving that it knows the password, as scram-sha-256 \
                requires: it may be another server; check which process listens at this address, or request TLS with \
                verify-full";
            return Err(SqlError::own(SqlErrorKind::Other, message));
        }
        (0, _) => proof.is_let_in = true,
        // In clear text only where no one can eavesdrop.
        (3, None) if is_private => put(out, b'p', |out| put_text(out, password)),
        (10, None) if rest.split(|byte| *byte == 0).any(|method| method == SCRAM_SHA_256.as_bytes()) => {
            let new = proof.scram.insert(ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported()));
            put(out, b'p', |out| {
                put_text(out, SCRAM_SHA_256);
                out.extend_from_slice(&(new.message().len() as u32).to_be_bytes());
                out.extend_from_slice(new.message());
            });
        }
        (11, Some(scram)) => {
            scram.update(rest).map_err(failed)?;
            put(out, b'p', |out| out.extend_from_slice(scram.message()));
        }
        (12, Some(scram)) => {
            scram.finish(rest).map_err(failed)?;
            proof.is_server_proved = true;
        }
        (_, Some(_)) => return Err(malformed("another method of authentication after scram-sha-256 had begun")),
        _ => {
            let message = format!(
                "the account {user} needs a method of authentication (number {step}) that is not supported here; \
                 supported: trust, peer, scram-sha-256, and over a Unix socket or TLS password"
            );
            return Err(SqlError::own(SqlErrorKind::Other, message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn errors_are_sorted_by_what_the_caller_can_do() {
        let of = |state: &str| error(format!("SERROR\0VERROR\0C{state}\0Mwoe\0\0").as_bytes());
        let code = SqlState::new(b"40P01").map(Code::State);
        assert_eq!(of("40P01"), SqlError { kind: SqlErrorKind::Retry, code, message: "woe".into() });
        assert_eq!(of("40P01").to_string(), "woe (SQLSTATE 40P01)");
        assert_eq!(of("0A000").kind, SqlErrorKind::Other);
        assert_eq!(of("08006").kind, SqlErrorKind::Lost);
        let none = of("no state");
        assert_eq!((none.kind, none.code, none.to_string()), (SqlErrorKind::Other, None, "woe".to_owned()));
        assert_eq!(of("53100").kind, SqlErrorKind::DiskFull);
        assert_eq!(of("57P01").kind, SqlErrorKind::Lost);
        assert_eq!(of("42601").kind, SqlErrorKind::Other);
    }

    #[test]
    fn rows_are_read_from_a_tag() {
        for (tag, rows) in [("INSERT 0 5\0", 5), ("UPDATE 12\0", 12), ("SELECT 0\0", 0), ("BEGIN\0", 0), ("", 0)] {
            assert_eq!(rows_of(tag.as_bytes()), rows, "{tag}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_error_or_a_number(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = (error(&bytes), rows_of(&bytes));
        }
    }
}
