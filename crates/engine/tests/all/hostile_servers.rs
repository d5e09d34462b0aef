//! Faulty servers: each must lead to a clear error, in bounded time and memory.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};
use tare_engine::{
    Address, ConnectTarget, Engine, EngineError, Mariadb, Postgresql, Session, SqlError, SqlErrorKind, Sqlite,
};

/// A server that runs `serve` for each connection, until the test ends.
pub struct Fake {
    folder: tempfile::TempDir,
}

impl Fake {
    pub fn new(serve: impl Fn(UnixStream) + Send + Sync + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("s")).unwrap();
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                serve(stream);
            }
        });
        Self { folder }
    }

    pub fn target(&self) -> ConnectTarget {
        let target = ConnectTarget::to(Address::Socket(self.folder.path().join("s")), "root");
        ConnectTarget { password: "secret".into(), ..target }
    }

    /// The error of a login, which must come in time and must not contain the password.
    pub fn refuses(&self, engine: &dyn Engine) -> String {
        let began = Instant::now();
        let error = engine.connect(&self.target()).err().expect("no one can log in here");
        assert!(began.elapsed() < Duration::from_secs(15), "{:?}: {error}", began.elapsed());
        assert!(
            matches!(&error, EngineError::Connect { source, .. } if source.kind == SqlErrorKind::Lost),
            "{error:?}"
        );
        let text = error.to_string();
        assert!(text.contains("cannot connect to") && !text.contains("secret"), "{text}");
        text
    }
}

pub fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u32).to_le_bytes().to_vec();
    out[3] = number;
    out.extend_from_slice(payload);
    out
}

/// MariaDB's greeting, with or without the capability bit for TLS.
pub fn greeting(tls: bool) -> Vec<u8> {
    let mut out = vec![10];
    // A version without a product, which the engines mariadb and mysql accept.
    out.extend_from_slice(b"5.5.5-10.11.0-neither\0\x01\0\0\0abcdefgh\0\xfe");
    out.extend_from_slice(if tls { b"\xff" } else { b"\xf7" });
    out.extend_from_slice(b"\x2d\x02\0\xff\x81\x15");
    out.extend_from_slice(&[0; 6]);
    out.extend_from_slice(&[0x1d, 0, 0, 0]);
    out.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
    packet(0, &out)
}

/// Reads once; false if the other side has disconnected.
pub fn hear(stream: &mut UnixStream) -> bool {
    let mut buffer = [0; 4096];
    matches!(stream.read(&mut buffer), Ok(count) if count > 0)
}

/// A server that accepts every login and runs `answer` for the first statement.
pub fn answering(answer: impl Fn(&mut UnixStream) + Send + Sync + 'static) -> Fake {
    Fake::new(move |mut stream| {
        let ok = packet(2, &[0, 0, 0, 2, 0, 0, 0]);
        if stream.write_all(&greeting(false)).is_ok()
            && hear(&mut stream)
            && stream.write_all(&ok).is_ok()
            && hear(&mut stream)
        {
            answer(&mut stream);
            // Until the client disconnects.
            let _ = hear(&mut stream);
        }
    })
}

pub fn session(fake: &Fake) -> Box<dyn Session> {
    Mariadb.connect(&fake.target()).unwrap()
}

/// The error of a query, which must come within a minute.
pub fn fails(fake: &Fake, run: impl Fn(&mut dyn Session) -> Result<(), SqlError>) -> SqlError {
    let mut session = session(fake);
    session.set_timeout(Some(Duration::from_millis(500))).unwrap();
    let began = Instant::now();
    let error = run(session.as_mut()).unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}: {error}", began.elapsed());
    error
}

/// Resident memory of this process, bytes.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn a_server_that_closes_each_connection_is_reported() {
    let fake = Fake::new(drop);
    for engine in [&Mariadb as &dyn Engine, &Postgresql, &Sqlite] {
        let text = fake.refuses(engine);
        assert!(text.contains("closed the connection"), "{text}");
    }
}

#[test]
fn a_silent_server_is_reported_in_bounded_time() {
    // Stored, so that the connections stay open.
    let held = std::sync::Mutex::new(Vec::new());
    let fake = Fake::new(move |stream| held.lock().unwrap().push(stream));
    std::thread::scope(|scope| {
        for engine in [&Mariadb as &(dyn Engine + Sync), &Postgresql, &Sqlite] {
            let fake = &fake;
            scope.spawn(move || {
                let text = fake.refuses(engine);
                assert!(text.contains("did not answer in time"), "{text}");
                // A PostgreSQL server is silent too until the client has sent its first message.
                assert_eq!(text.contains("check that it is MariaDB"), engine.name() == "mariadb", "{text}");
            });
        }
    });
}

/// Answers to what a client sends, one after the other.
type Answers = &'static [fn(&str) -> Vec<u8>];

/// A server that gives these answers and then stops: it says nothing more, or disconnects.
fn stopping(first: Vec<u8>, answers: Answers, disconnects: bool) -> Fake {
    let held = std::sync::Mutex::new(Vec::new());
    Fake::new(move |mut stream| {
        stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        let mut heard = vec![0; 4096];
        let mut sent = stream.write_all(&first);
        for answer in answers {
            let length = stream.read(&mut heard).unwrap_or(0);
            sent = sent.and_then(|()| stream.write_all(&answer(&String::from_utf8_lossy(&heard[..length]))));
        }
        let _ = stream.read(&mut heard);
        if sent.is_ok() && !disconnects {
            held.lock().unwrap().push(stream);
        }
    })
}

/// SCRAM's first message of the server, for that of the client, with this number of iterations.
fn scram(heard: &str, iterations: u32) -> Vec<u8> {
    let nonce = heard.split_once("r=").map_or("", |(_, nonce)| nonce);
    message(b'R', &[&[0, 0, 0, 11], format!("r={nonce}here,s=c2FsdA==,i={iterations}").as_bytes()].concat())
}

#[test]
fn a_server_that_stops_in_the_middle_of_a_login_is_reported_in_bounded_time() {
    const SHA2: fn(&str) -> Vec<u8> = |_| packet(2, b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0");
    const SASL: fn(&str) -> Vec<u8> = |_| message(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0");
    let sha2: [Answers; 3] = [&[SHA2], &[SHA2, |_| packet(4, &[1, 4])], &[SHA2, |_| packet(4, &[1, 3])]];
    let sasl: [Answers; 2] = [&[SASL], &[SASL, |heard| scram(heard, 4096)]];
    std::thread::scope(|scope| {
        for (disconnects, words) in [(false, "did not answer in time"), (true, "closed the connection")] {
            for (mariadb, answers) in sha2.map(|of| (true, of)).into_iter().chain(sasl.map(|of| (false, of))) {
                scope.spawn(move || {
                    let first = if mariadb { greeting(false) } else { Vec::new() };
                    let engine: &dyn Engine = if mariadb { &Mariadb } else { &Postgresql };
                    let text = stopping(first, answers, disconnects).refuses(engine);
                    assert!(text.contains(words), "{} answers of {}: {text}", answers.len(), engine.name());
                });
            }
        }
    });
    let endless: Answers = &[SASL, |heard| scram(heard, u32::MAX)];
    let began = Instant::now();
    let error = Postgresql.connect(&stopping(Vec::new(), endless, false).target()).err().unwrap().to_string();
    assert!(began.elapsed() < Duration::from_secs(5) && error.contains("iteration count"), "{error}");
}

#[test]
fn an_endless_slow_greeting_is_reported_in_bounded_time() {
    let fake = Fake::new(|mut stream| {
        let slow = packet(0, &[10; 60_000]);
        for byte in slow {
            if stream.write_all(&[byte]).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    let text = fake.refuses(&Mariadb);
    assert!(text.contains("did not answer in time"), "{text}");
}

#[test]
fn an_incomplete_or_oversized_greeting_is_refused() {
    let fake = Fake::new(|mut stream| drop(stream.write_all(&greeting(false)[..20])));
    assert!(fake.refuses(&Mariadb).contains("closed the connection"));
    let fake = Fake::new(|mut stream| {
        let _ = stream.write_all(&[0xff, 0xff, 0xff, 0, 10]);
        let _ = hear(&mut stream);
    });
    assert!(fake.refuses(&Mariadb).contains("more than 64 KiB"));
}

#[test]
fn an_endless_authentication_is_aborted() {
    let fake = Fake::new(|mut stream| {
        let _ = stream.write_all(&greeting(false));
        let mut number = 2u8;
        let mut switch = vec![0xfe];
        switch.extend_from_slice(b"mysql_native_password\0abcdefghijklmnopqrst\0");
        while hear(&mut stream) && stream.write_all(&packet(number, &switch)).is_ok() {
            number = number.wrapping_add(2);
        }
    });
    assert!(fake.refuses(&Mariadb).contains("without end"));
}

#[test]
fn an_unknown_method_of_authentication_is_named() {
    let fake = Fake::new(|mut stream| {
        let _ = stream.write_all(&greeting(false));
        let _ = hear(&mut stream) && stream.write_all(&packet(2, b"\xfesome_new_method\0")).is_ok();
        let _ = hear(&mut stream);
    });
    let error = Mariadb.connect(&fake.target()).err().unwrap().to_string();
    assert!(error.contains("some_new_method"), "{error}");
}

#[test]
fn an_error_inside_a_result_is_returned() {
    let fake = answering(|stream| {
        let mut out = packet(1, &[1, 1]);
        out.extend(packet(2, b"column"));
        out.extend(packet(3, &[1, b'x']));
        out.extend(packet(4, b"\xff\xbd\x04#40001deadlock"));
        let _ = stream.write_all(&out);
    });
    let error = fails(&fake, |session| session.query("SELECT 1").map(drop));
    assert_eq!((error.kind, error.to_string().as_str()), (SqlErrorKind::Retry, "deadlock (code 1213)"));
}

#[test]
fn an_incomplete_answer_ends_with_a_timeout() {
    let fake = answering(|stream| {
        let _ = stream.write_all(&packet(1, &[1, 1])[..3]);
    });
    let error = fails(&fake, |session| session.run("SELECT 1").map(drop));
    assert!(error.kind == SqlErrorKind::Lost && error.message.contains("did not answer in time"), "{error}");
}

#[test]
fn packets_out_of_order_lose_the_connection() {
    let fake = answering(|stream| {
        let _ = stream.write_all(&packet(7, &[0, 0, 0, 2, 0, 0, 0]));
    });
    let error = fails(&fake, |session| session.run("SELECT 1").map(drop));
    assert!(error.kind == SqlErrorKind::Lost && error.message.contains("received number 7, expected 1"), "{error}");
}

#[test]
fn an_impossible_number_of_columns_is_refused() {
    let fake = answering(|stream| {
        let _ = stream.write_all(&packet(1, &[0xfe, 0, 0, 0, 0, 0, 0, 0, 1, 1]));
    });
    assert!(fails(&fake, |session| session.query("SELECT 1").map(drop)).message.contains("columns"));
}

/// Rows without end, as fast as the client reads.
fn endless() -> Fake {
    answering(|stream| {
        let mut start = packet(1, &[1, 1]);
        start.extend(packet(2, b"column"));
        let (mut number, mut row) = (3u8, vec![0xfc, 0xe8, 3]);
        row.extend([b'x'; 1000]);
        let mut many = Vec::new();
        let mut writable = stream.write_all(&start).is_ok();
        while writable {
            many.clear();
            for _ in 0..256 {
                many.extend(packet(number, &row));
                number = number.wrapping_add(1);
            }
            writable = stream.write_all(&many).is_ok();
        }
    })
}

#[test]
fn rows_without_end_fill_neither_memory_nor_time() {
    let fake = endless();
    let before = resident();
    let error = fails(&fake, |session| session.query("SELECT 1").map(drop));
    assert!(error.message.contains("256 MiB") || error.message.contains("has not ended"), "{error}");
    let grown = resident().saturating_sub(before);
    assert!(grown < 600 << 20, "{} MiB more in memory", grown >> 20);
    let fake = endless();
    let error = fails(&fake, |session| session.run("SELECT 1").map(drop));
    assert!(error.kind == SqlErrorKind::Lost && error.message.contains("has not ended"), "{error}");
}

#[test]
fn a_session_that_waits_is_ended_from_another_thread() {
    let fake = answering(|stream| {
        let _ = hear(stream);
    });
    let mut session = session(&fake);
    let interrupter = session.interrupter().unwrap();
    let began = Instant::now();
    let waiting = std::thread::spawn(move || session.run("SELECT SLEEP(1000)").unwrap_err());
    std::thread::sleep(Duration::from_millis(100));
    interrupter.interrupt();
    assert_eq!(waiting.join().unwrap().kind, SqlErrorKind::Lost);
    assert!(began.elapsed() < Duration::from_secs(5));
}

/// A message of PostgreSQL's protocol.
pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

/// A PostgreSQL server that accepts every login and runs `answer` for the first statement.
pub fn postgres_server(answer: impl Fn(&mut UnixStream) + Send + Sync + 'static) -> Fake {
    Fake::new(move |mut stream| {
        let welcome = [message(b'R', &[0; 4]), message(b'Z', b"I")].concat();
        if hear(&mut stream) && stream.write_all(&welcome).is_ok() && hear(&mut stream) {
            answer(&mut stream);
            let _ = hear(&mut stream);
        }
    })
}

pub fn postgres_answering(answer: impl Fn(&mut UnixStream) + Send + Sync + 'static) -> Box<dyn Session> {
    let mut session = Postgresql.connect(&postgres_server(answer).target()).unwrap();
    session.set_timeout(Some(Duration::from_millis(500))).unwrap();
    session
}

#[test]
fn a_postgresql_without_a_process_for_the_connection_is_told_from_one_that_is_none() {
    let refused = |answer: &'static [u8]| {
        let fake = Fake::new(move |mut stream| {
            let _ = hear(&mut stream) && stream.write_all(answer).is_ok();
        });
        Postgresql.connect(&fake.target()).err().unwrap()
    };
    let error = refused(b"Ecould not fork new process for connection: Resource temporarily unavailable\n\0");
    assert!(error.is_refused_by_system() && error.to_string().ends_with("Resource temporarily unavailable"), "{error}");
    for answer in [&b"Ecould not fork"[..], b"Xcould not fork\n\0", &[b'E'; 100_000]] {
        let error = refused(answer);
        assert!(!error.is_refused_by_system() && error.to_string().contains("check that it is PostgreSQL"), "{error}");
    }
}

#[test]
fn a_postgresql_that_is_none_or_requests_something_unknown() {
    let fake = Fake::new(|mut stream| {
        let _ = hear(&mut stream) && stream.write_all(b"HTTP/1.1 400 Bad Request\r\n").is_ok();
        let _ = hear(&mut stream);
    });
    assert!(fake.refuses(&Postgresql).contains("check that it is PostgreSQL"));
    let fake = Fake::new(|mut stream| {
        let _ = hear(&mut stream) && stream.write_all(&message(b'R', &[0, 0, 0, 7])).is_ok();
        let _ = hear(&mut stream);
    });
    let error = Postgresql.connect(&fake.target()).err().unwrap().to_string();
    assert!(error.contains("number 7") && error.contains("scram-sha-256") && !error.contains("secret"), "{error}");
    let fake = Fake::new(|mut stream| {
        let notice = message(b'N', b"SNOTICE\0\0");
        let _ = hear(&mut stream);
        while stream.write_all(&notice).is_ok() {}
    });
    assert!(fake.refuses(&Postgresql).contains("too many messages"));
}

#[test]
fn a_postgresql_that_fails_stops_or_never_ends_in_the_middle_of_a_result() {
    let row = || message(b'D', &[0, 1, 0, 0, 0, 1, b'x']);
    let columns = || message(b'T', &[&[0, 1][..], b"c\0", &[0; 18]].concat());
    let mut session = postgres_answering(move |stream| {
        let error = message(b'E', b"SERROR\0C40P01\0Mdeadlock detected\0\0");
        let _ = stream.write_all(&[columns(), row(), error, message(b'Z', b"E")].concat());
    });
    let error = session.query("SELECT 1").unwrap_err();
    assert_eq!((error.kind, error.to_string().as_str()), (SqlErrorKind::Retry, "deadlock detected (SQLSTATE 40P01)"));

    let mut session = postgres_answering(move |stream| drop(stream.write_all(&[columns(), row()].concat()[..20])));
    let error = session.query("SELECT 1").unwrap_err();
    assert!(error.kind == SqlErrorKind::Lost && error.message.contains("did not answer in time"), "{error}");

    let mut session = postgres_answering(move |stream| {
        let many: Vec<u8> = (0..1000).flat_map(|_| row()).collect();
        let mut writable = stream.write_all(&columns()).is_ok();
        while writable {
            writable = stream.write_all(&many).is_ok();
        }
    });
    let error = session.run("SELECT 1").unwrap_err();
    assert!(error.kind == SqlErrorKind::Lost && error.message.contains("has not ended"), "{error}");
}

#[test]
fn a_postgresql_that_says_half_a_message_or_promises_16_mib() {
    let fake = Fake::new(|mut stream| {
        let _ = hear(&mut stream) && stream.write_all(&message(b'R', &[0; 4])[..6]).is_ok();
    });
    assert!(fake.refuses(&Postgresql).contains("closed the connection"));
    // Before login no message may be this long.
    let fake = Fake::new(|mut stream| {
        let _ = hear(&mut stream) && stream.write_all(&[b'R', 1, 0, 0, 0]).is_ok();
        let _ = hear(&mut stream);
    });
    assert!(fake.refuses(&Postgresql).contains("a message of 16777216 bytes"));
    // After login it may be.
    let mut session = postgres_answering(|stream| drop(stream.write_all(&[b'D', 1, 0, 0, 0, 0, 1])));
    let error = session.run("SELECT 1").unwrap_err();
    assert!(error.kind == SqlErrorKind::Lost && error.message.contains("did not answer in time"), "{error}");
    let mut session = postgres_answering(|stream| drop(stream.write_all(&[b'D', 0x40, 0, 0, 0])));
    assert!(session.run("SELECT 1").unwrap_err().message.contains("a message of 1073741824 bytes"));
}

#[test]
fn an_announced_large_row_that_never_arrives_ends_with_a_timeout() {
    let fake = answering(|stream| {
        let mut start = packet(1, &[1, 1]);
        start.extend(packet(2, b"column"));
        start.extend([0xff, 0xff, 0xff, 3, 0xfb]);
        let _ = stream.write_all(&start);
    });
    let error = fails(&fake, |session| session.query("SELECT 1").map(drop));
    assert!(error.kind == SqlErrorKind::Lost && error.message.contains("did not answer in time"), "{error}");
}
