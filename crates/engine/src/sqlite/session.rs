//! The client's side of a connection to the embedded engine.

use super::planted;
use super::protocol::{self, END, ERROR, HEADER, LIMIT, READY, ROW, Request, malformed};
use crate::transport::buffer::{AnswerLimits, ReadBuffer};
use crate::transport::session::{self, lost};
use crate::transport::stream::{Channel, Interrupter, Stream};
use crate::{ConnectTarget, EngineError, Param, Session, Spinning, SqlError, SqlErrorKind, StatementId};
use std::mem::take;
use std::time::Duration;
use tare_cpuset::ThreadRef;

#[derive(Debug)]
pub(super) struct SqliteSession<S = Stream> {
    stream: S,
    input: ReadBuffer,
    /// Length of the last returned frame, to be dropped before the next.
    current: usize,
    out: Vec<u8>,
    limit: Option<Duration>,
    /// Microseconds of planted delays, for tests.
    slower_us: [u64; 2],
}

impl SqliteSession {
    pub(super) fn open(target: &ConnectTarget) -> Result<Self, EngineError> {
        let mut session = session::open(target, |stream| {
            let mut session = Self::over(stream);
            session.send(Request::Hello { password: target.password.as_bytes() })?;
            match session.receive()? {
                (READY, _) => {}
                (ERROR, body) => return Err(protocol::error(body)),
                _ => return Err(malformed("no greeting")),
            }
            session.stream.set_deadline(None);
            Ok(session)
        })?;
        for (place, request) in planted::CLIENT_REQUESTS.iter().enumerate() {
            let failed = |source| EngineError::Connect { address: target.address.to_string(), source };
            let requested = session.query(request).map_err(failed)?;
            session.slower_us[place] =
                requested.first().and_then(|row| row.first()?.as_ref()?.parse().ok()).unwrap_or(0);
        }
        Ok(session)
    }
}

impl<S: Channel> SqliteSession<S> {
    fn over(stream: S) -> Self {
        Self { stream, input: ReadBuffer::new(), current: 0, out: Vec::new(), limit: None, slower_us: [0; 2] }
    }

    fn send(&mut self, request: Request<'_>) -> Result<(), SqlError> {
        self.out.clear();
        request.put(&mut self.out);
        self.flush()
    }

    #[inline]
    fn flush(&mut self) -> Result<(), SqlError> {
        if self.out.len() > HEADER + LIMIT {
            let message = format!("a statement of {} bytes, at most {LIMIT} are possible", self.out.len());
            return Err(SqlError::own(SqlErrorKind::Other, message));
        }
        self.stream.write_all(&self.out).map_err(lost)
    }

    /// The next frame: its type and the rest of its body.
    #[inline]
    fn receive(&mut self) -> Result<(u8, &[u8]), SqlError> {
        self.input.consume(take(&mut self.current));
        let header = self.input.peek(&mut self.stream, HEADER).map_err(lost)?;
        let header = header.try_into().map_err(|_| malformed("no header"))?;
        let length = protocol::body_length(header).ok_or_else(|| malformed("an invalid length"))?;
        self.current = HEADER + length;
        let frame = self.input.peek(&mut self.stream, HEADER + length).map_err(lost)?;
        Ok((frame[HEADER], &frame[HEADER + 1..]))
    }

    /// Reads an answer to its end and keeps the rows.
    fn rows(&mut self) -> Result<Vec<Vec<Option<String>>>, SqlError> {
        let (mut rows, mut limits) = (Vec::new(), AnswerLimits::of(self.limit));
        loop {
            match self.receive()? {
                (ROW, body) => {
                    let row = protocol::row(body)?;
                    limits.kept(&row)?;
                    rows.push(row);
                }
                (END, _) => return Ok(rows),
                (ERROR, body) => return Err(protocol::error(body)),
                _ => return Err(malformed("a frame of an unknown kind")),
            }
        }
    }

    /// Reads an answer to its end and drops the rows.
    #[inline]
    fn finish(&mut self) -> Result<u64, SqlError> {
        let mut limits = AnswerLimits::of(self.limit);
        loop {
            match self.receive()? {
                (ROW, _) => limits.part()?,
                (END, body) => return protocol::end(body),
                (ERROR, body) => return Err(protocol::error(body)),
                _ => return Err(malformed("a frame of an unknown kind")),
            }
        }
    }
}

impl<S: Channel> Session for SqliteSession<S> {
    fn prepare(&mut self, sql: &str) -> Result<StatementId, SqlError> {
        self.send(Request::Prepare { sql })?;
        self.finish().map(|number| StatementId(number as usize))
    }

    #[inline]
    fn execute(&mut self, statement: StatementId, params: &[Param<'_>]) -> Result<u64, SqlError> {
        if self.slower_us != [0; 2] {
            planted::slow_client(self.slower_us);
        }
        self.out.clear();
        protocol::put_execute(&mut self.out, u32::try_from(statement.0).unwrap_or(u32::MAX), params);
        self.flush()?;
        self.finish()
    }

    fn fetch(&mut self, statement: StatementId, params: &[Param<'_>]) -> Result<Vec<Vec<Option<String>>>, SqlError> {
        self.out.clear();
        protocol::put_execute(&mut self.out, u32::try_from(statement.0).unwrap_or(u32::MAX), params);
        self.flush()?;
        self.rows()
    }

    fn run(&mut self, sql: &str) -> Result<u64, SqlError> {
        self.send(Request::Text { sql })?;
        self.finish()
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, SqlError> {
        self.send(Request::Text { sql })?;
        self.rows()
    }

    fn set_timeout(&mut self, limit: Option<Duration>) -> Result<(), SqlError> {
        self.limit = limit;
        self.stream.set_silence(limit).map_err(lost)
    }

    fn set_spinning(&mut self, spinning: Option<Spinning>) {
        self.stream.set_spinning(spinning);
    }

    fn interrupter(&self) -> Option<Interrupter> {
        self.stream.interrupter()
    }

    fn thread_number(&mut self) -> Result<Option<i32>, SqlError> {
        self.send(Request::Thread)?;
        Ok(i32::try_from(self.finish()?).ok())
    }

    fn server_thread(&mut self) -> Result<Option<ThreadRef>, SqlError> {
        Ok(self.thread_number()?.and_then(|tid| ThreadRef::of_tid(tid).ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    use crate::transport::stream::Scripted;
    use std::io::{self, Read, Write};

    struct Script(io::Cursor<Vec<u8>>);

    impl Scripted for Script {}

    impl Read for Script {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(buffer)
        }
    }

    impl Write for Script {
        fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
            Ok(buffer.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn no_server_can_make_it_panic(
            frames in prop::collection::vec((0u8..6, prop::collection::vec(any::<u8>(), 0..24)), 0..9),
            noise in prop::collection::vec(any::<u8>(), 0..24),
        ) {
            let mut bytes = Vec::new();
            for (kind, body) in frames {
                protocol::frame(&mut bytes, kind, |out| out.extend_from_slice(&body));
            }
            bytes.extend(noise);
            let mut session = SqliteSession::over(Script(io::Cursor::new(bytes)));
            let _ = session.prepare("x");
            let _ = session.query("x");
            let _ = session.execute(StatementId(usize::MAX), &[Param::Int(1)]);
            let _ = session.fetch(StatementId(0), &[Param::Text("x")]);
            let _ = session.server_thread();
        }
    }
}
