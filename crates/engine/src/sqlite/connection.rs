//! The server's side of one connection, with a SQLite connection and a thread of its own.

use super::diagnostics::{WAITS_REQUEST, Waits};
use super::planted::Session;
use super::protocol::{self, BLOB, END, HEADER, INTEGER, NULL, Params, READY, REAL, ROW, Request, STRING, frame};
use super::waited::Waiting;
use crate::contract::session::HANDSHAKE;
use crate::transport::buffer::ReadBuffer;
use crate::transport::stream::{Channel, Stream};
use crate::{Code, Param, SqlError, SqlErrorKind};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, Statement};
use std::io::{self, Write};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Rows are sent when this many bytes of them have been collected.
const FLUSH_BYTES: usize = 64 * 1024;
/// Limit on the size of a body until the password has been accepted, bytes.
const LONGEST_GREETING: usize = 1024;
/// Limit on prepared statements: a client that prepares more has a leak.
const MAX_STATEMENTS: usize = 1 << 20;

/// Serves requests until the client disconnects. Fails if the client breaks the protocol, or if the stream fails.
pub(super) fn serve<'c>(
    stream: &mut Stream,
    database: &'c Connection,
    password: &str,
    waits: &'c Waits,
) -> io::Result<()> {
    // With TCP anyone on the network can connect.
    stream.set_deadline(Some(Instant::now() + HANDSHAKE));
    serve_who_logs_in(stream, database, password, waits)
}

/// As [`serve`]: the password must arrive before the stream's deadline.
fn serve_who_logs_in<'c>(
    stream: &mut Stream,
    database: &'c Connection,
    password: &str,
    waits: &'c Waits,
) -> io::Result<()> {
    let mut input = ReadBuffer::new();
    let mut answer = Answer { stream: stream.try_clone()?, out: Vec::new(), waits };
    let mut statements = Statements { database, prepared: Vec::new(), session: None, busy: None };
    let mut greeted = false;
    loop {
        let header = match input.peek(stream, HEADER) {
            Ok(header) => header.try_into().map_err(io::Error::other)?,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        };
        let length = protocol::body_length(header).ok_or_else(|| broken("an invalid length"))?;
        if !greeted && length > LONGEST_GREETING {
            return Err(broken("more than a greeting"));
        }
        let frame = input.peek(stream, HEADER + length)?;
        let request = Request::parse(&frame[HEADER..]).ok_or_else(|| broken("an invalid request"))?;
        match request {
            Request::Hello { password: given } => {
                if !answer.hello(given, password)? {
                    return Err(broken("another password"));
                }
                greeted = true;
                stream.set_deadline(None);
            }
            _ if !greeted => return Err(broken("a request before the right password")),
            request => answer.to(request, &mut statements)?,
        }
        input.consume(HEADER + length);
    }
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the client sent {what}"))
}

enum Failure {
    Sql(SqlError),
    /// The error cannot be sent to the client.
    Stream(io::Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(sql_error(&error))
    }
}

struct Statements<'c> {
    database: &'c Connection,
    prepared: Vec<Statement<'c>>,
    /// Set from the first prepared statement on.
    session: Option<Session<'c>>,
    /// The statement that met BUSY, with the wait since it first did; none once it has completed.
    busy: Option<(Retried, Waiting<'c>)>,
}

/// A statement that is retried after BUSY, perhaps with other values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Retried {
    Prepared(u32),
    /// Identified by its first letters, which differ between BEGIN and a statement.
    Text([u8; 8]),
}

impl Retried {
    #[inline]
    fn of(request: &Request<'_>) -> Self {
        let mut letters = [0; 8];
        match request {
            Request::Execute { statement, .. } => return Self::Prepared(*statement),
            Request::Text { sql } => letters.iter_mut().zip(sql.bytes()).for_each(|(own, byte)| *own = byte),
            _ => {}
        }
        Self::Text(letters)
    }
}

/// Collects an answer and sends it, usually with one write.
struct Answer<'w> {
    stream: Stream,
    out: Vec<u8>,
    waits: &'w Waits,
}

impl<'w> Answer<'w> {
    fn hello(&mut self, given: &[u8], password: &str) -> io::Result<bool> {
        let right = given == password.as_bytes();
        if right {
            frame(&mut self.out, READY, |out| out.extend_from_slice(rusqlite::version().as_bytes()));
        } else {
            let message = "wrong password".to_owned();
            protocol::put_error(&mut self.out, &SqlError::own(SqlErrorKind::Other, message));
        }
        self.send()?;
        Ok(right)
    }

    #[inline]
    fn to(&mut self, request: Request<'_>, statements: &mut Statements<'w>) -> io::Result<()> {
        let which = Retried::of(&request);
        match self.number(request, statements) {
            Ok(number) => {
                statements.busy.take_if(|(waits, _)| *waits == which);
                frame(&mut self.out, END, |out| out.extend_from_slice(&number.to_le_bytes()));
            }
            Err(Failure::Sql(error)) => {
                if error.kind == SqlErrorKind::Retry {
                    self.waits.busy.fetch_add(1, Ordering::Relaxed);
                    statements.busy.get_or_insert_with(|| (which, self.waits.busy_time.begin()));
                }
                if error.kind == SqlErrorKind::Retry && !statements.database.is_autocommit() {
                    // A transaction that cannot continue is rolled back here, as MariaDB does on a deadlock.
                    let _ = statements.database.execute_batch("ROLLBACK");
                }
                protocol::put_error(&mut self.out, &error);
            }
            Err(Failure::Stream(error)) => return Err(error),
        }
        self.send()
    }

    /// Executes a request and returns the number of the END frame.
    #[inline]
    fn number(&mut self, request: Request<'_>, statements: &mut Statements<'w>) -> Result<u64, Failure> {
        let database = statements.database;
        match request {
            Request::Execute { statement, params } => {
                let Some(statement) = statements.prepared.get_mut(statement as usize) else {
                    return Err(Failure::Sql(other("a statement of another session")));
                };
                let begun = self.waits.planted.statement(database);
                bind(statement, params)?;
                let done = self.step(statement, database)?;
                self.waits.planted.done(database, begun);
                Ok(done)
            }
            Request::Prepare { .. } if statements.prepared.len() >= MAX_STATEMENTS => {
                Err(Failure::Sql(other("too many prepared statements in one session")))
            }
            Request::Prepare { sql } => {
                statements.session.get_or_insert_with(|| self.waits.planted.session());
                statements.prepared.push(database.prepare(sql)?);
                Ok(statements.prepared.len() as u64 - 1)
            }
            Request::Text { sql } if database.is_autocommit() && sql.trim().eq_ignore_ascii_case("rollback") => Ok(0),
            Request::Text { sql } if sql == WAITS_REQUEST => Ok(self.wait_table()),
            Request::Text { sql } => match self.waits.planted.requested(sql) {
                Some(us) => Ok(self.one_number(us)),
                None => self.step(&mut database.prepare(sql)?, database),
            },
            Request::Thread => Ok(rustix::thread::gettid().as_raw_nonzero().get() as u64),
            Request::Hello { .. } => Ok(0),
        }
    }

    /// Runs a statement to its end; its rows go into the answer.
    #[inline]
    fn step(&mut self, statement: &mut Statement<'_>, database: &Connection) -> Result<u64, Failure> {
        let columns = statement.column_count();
        if columns == 0 {
            // Where nothing can change (BEGIN, CREATE), the counter of changed rows keeps the last statement's value.
            let before = database.total_changes();
            let changed = statement.raw_execute()?;
            return Ok(if database.total_changes() == before { 0 } else { changed as u64 });
        }
        let mut rows = statement.raw_query();
        let mut count = 0;
        while let Some(row) = rows.next()? {
            count += 1;
            frame(&mut self.out, ROW, |out| {
                for column in 0..columns {
                    put_value(out, row.get_ref(column).unwrap_or(ValueRef::Null));
                }
            });
            if self.out.len() >= FLUSH_BYTES {
                self.send().map_err(Failure::Stream)?;
            }
        }
        Ok(count)
    }

    /// Answers with a row per lock: name, count, nanoseconds waited.
    fn wait_table(&mut self) -> u64 {
        let table = self.waits.table();
        for (name, count, wait_ns) in &table {
            frame(&mut self.out, ROW, |out| {
                put_value(out, ValueRef::Text(name.as_bytes()));
                put_value(out, ValueRef::Integer(count.cast_signed()));
                put_value(out, ValueRef::Integer(wait_ns.cast_signed()));
            });
        }
        table.len() as u64
    }

    /// Answers with a row of one number, as a PRAGMA does.
    fn one_number(&mut self, number: u64) -> u64 {
        frame(&mut self.out, ROW, |out| put_value(out, ValueRef::Integer(number.cast_signed())));
        1
    }

    #[inline]
    fn send(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }
}

#[inline]
fn bind(statement: &mut Statement<'_>, mut params: Params<'_>) -> Result<(), Failure> {
    let mut given = 0;
    while let Some(param) = params.next().map_err(Failure::Sql)? {
        given += 1;
        match param {
            Param::Int(number) => statement.raw_bind_parameter(given, number)?,
            Param::Text(text) => statement.raw_bind_parameter(given, text)?,
        }
    }
    let expected = statement.parameter_count();
    if given != expected {
        let message = format!("the statement has {expected} parameters, {given} were given");
        return Err(Failure::Sql(other(&message)));
    }
    Ok(())
}

#[inline]
fn put_value(out: &mut Vec<u8>, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => out.push(NULL),
        ValueRef::Integer(number) => {
            out.push(INTEGER);
            out.extend_from_slice(&number.to_le_bytes());
        }
        ValueRef::Real(number) => {
            out.push(REAL);
            out.extend_from_slice(&number.to_le_bytes());
        }
        ValueRef::Text(text) => protocol::put_bytes(out, STRING, text),
        ValueRef::Blob(bytes) => protocol::put_bytes(out, BLOB, bytes),
    }
}

#[cold]
fn other(message: &str) -> SqlError {
    SqlError::own(SqlErrorKind::Other, message.to_owned())
}

#[cold]
fn sql_error(error: &rusqlite::Error) -> SqlError {
    let kind = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => SqlErrorKind::Retry,
        Some(ErrorCode::DiskFull) => SqlErrorKind::DiskFull,
        _ => SqlErrorKind::Other,
    };
    let code = error.sqlite_error().map(|inner| Code::Number(inner.extended_code.cast_unsigned()));
    SqlError { kind, code, message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc;
    use std::time::Duration;

    const LOGIN: Duration = Duration::from_millis(300);

    /// The result of a connection on which a client sends these bytes, and then nothing.
    fn read(bytes: &[u8]) -> io::Result<()> {
        let (mut client, server) = UnixStream::pair().unwrap();
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let database = Connection::open_in_memory().unwrap();
            let mut stream = Stream::unix(server);
            stream.set_deadline(Some(Instant::now() + LOGIN));
            sender.send(serve_who_logs_in(&mut stream, &database, "right", &Waits::default()))
        });
        client.write_all(bytes).unwrap();
        receiver.recv_timeout(HANDSHAKE).unwrap()
    }

    #[test]
    fn an_unauthenticated_client_has_little_time_and_one_password_attempt() {
        let hello = |password: &str| {
            let mut out = Vec::new();
            Request::Hello { password: password.as_bytes() }.put(&mut out);
            out
        };
        let large = (protocol::LIMIT as u32).to_le_bytes();
        assert!(read(&large).unwrap_err().to_string().contains("more than a greeting"));
        assert!(read(&[hello("wrong"), hello("right")].concat()).unwrap_err().to_string().contains("another password"));
        // An incomplete greeting.
        assert_eq!(read(&large[..2]).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
