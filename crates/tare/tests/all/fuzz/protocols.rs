//! Servers that send mutated recordings of real servers. A recording contains what a server sent in the conversation
//! below, one line for each time that it sent something.

use crate::engines::support::{Place, binary_of, prepared};
use crate::fuzz::harness::{fuzz, inputs};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tare_engine::{Address, ConnectTarget, Engine, Mariadb, Mysql, Param, Postgresql, Session, Sqlite};

fn recording(engine: &dyn Engine) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/fuzz/recordings").join(format!("{}.txt", engine.name()))
}

/// All operations of a workload on a session; the results do not matter.
fn converse(session: &mut dyn Session, engine: &dyn Engine) {
    let _ = session.query("SELECT id, c FROM t WHERE id < 4 ORDER BY id");
    let _ = session.query("SELECT NULL, 1.5, ''");
    let placeholder = engine.dialect().placeholder(1);
    for sql in [format!("SELECT c FROM t WHERE id = {placeholder}"), "SELECT missing FROM t".to_owned()] {
        if let Ok(statement) = session.prepare(&sql) {
            let _ = session.execute(statement, &[Param::Int(7)]);
            let _ = session.execute(statement, &[Param::Int(70_000)]);
        }
    }
    let _ = session.run("UPDATE t SET k = 5 WHERE id < 10");
    let _ = session.run("SELECT nothing of this kind");
    let _ = session.server_thread();
}

fn target(socket: &Path, user: &str, database: Option<String>) -> ConnectTarget {
    let target = ConnectTarget::to(Address::Socket(socket.to_owned()), user);
    ConnectTarget { password: "secret".into(), database, ..target }
}

/// A server that sends the whole input to every client at once and closes, so that a client sees the end at once.
struct Fake {
    folder: tempfile::TempDir,
    says: Arc<Mutex<Vec<u8>>>,
}

impl Fake {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("s")).unwrap();
        let says = Arc::new(Mutex::new(Vec::new()));
        let input = Arc::clone(&says);
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let input = input.lock().unwrap().clone();
                let _ = stream.set_write_timeout(Some(Duration::from_secs(1)));
                let _ = stream.write_all(&input).and_then(|()| stream.shutdown(std::net::Shutdown::Write));
                let _ = std::io::copy(&mut stream, &mut std::io::sink());
            }
        });
        Self { folder, says }
    }
}

fn against(engine: &'static dyn Engine) {
    let text = std::fs::read_to_string(recording(engine)).unwrap();
    let good: Vec<u8> = text.lines().filter(|line| !line.starts_with('#')).flat_map(unescaped).collect();
    let fake = Fake::new();
    let mut connected = 0usize;
    fuzz(&format!("the protocol of {}", engine.name()), &[good], 4 * inputs(), |input| {
        *fake.says.lock().unwrap() = input.to_vec();
        let target = target(&fake.folder.path().join("s"), "user", Some("sbtest".into()));
        if let Ok(mut session) = engine.connect(&target) {
            connected += 1;
            session.set_timeout(Some(Duration::from_secs(5))).unwrap();
            converse(session.as_mut(), engine);
        }
    });
    // Otherwise the recording is of another protocol, and only its first message was tested.
    assert!(connected > inputs() / 4, "only {connected} inputs let the client in");
}

#[test]
fn garbled_answers_of_mariadb_cause_no_panic() {
    against(&Mariadb);
}

#[test]
fn garbled_answers_of_mysql_cause_no_panic() {
    against(&Mysql);
}

#[test]
fn garbled_answers_of_postgresql_cause_no_panic() {
    against(&Postgresql);
}

#[test]
fn garbled_answers_of_the_embedded_engine_cause_no_panic() {
    against(&Sqlite);
}

/// Reverts `escape_ascii`.
fn unescaped(line: &str) -> Vec<u8> {
    let mut bytes = line.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        let next = if byte == b'\\' { bytes.next().unwrap() } else { 0 };
        out.push(match (byte, next) {
            (b'\\', b'x') => {
                let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            (b'\\', b't') => b'\t',
            (b'\\', b'r') => b'\r',
            (b'\\', b'n') => b'\n',
            (b'\\', other) => other,
            (plain, _) => plain,
        });
    }
    out
}

#[test]
fn escaped_bytes_are_unescaped_without_loss() {
    let all: Vec<u8> = (0..=255).collect();
    assert_eq!(unescaped(&all.escape_ascii().to_string()), all);
}

/// Run with `cargo nextest run -p tare --run-ignored only fuzz::protocols::record`.
#[test]
#[ignore = "makes the recordings anew, from real servers"]
fn record() {
    for engine in [&Mariadb as &'static dyn Engine, &Postgresql, &Sqlite, &Mysql] {
        let place = Place::new();
        let binary = binary_of(engine);
        let data = prepared(engine, &place, binary.as_deref());
        let mut server = engine.start(&place.start_request(&data, binary.as_deref())).unwrap();
        let Address::Socket(behind) = server.target().address.clone() else { panic!("a socket") };
        let (listener, sent) = (UnixListener::bind(place.path("p")).unwrap(), Arc::new(Mutex::new(Vec::new())));
        let received = Arc::clone(&sent);
        std::thread::spawn(move || pass_on(&listener, &behind, &received));
        let mut session = engine
            .connect(&ConnectTarget { address: Address::Socket(place.path("p")), ..server.target().clone() })
            .unwrap();
        converse(session.as_mut(), engine);
        drop(session);
        std::thread::sleep(Duration::from_millis(200));
        let lines: String =
            sent.lock().unwrap().iter().map(|bytes: &Vec<u8>| format!("{}\n", bytes.escape_ascii())).collect();
        let head = format!("# What {} {} sent: see protocols.rs.\n", engine.name(), server.version());
        std::fs::write(recording(engine), head + &lines).unwrap();
        server.stop(Duration::from_secs(20)).unwrap();
    }
}

/// Forwards one connection to the server, and records what the server sends.
fn pass_on(listener: &UnixListener, behind: &Path, sent: &Mutex<Vec<Vec<u8>>>) {
    let (mut client, _) = listener.accept().unwrap();
    let mut server = UnixStream::connect(behind).unwrap();
    let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(std::net::Shutdown::Write);
    });
    let mut buffer = [0; 65_536];
    while let Ok(count) = server.read(&mut buffer) {
        if count == 0 || client.write_all(&buffer[..count]).is_err() {
            break;
        }
        sent.lock().unwrap().push(buffer[..count].to_vec());
    }
}
