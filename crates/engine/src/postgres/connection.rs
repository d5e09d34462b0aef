//! One connection: login, prepare, execute, text, COPY.

use super::message::{
    self, Messages, Proof, authenticate, copy_data, maybe_for_want_of_tls, put, put_text, rows_of, secure,
};
use crate::process::peer;
use crate::transport::buffer::AnswerLimits;
use crate::transport::session::{self, lost, malformed};
use crate::transport::stream::{Channel, Interrupter, Stream};
use crate::{ConnectTarget, EngineError, Param, Session, Spinning, SqlError, SqlErrorKind, StatementId};
use std::io::{self, ErrorKind, Write};
use std::time::Duration;
use tare_cpuset::ThreadRef;

const PROTOCOL: u32 = 3 << 16;
/// Limit on the messages of a login: method, SCRAM messages, some dozen settings, notices.
const LOGIN_MESSAGES: usize = 200;
/// Limit on the parameters of a statement: the protocol counts them in two bytes.
const MOST_PARAMETERS: usize = 65_535;
const IN_BINARY: [u8; 2] = [0, 1];
const IN_TEXT: [u8; 2] = [0, 0];

#[derive(Debug)]
pub(super) struct Connection<S> {
    messages: Messages<S>,
    /// The version that the server reported during login.
    version: String,
    backend: i32,
    statements: Vec<Vec<u32>>,
    out: Vec<u8>,
    limit: Option<Duration>,
}

impl Connection<Stream> {
    pub(super) fn to(target: &ConnectTarget) -> Result<Self, EngineError> {
        session::open(target, |stream| Self::open(stream, target))
    }
}

impl<S: Channel> Connection<S> {
    /// Sets up encryption if required, sends the startup message, logs in and enters the database.
    pub(super) fn open(mut stream: S, target: &ConnectTarget) -> Result<Self, SqlError> {
        let is_clear = !secure(&mut stream, target)? && !stream.is_private();
        let (user, database) = (target.user.as_str(), target.database.as_deref());
        let mut out = vec![0; 4];
        out.extend_from_slice(&PROTOCOL.to_be_bytes());
        for (name, value) in [("user", user), ("database", database.unwrap_or(user)), ("client_encoding", "UTF8")] {
            put_text(&mut out, name);
            put_text(&mut out, value);
        }
        out.push(0);
        let length = (out.len() as u32).to_be_bytes();
        out[..4].copy_from_slice(&length);
        let (version, statements) = (String::new(), Vec::new());
        let mut connection =
            Self { messages: Messages::new(stream), version, backend: 0, statements, out, limit: None };
        connection.send()?;
        connection
            .log_in(user, &target.password)
            .map_err(|error| if is_clear { maybe_for_want_of_tls(error) } else { error })?;
        connection.messages.logged_in();
        connection.messages.stream.set_deadline(None);
        Ok(connection)
    }

    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// Binds the parameters and requests all rows, in the given format.
    #[inline]
    fn send_execute(&mut self, statement: StatementId, params: &[Param<'_>], format: [u8; 2]) -> Result<(), SqlError> {
        let types = self.statements.get(statement.0).ok_or_else(SqlError::unknown_statement)?;
        if types.len() != params.len() {
            return Err(SqlError::wrong_count(types.len(), params.len()));
        }
        self.out.clear();
        let mut written = Ok(());
        put(&mut self.out, b'B', |out| {
            out.push(0); // the unnamed portal
            put_name(out, statement.0);
            let count = (params.len() as u16).to_be_bytes();
            out.extend_from_slice(&count);
            for (param, oid) in params.iter().zip(types) {
                out.extend_from_slice(if message::is_binary(param, *oid) { &IN_BINARY } else { &IN_TEXT });
            }
            out.extend_from_slice(&count);
            for (param, oid) in params.iter().zip(types) {
                if let Err(error) = message::put_param(out, param, *oid) {
                    written = Err(error);
                    return;
                }
            }
            out.extend_from_slice(&[0, 1]); // one format for all results
            out.extend_from_slice(&format);
        });
        written?;
        if format == IN_TEXT {
            // Describes the portal: the column types show which columns are padded with blanks.
            self.out.extend_from_slice(&[b'D', 0, 0, 0, 6, b'P', 0]);
        }
        self.out.extend_from_slice(&[b'E', 0, 0, 0, 9, 0, 0, 0, 0, 0, b'S', 0, 0, 0, 4]);
        self.send()
    }

    /// Reads to the end of an answer with rows in text format.
    fn rows(&mut self) -> Result<Vec<Vec<Option<String>>>, SqlError> {
        let (mut rows, mut padded, mut limits) = (Vec::new(), Vec::new(), AnswerLimits::of(self.limit));
        self.answer(|kind, body| {
            match kind {
                b'T' => padded = blank_padded(body).ok_or_else(|| malformed("columns that cannot be read"))?,
                b'D' => {
                    let row = text_row(body, &padded).ok_or_else(|| malformed("a row that cannot be read"))?;
                    limits.kept(&row)?;
                    rows.push(row);
                }
                b'C' => limits.result()?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(rows)
    }

    fn send(&mut self) -> Result<(), SqlError> {
        self.messages.stream.write_all(&self.out).map_err(lost)
    }

    fn send_text(&mut self, sql: &str) -> Result<(), SqlError> {
        self.out.clear();
        put(&mut self.out, b'Q', |out| put_text(out, sql));
        self.send()
    }

    /// Reads to the end of an answer and counts the rows without parsing them. Returns their number, or the number of
    /// changed rows if none were returned.
    #[inline]
    fn discard(&mut self) -> Result<u64, SqlError> {
        let (mut total, mut rows, mut limits) = (0, 0, AnswerLimits::of(self.limit));
        self.answer(|kind, body| {
            match kind {
                b'D' => {
                    rows += 1;
                    limits.part()?;
                }
                b'C' => {
                    limits.result()?;
                    total += if rows > 0 { std::mem::take(&mut rows) } else { rows_of(body) };
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(total)
    }

    /// Reads every message until the server is ready again; the first error is the result.
    #[inline]
    fn answer(&mut self, mut take: impl FnMut(u8, &[u8]) -> Result<(), SqlError>) -> Result<(), SqlError> {
        loop {
            match self.messages.receive().map_err(lost)? {
                (b'Z', _) => return Ok(()),
                (b'E', body) => {
                    let error = message::error(body);
                    // A server that closes the connection sends nothing more.
                    return Err(match self.until_ready() {
                        Ok(()) => error,
                        Err(_) => SqlError { kind: SqlErrorKind::Lost, ..error },
                    });
                }
                (kind, body) => take(kind, body)?,
            }
        }
    }

    fn until_ready(&mut self) -> Result<(), SqlError> {
        let mut limits = AnswerLimits::of(self.limit);
        while self.messages.receive().map_err(lost)?.0 != b'Z' {
            limits.part()?;
        }
        Ok(())
    }

    fn log_in(&mut self, user: &str, password: &str) -> Result<(), SqlError> {
        let mut proof = Proof::default();
        for _ in 0..LOGIN_MESSAGES {
            let is_private = self.messages.stream.is_private();
            self.out.clear();
            let received = match self.messages.receive() {
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::InvalidData => {
                    return Err(self.messages.refused_process().unwrap_or_else(|| lost(error)));
                }
                Err(error) => return Err(lost(error)),
            };
            match received {
                (b'Z', _) if proof.is_let_in => return Ok(()),
                (b'Z', _) => return Err(malformed("ReadyForQuery before the login was complete")),
                (b'E', body) => return Err(message::error(body)),
                (b'S', body) => {
                    if let Some(version) = body.strip_prefix(b"server_version\0") {
                        self.version = String::from_utf8_lossy(version.strip_suffix(&[0]).unwrap_or(version)).into();
                    }
                }
                (b'K', body) => self.backend = body.get(..4).map_or(0, |pid| be_u32(pid).cast_signed()),
                (b'R', body) => {
                    let (step, rest) = body.split_first_chunk().ok_or_else(|| malformed("an empty request"))?;
                    authenticate(
                        u32::from_be_bytes(*step),
                        rest,
                        user,
                        password,
                        is_private,
                        &mut proof,
                        &mut self.out,
                    )?;
                }
                // Notices, and the negotiation of a newer protocol version.
                _ => {}
            }
            if !self.out.is_empty() {
                self.send()?;
            }
        }
        Err(malformed("too many messages during the login"))
    }
}

impl<S: Channel> Session for Connection<S> {
    fn prepare(&mut self, sql: &str) -> Result<StatementId, SqlError> {
        let name = name(self.statements.len());
        self.out.clear();
        put(&mut self.out, b'P', |out| {
            put_text(out, &name);
            put_text(out, sql);
            out.extend_from_slice(&[0, 0]);
        });
        put(&mut self.out, b'D', |out| {
            out.push(b'S');
            put_text(out, &name);
        });
        put(&mut self.out, b'S', |_| {});
        self.send()?;
        let mut types = Vec::new();
        self.answer(|kind, body| {
            if kind == b't' {
                let listed = body.get(2..).unwrap_or_default().chunks_exact(4);
                types = listed.take(MOST_PARAMETERS).map(be_u32).collect();
            }
            Ok(())
        })?;
        self.statements.push(types);
        Ok(StatementId(self.statements.len() - 1))
    }

    #[inline]
    fn execute(&mut self, statement: StatementId, params: &[Param<'_>]) -> Result<u64, SqlError> {
        self.send_execute(statement, params, IN_BINARY)?;
        self.discard()
    }

    fn fetch(&mut self, statement: StatementId, params: &[Param<'_>]) -> Result<Vec<Vec<Option<String>>>, SqlError> {
        self.send_execute(statement, params, IN_TEXT)?;
        self.rows()
    }

    fn run(&mut self, sql: &str) -> Result<u64, SqlError> {
        self.send_text(sql)?;
        self.discard()
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, SqlError> {
        self.send_text(sql)?;
        self.rows()
    }

    fn load(&mut self, sql: &str, feed: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Result<u64, SqlError> {
        self.send_text(sql)?;
        match self.messages.receive().map_err(lost)? {
            (b'G', _) => {}
            (b'E', body) => {
                let error = message::error(body);
                self.until_ready()?;
                return Err(error);
            }
            _ => return Err(malformed("something other than a request for rows")),
        }
        let fed = copy_data(&mut self.messages.stream, feed);
        self.out.clear();
        match &fed {
            Ok(()) => put(&mut self.out, b'c', |_| {}),
            Err(_) => put(&mut self.out, b'f', |out| put_text(out, "the rows ended early")),
        }
        self.send()?;
        let taken = self.discard()?;
        match fed {
            Ok(()) => Ok(taken),
            Err(error) => Err(lost(error)),
        }
    }

    fn set_timeout(&mut self, limit: Option<Duration>) -> Result<(), SqlError> {
        self.limit = limit;
        self.messages.stream.set_silence(limit).map_err(lost)
    }

    fn set_spinning(&mut self, spinning: Option<Spinning>) {
        self.messages.stream.set_spinning(spinning);
    }

    fn encryption(&self) -> Option<String> {
        self.messages.stream.encryption()
    }

    fn interrupter(&self) -> Option<Interrupter> {
        self.messages.stream.interrupter()
    }

    fn thread_number(&mut self) -> Result<Option<i32>, SqlError> {
        Ok(Some(self.backend))
    }

    /// The main thread of the connection's own process, whose number the server sent during login.
    fn server_thread(&mut self) -> Result<Option<ThreadRef>, SqlError> {
        let stream = &self.messages.stream;
        let reported = stream.is_local().then_some(self.backend);
        Ok(reported.and_then(|pid| peer::thread_of(pid, stream.server_pid(), &["postgres"])))
    }
}

fn name(statement: usize) -> String {
    format!("s{statement}")
}

/// As [`name`], without allocating a string.
#[inline]
fn put_name(out: &mut Vec<u8>, mut statement: usize) {
    out.push(b's');
    let start = out.len();
    loop {
        out.push(b'0' + (statement % 10) as u8);
        statement /= 10;
        if statement == 0 {
            break;
        }
    }
    out[start..].reverse();
    out.push(0);
}

fn be_u32(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Which columns of a RowDescription are CHAR(n).
fn blank_padded(body: &[u8]) -> Option<Vec<bool>> {
    let (count, mut rest) = body.split_first_chunk::<2>()?;
    let mut padded = Vec::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let end = rest.iter().position(|byte| *byte == 0)?;
        // Table OID and column number, then the type, then sizes and format.
        let fields = rest.get(end + 1..end + 19)?;
        padded.push(be_u32(&fields[6..10]) == message::BLANK_PADDED);
        rest = &rest[end + 19..];
    }
    Some(padded)
}

fn text_row(body: &[u8], padded: &[bool]) -> Option<Vec<Option<String>>> {
    let (count, mut rest) = body.split_first_chunk::<2>()?;
    let count = usize::from(u16::from_be_bytes(*count));
    // Each value has at least a length field.
    let mut row = Vec::with_capacity(count.min(rest.len() / 4));
    for column in 0..count {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let length = i32::from_be_bytes(*length);
        let (value, after) = after.split_at_checked(usize::try_from(length).unwrap_or(0))?;
        rest = after;
        let text = String::from_utf8_lossy(value);
        let text = if padded.get(column) == Some(&true) { text.trim_end_matches(' ') } else { &text };
        row.push((length >= 0).then(|| text.to_owned()));
    }
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_name_is_written_as_it_reads(statement in any::<u32>()) {
            let mut out = Vec::new();
            put_name(&mut out, statement as usize);
            prop_assert_eq!(out, [name(statement as usize).as_bytes(), &[0]].concat());
        }

        #[test]
        fn any_bytes_are_rows_or_none(bytes in prop::collection::vec(any::<u8>(), 0..80), start in 0u8..4) {
            let body = [&[0, start][..], &bytes].concat();
            let _ = (blank_padded(&body), text_row(&body, &[true, false]), blank_padded(&bytes));
        }
    }
}
