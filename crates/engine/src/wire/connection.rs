//! One connection: handshake, prepare, execute, text.

use super::columns::{Column, Statement, binary_row};
use super::framing::{HEADER, Packets};
use super::login::{Greeting, authenticate, maybe_for_want_of_tls, no_greeting, secure};
use super::response::{self, First};
use super::serving;
use crate::process::peer;
use crate::transport::buffer::AnswerLimits;
use crate::transport::session::{self, lost, malformed};
use crate::transport::stream::{Channel, Interrupter, Stream};
use crate::{Code, ConnectTarget, EngineError, Param, Session, Spinning, SqlError, SqlErrorKind, StatementId};
use std::io::{self, Write};
use std::time::Duration;
use tare_cpuset::ThreadRef;

const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;

/// The setting that decides which threads serve the connections.
pub(crate) const HANDLING: &str = "thread_handling";
/// Its value with which each connection has a thread of its own.
pub(crate) const OWN_THREADS: &str = "one-thread-per-connection";

#[derive(Debug)]
pub(crate) struct Connection<S> {
    pub(super) packets: Packets<S>,
    version: String,
    caches_metadata: bool,
    statements: Vec<Statement>,
    out: Vec<u8>,
    limit: Option<Duration>,
}

impl Connection<Stream> {
    pub(crate) fn to(target: &ConnectTarget) -> Result<Self, EngineError> {
        session::open(target, |stream| Self::open(stream, target))
    }
}

impl<S: Channel> Connection<S> {
    /// Reads the greeting, sets up encryption if required, logs in and enters the database.
    pub(crate) fn open(stream: S, target: &ConnectTarget) -> Result<Self, SqlError> {
        let mut packets = Packets::new(stream);
        let payload = packets.receive().map_err(no_greeting)?;
        // A server with too many connections sends an error instead of a greeting.
        if payload.first() == Some(&0xff) {
            return Err(response::error(payload));
        }
        let greeting = Greeting::parse(payload).map_err(|what| malformed(&what))?;
        let encrypted = secure(&mut packets, &greeting, target)?;
        packets.send_reply(&mut greeting.answer(target, encrypted)).map_err(lost)?;
        // On a private connection a refusal is usually due to the password.
        let in_clear = !encrypted && !packets.stream().is_private();
        authenticate(&mut packets, target, greeting.nonce())
            .map_err(|error| if in_clear { maybe_for_want_of_tls(error, &greeting) } else { error })?;
        let caches_metadata = greeting.caches_metadata();
        packets.logged_in();
        packets.stream_mut().set_deadline(None);
        let (version, statements, out) = (greeting.version, Vec::new(), Vec::new());
        Ok(Self { packets, version, caches_metadata, statements, out, limit: None })
    }

    /// The version in the server's greeting, without the prefix that old replicas needed.
    pub(crate) fn version(&self) -> &str {
        self.version.strip_prefix("5.5.5-").unwrap_or(&self.version)
    }

    /// Reads this many column definitions; none if one of them is invalid.
    fn columns(&mut self, count: u64) -> Result<Option<Vec<Column>>, SqlError> {
        let mut columns = Some(Vec::new());
        for _ in 0..count {
            let column = Column::parse(self.packets.receive().map_err(lost)?);
            columns = columns.zip(column).map(|(mut columns, column)| {
                columns.push(column);
                columns
            });
        }
        Ok(columns)
    }

    pub(super) fn send_query(&mut self, sql: &str) -> Result<(), SqlError> {
        self.send_text(COM_QUERY, sql)
    }

    fn send_text(&mut self, command: u8, sql: &str) -> Result<(), SqlError> {
        self.out.clear();
        self.out.extend_from_slice(&[0; HEADER]);
        self.out.push(command);
        self.out.extend_from_slice(sql.as_bytes());
        self.packets.send_command(&mut self.out).map_err(lost)
    }

    /// Reads the first packet of an answer, and the column definitions if they follow: those of a statement are kept.
    #[inline]
    fn first(&mut self, of: Option<StatementId>) -> Result<First, SqlError> {
        let first = response::first(self.packets.receive().map_err(lost)?, self.caches_metadata)?;
        match (first, of) {
            (First::Rows { columns, metadata: true }, Some(statement)) => {
                self.statements[statement.0].columns = self.columns(columns)?;
            }
            (First::Rows { columns, metadata: true }, None) => {
                for _ in 0..columns {
                    self.packets.receive().map_err(lost)?;
                }
            }
            _ => {}
        }
        Ok(first)
    }

    /// Reads an answer to its end: counts the rows without parsing them.
    #[inline]
    pub(super) fn discard(&mut self) -> Result<u64, SqlError> {
        let mut rows = 0_u64;
        let changed = self.answer(None, |_, _, _, limits| {
            rows += 1;
            limits.part()
        })?;
        Ok(rows.saturating_add(changed))
    }

    /// Reads an answer to its end, and returns how many rows were changed. `row` gets each row with the number of its
    /// columns and, if the answer is that of a statement, their definitions.
    #[inline]
    fn answer(
        &mut self,
        of: Option<StatementId>,
        mut row: impl FnMut(&[u8], u64, &[Column], &mut AnswerLimits) -> Result<(), SqlError>,
    ) -> Result<u64, SqlError> {
        let (mut changed, mut limits) = (0, AnswerLimits::of(self.limit));
        loop {
            limits.result()?;
            let done = match self.first(of)? {
                First::Done(done) => {
                    changed = u64::saturating_add(changed, done.changed);
                    done
                }
                First::Rows { columns, .. } => {
                    let kept = of.map_or(Some(&[][..]), |statement| self.statements[statement.0].columns.as_deref());
                    let kept = kept.ok_or_else(|| malformed("columns that cannot be read"))?;
                    loop {
                        let payload = self.packets.receive().map_err(lost)?;
                        match payload.first() {
                            Some(0xff) => return Err(response::error(payload)),
                            Some(0xfe) if response::ends_rows(payload) => break response::done(payload)?,
                            _ => row(payload, columns, kept, &mut limits)?,
                        }
                    }
                }
            };
            if !done.more {
                return Ok(changed);
            }
        }
    }
}

impl<S: Channel> Session for Connection<S> {
    fn prepare(&mut self, sql: &str) -> Result<StatementId, SqlError> {
        self.send_text(COM_STMT_PREPARE, sql)?;
        let prepared = response::prepared(self.packets.receive().map_err(lost)?)?;
        for _ in 0..prepared.parameters {
            self.packets.receive().map_err(lost)?;
        }
        let columns = self.columns(u64::from(prepared.columns))?;
        self.statements.push(Statement::new(prepared, columns));
        Ok(StatementId(self.statements.len() - 1))
    }

    #[inline]
    fn execute(&mut self, statement: StatementId, params: &[Param<'_>]) -> Result<u64, SqlError> {
        let statement = self.statements.get_mut(statement.0).ok_or_else(SqlError::unknown_statement)?;
        statement.encode(&mut self.out, params)?;
        self.packets.send_command(&mut self.out).map_err(lost)?;
        self.discard()
    }

    fn fetch(&mut self, statement: StatementId, params: &[Param<'_>]) -> Result<Vec<Vec<Option<String>>>, SqlError> {
        let known = self.statements.get_mut(statement.0).ok_or_else(SqlError::unknown_statement)?;
        known.encode(&mut self.out, params)?;
        self.packets.send_command(&mut self.out).map_err(lost)?;
        let mut rows = Vec::new();
        self.answer(Some(statement), |payload, _, columns, limits| {
            let row = binary_row(payload, columns).ok_or_else(|| malformed("a row that cannot be read"))?;
            limits.kept(&row)?;
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    fn run(&mut self, sql: &str) -> Result<u64, SqlError> {
        self.send_query(sql)?;
        self.discard()
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, SqlError> {
        self.send_query(sql)?;
        let mut rows = Vec::new();
        self.answer(None, |payload, columns, _, limits| {
            let row = response::text_row(payload, columns)?;
            limits.kept(&row)?;
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// With LOCAL, a value that does not fit or an existing key is only a warning. Here it is an error.
    fn load(&mut self, sql: &str, feed: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Result<u64, SqlError> {
        let taken = self.load_local(sql, feed)?;
        let warnings = self.query("SHOW WARNINGS LIMIT 1")?;
        match warnings.first().map(Vec::as_slice) {
            None => Ok(taken),
            Some(warning) => {
                let cell = |at: usize| warning.get(at).and_then(Option::as_deref);
                let code = cell(1).and_then(|code| code.parse().ok()).map(Code::Number);
                let message = cell(2).unwrap_or("a row was changed on its way").to_owned();
                Err(SqlError { kind: SqlErrorKind::Other, code, message })
            }
        }
    }

    fn set_timeout(&mut self, limit: Option<Duration>) -> Result<(), SqlError> {
        self.limit = limit;
        self.packets.stream_mut().set_silence(limit).map_err(lost)
    }

    fn set_spinning(&mut self, spinning: Option<Spinning>) {
        self.packets.stream_mut().set_spinning(spinning);
    }

    fn encryption(&self) -> Option<String> {
        self.packets.stream().encryption()
    }

    fn interrupter(&self) -> Option<Interrupter> {
        self.packets.stream().interrupter()
    }

    /// With a thread pool a connection has no thread of its own between statements, which is an error here. MySQL
    /// without performance_schema does not report the number.
    fn thread_number(&mut self) -> Result<Option<i32>, SqlError> {
        let rows = self.query(if self.version.contains("MariaDB") {
            "SELECT TID, @@thread_handling FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()"
        } else {
            "SELECT (SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()), \
             @@thread_handling"
        })?;
        match rows.first().map(Vec::as_slice) {
            Some([tid, Some(handling)]) if handling == OWN_THREADS => {
                Ok(tid.as_deref().and_then(|tid| tid.parse().ok()))
            }
            Some([_, Some(handling)]) => {
                let message = format!(
                    "this server has {HANDLING}={handling}: a connection has no thread of its own that could be \
                     placed; start it with {HANDLING}={OWN_THREADS}, or leave out bind and pairing"
                );
                Err(SqlError::own(SqlErrorKind::Other, message))
            }
            _ => Ok(None),
        }
    }

    fn server_thread(&mut self) -> Result<Option<ThreadRef>, SqlError> {
        if !self.packets.stream().is_local() {
            return Ok(None);
        }
        match (self.thread_number()?, self.packets.stream().server_pid()) {
            (None, Some(pid)) => {
                let tid = serving::thread(pid, || self.query(serving::WORK).map(drop))?;
                Ok(tid.map(|tid| ThreadRef { pid, tid }))
            }
            (reported, listener) => Ok(reported.and_then(|tid| peer::thread_of(tid, listener, &["mariadb", "mysql"]))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::stream::Scripted;
    use proptest::prelude::*;
    use std::io::Read;

    /// A server that sends these packets, whatever it is asked, with correct sequence numbers.
    struct Script {
        packets: std::vec::IntoIter<Vec<u8>>,
        current: Vec<u8>,
        number: u8,
        numbers: bool,
    }

    impl Script {
        fn new(packets: Vec<Vec<u8>>) -> Self {
            Self { packets: packets.into_iter(), current: Vec::new(), number: 0, numbers: true }
        }

        fn noise(bytes: Vec<u8>) -> Self {
            Self { numbers: false, ..Self::new(vec![bytes]) }
        }
    }

    impl Scripted for Script {}

    impl Read for Script {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.current.is_empty() {
                self.current = self.packets.next().unwrap_or_default();
                if self.numbers && !self.current.is_empty() {
                    self.current[3] = self.number;
                    self.number = self.number.wrapping_add(1);
                }
            }
            let count = buffer.len().min(self.current.len());
            buffer[..count].copy_from_slice(&self.current[..count]);
            self.current.drain(..count);
            Ok(count)
        }
    }

    impl Write for Script {
        fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
            self.number = buffer[3].wrapping_add(1);
            Ok(buffer.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn packet(payload: &[u8]) -> Vec<u8> {
        let mut out = (payload.len() as u32).to_le_bytes().to_vec();
        out.extend_from_slice(payload);
        out
    }

    fn greeting() -> Vec<u8> {
        let mut out = vec![10];
        out.extend_from_slice(b"5.5.5-10.11.0-MariaDB\0\x01\0\0\0abcdefgh\0\xfe\xf7\x2d\x02\0\xff\x81\x15");
        out.extend_from_slice(&[0; 6]);
        out.extend_from_slice(&[0x1d, 0, 0, 0]);
        out.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
        out
    }

    fn target(password: &str) -> ConnectTarget {
        let (password, database, charset) = (password.into(), Some("db".into()), crate::Charset::Utf8mb4);
        ConnectTarget { password, database, charset, ..ConnectTarget::private("s".into(), "root") }
    }

    fn scripted(answers: &[&[u8]]) -> Connection<Script> {
        let mut packets = vec![packet(&greeting()), packet(&[0, 0, 0, 2, 0, 0, 0])];
        packets.extend(answers.iter().map(|answer| packet(answer)));
        Connection::open(Script::new(packets), &target("")).unwrap()
    }

    const END: [u8; 7] = [0xfe, 0, 0, 2, 0, 0, 0];

    #[test]
    fn rows_are_counted_with_and_without_their_columns() {
        let prepared = [0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        let (with, without) = ([1, 1], [1, 0]);
        let mut server = scripted(&[
            &prepared,
            b"column",
            &with,
            b"column",
            &[0, 0, 1],
            &END,
            &without,
            &[0, 0, 1],
            &[0, 0, 2],
            &END,
        ]);
        let statement = server.prepare("SELECT 1").unwrap();
        assert_eq!(server.execute(statement, &[]), Ok(1));
        assert_eq!(server.execute(statement, &[]), Ok(2));
        assert_eq!(server.execute(statement, &[Param::Int(1)]).unwrap_err().kind, SqlErrorKind::Other);
        assert_eq!(server.execute(StatementId(7), &[]).unwrap_err().kind, SqlErrorKind::Other);
        assert_eq!(server.execute(statement, &[]).unwrap_err().kind, SqlErrorKind::Lost);
    }

    #[test]
    fn an_error_among_rows_ends_them_and_the_connection_goes_on() {
        let deadlock = [0xff, 0xbd, 0x04, b'#', b'4', b'0', b'0', b'0', b'1', b'd'];
        let mut server = scripted(&[&[1, 1], b"column", &[1, b'x'], &deadlock, &[0, 5, 0, 2, 0, 0, 0]]);
        assert_eq!(server.run("SELECT c").unwrap_err().kind, SqlErrorKind::Retry);
        assert_eq!(server.run("UPDATE t"), Ok(5));
    }

    #[test]
    fn results_of_a_procedure_are_read_to_the_last_one() {
        let more = [0xfe, 0, 0, 10, 0, 0, 0];
        let answers: [&[u8]; 5] = [&[1, 1], b"column", &[1, b'x'], &more, &[0, 0, 0, 2, 0, 0, 0]];
        assert_eq!(scripted(&answers).query("CALL p()"), Ok(vec![vec![Some("x".to_owned())]]));
    }

    #[test]
    fn rows_follow_only_a_statement_that_asks_for_them() {
        let wants = [0xfb, b'/', b'e', b't', b'c'];
        let mut server = scripted(&[&wants, &[0, 2, 0, 2, 0, 0, 0]]);
        let mut feed = |server: &mut dyn Write| server.write_all(b"1|x\n2|y\n");
        assert_eq!(server.load_local("LOAD DATA LOCAL", &mut feed), Ok(2));
        let error = scripted(&[&wants]).run("SELECT 1").unwrap_err();
        assert!(error.kind == SqlErrorKind::Lost && error.message.contains("local file"), "{error}");
        let mut never = |_: &mut dyn Write| panic!("nothing was requested");
        let disabled = [0xff, 0x6c, 0x0f, b'#', b'4', b'2', b'0', b'0', b'0', b'd'];
        let mut server = scripted(&[&disabled, &[0, 1, 0, 2, 0, 0, 0], &[0, 5, 0, 2, 0, 0, 0]]);
        assert_eq!(server.load_local("LOAD DATA LOCAL", &mut never).unwrap_err().code, Some(Code::Number(3948)));
        assert_eq!(server.load_local("UPDATE t", &mut never).unwrap_err().kind, SqlErrorKind::Lost);
    }

    proptest! {
        #[test]
        fn no_server_can_make_it_panic(
            answers in prop::collection::vec(
                prop_oneof![
                    prop::collection::vec(any::<u8>(), 0..40),
                    Just(vec![1, 1]), Just(END.to_vec()), Just(vec![0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]),
                ],
                0..12,
            ),
            noise in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let answers: Vec<&[u8]> = answers.iter().map(Vec::as_slice).collect();
            let mut server = scripted(&answers);
            server.statements.push(Statement::new(response::Prepared { id: 1, columns: 1, parameters: 1 }, None));
            let _ = server.query("SELECT 1");
            let _ = server.prepare("SELECT ?");
            let _ = server.execute(StatementId(0), &[Param::Text("x")]);
            let _ = server.fetch(StatementId(0), &[Param::Text("x")]);
            let _ = server.run("SELECT 1");
            let _ = server.load_local("LOAD", &mut |server| server.write_all(&[b'x'; 100_000]));
            let _ = Connection::open(Script::noise(noise), &target("x"));
        }
    }
}
