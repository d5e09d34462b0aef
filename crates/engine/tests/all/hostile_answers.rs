//! Answers that take more memory than their size on the wire, that do not end, or that lack authentication;
//! certificates that are not regular files.

use crate::hostile_servers::{Fake, answering, hear, message, packet, postgres_answering, postgres_server, session};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;
use tare_engine::{Address, ConnectTarget, Engine, Mariadb, Mysql, Postgresql, SqlErrorKind, Tls, TlsMode};

/// Peak memory of this process since the last call, bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    kib << 10
}

/// The result of `what`, which must be available within this time.
fn within<T: Send + 'static>(seconds: u64, what: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, ended) = channel();
    std::thread::spawn(move || drop(done.send(what())));
    ended.recv_timeout(Duration::from_secs(seconds)).expect("it goes on for too long")
}

/// Sends rows until the client stops reading.
fn without_end(stream: &mut UnixStream, row: impl Fn(u8) -> Vec<u8>) {
    let mut number = 3;
    while stream.write_all(&row(number)).is_ok() {
        number = number.wrapping_add(1);
    }
}

#[test]
fn a_result_takes_no_more_memory_than_the_limit_however_little_it_is_on_its_way() {
    const MOST: u64 = 450 << 20;
    // No columns are announced, and each row has the largest possible number of values, all empty.
    let nulls: Vec<u8> = [&[0xff, 0xff][..], &[0xff; 4 * 65_535]].concat();
    let row = message(b'D', &nulls);
    let mut postgres = postgres_answering(move |stream| {
        let _ = stream.write_all(&message(b'T', &[0, 0]));
        without_end(stream, |_| row.clone());
    });
    postgres.set_timeout(Some(Duration::from_secs(60))).unwrap();
    peak();
    let error = postgres.query("SELECT 1").unwrap_err();
    let reached = peak();
    assert!(error.kind == SqlErrorKind::Lost && error.message.contains("256 MiB"), "{error}");
    assert!(reached < MOST, "{} MiB", reached >> 20);
    // Invalid UTF-8 becomes three times as long.
    let row = [&[0xfd, 0, 0, 0x10][..], &[0xff; 1 << 20]].concat();
    let fake = answering(move |stream| {
        let _ = stream.write_all(&[packet(1, &[1, 1]), packet(2, b"column")].concat());
        without_end(stream, |number| packet(number, &row));
    });
    for engine in [&Mariadb as &dyn Engine, &Mysql] {
        let mut session = engine.connect(&fake.target()).unwrap();
        session.set_timeout(Some(Duration::from_secs(60))).unwrap();
        let error = session.query("SELECT 1").unwrap_err();
        let reached = peak();
        assert!(error.message.contains("256 MiB"), "{}: {error}", engine.name());
        assert!(reached < MOST, "{}: {} MiB", engine.name(), reached >> 20);
    }
}

#[test]
fn answers_to_many_connections_take_no_more_memory_than_a_few() {
    const SESSIONS: usize = 32;
    const MOST: u64 = 1_300 << 20;
    let served = Arc::new(AtomicUsize::new(0));
    let ask = |_| {
        let served = served.clone();
        let mut session = postgres_answering(move |stream| {
            // A row of 63 MiB without its end; then it waits until every session has its part.
            let _ = stream.write_all(&[&b"D"[..], &(63_u32 << 20).to_be_bytes()].concat());
            let _ = (0..62).try_fold((), |(), _| stream.write_all(&[0; 1 << 16].repeat(16)));
            served.fetch_add(1, Ordering::Relaxed);
            while served.load(Ordering::Relaxed) < SESSIONS {
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = stream.shutdown(Shutdown::Both);
        });
        session.set_timeout(Some(Duration::from_secs(120))).unwrap();
        std::thread::spawn(move || session.run("SELECT 1").unwrap_err().message)
    };
    peak();
    let sessions: Vec<_> = (0..SESSIONS).map(ask).collect();
    let errors: Vec<String> = sessions.into_iter().map(|session| session.join().unwrap()).collect();
    let reached = peak();
    assert!(errors.iter().any(|error| error.contains("1024 MiB to all connections together")), "{errors:?}");
    assert!(reached < MOST, "{} MiB", reached >> 20);
}

#[test]
fn an_answer_that_comes_byte_by_byte_or_is_all_notices_is_given_up() {
    let slow = |stream: &mut UnixStream, bytes: Vec<u8>| {
        for byte in bytes {
            if stream.write_all(&[byte]).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let fake = answering(move |stream| slow(stream, packet(1, &[0; 60_000])));
    let mut mariadb = session(&fake);
    mariadb.set_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut postgres = postgres_answering(move |stream| slow(stream, message(b'C', &[b'x'; 60_000])));
    let mut notices = postgres_answering(|stream| {
        let many = message(b'N', b"SNOTICE\0\0").repeat(1000);
        while stream.write_all(&many).is_ok() {}
    });
    let errors = within(20, move || {
        [mariadb.run("SET x = 1"), postgres.run("SET x = 1"), notices.prepare("SELECT 1").map(|_| 0)]
    });
    for error in errors.map(Result::unwrap_err) {
        let words = ["did not answer in time", "has not ended"];
        assert!(error.kind == SqlErrorKind::Lost && words.iter().any(|words| error.message.contains(words)), "{error}");
    }
}

#[test]
fn hostile_answers_write_no_file_and_leave_no_descriptor() {
    const EACH: usize = 20;
    // The kernel ends a process that writes to a file beyond this limit.
    setrlimit(Resource::Fsize, Rlimit { current: Some(0), maximum: Some(0) }).unwrap();
    let says = |bytes: Vec<u8>| move |stream: &mut UnixStream| drop(stream.write_all(&bytes));
    let column = [packet(1, &[1, 1]), packet(2, b"column")].concat();
    // A request for a local file, a packet that is cut, rows that do not end, an answer out of order.
    let mysql =
        [packet(1, b"\xfb/etc/passwd"), vec![1, 0], column, packet(7, &[0; 7])].map(|bytes| answering(says(bytes)));
    let postgres = [message(b'G', &[0; 3]), vec![b'T', 0], message(b'T', &[0; 2]), message(b'?', &[])]
        .map(|bytes| postgres_server(says(bytes)));
    let engines: [(&[&dyn Engine], _); 2] = [(&[&Mariadb, &Mysql], &mysql), (&[&Postgresql], &postgres)];
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = open();
    for (engines, fakes) in engines {
        for fake in fakes.iter().flat_map(|fake| [fake; EACH]) {
            for engine in engines {
                let mut session = engine.connect(&fake.target()).unwrap();
                session.set_timeout(Some(Duration::from_millis(5))).unwrap();
                let error = session.query("LOAD DATA LOCAL INFILE 'x' INTO TABLE t").unwrap_err();
                assert_eq!(error.kind, SqlErrorKind::Lost, "{}: {error}", engine.name());
                // The server's end of the last connection may still be open, and this one is.
                assert!(open() <= before + 4, "{} descriptors are open, {before} before", open());
            }
        }
    }
}

/// The error for a PostgreSQL server that requests SCRAM and then sends `says` instead of its own proof.
fn unproved(says: Vec<u8>) -> String {
    let fake = Fake::new(move |mut stream| {
        let asks = message(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0");
        if hear(&mut stream) && stream.write_all(&asks).is_ok() && hear(&mut stream) {
            let _ = stream.write_all(&says);
            let _ = hear(&mut stream);
        }
    });
    let error = Postgresql.connect(&fake.target()).err().expect("no one is let in without a proof").to_string();
    assert!(!error.contains("secret"), "{error}");
    error
}

#[test]
fn a_postgresql_server_without_scram_proof_is_refused() {
    let ready = &b"Z\0\0\0\x05I"[..];
    let error = unproved([&b"R\0\0\0\x08\0\0\0\0"[..], ready].concat());
    assert!(error.contains("without proving") && error.contains("verify-full"), "{error}");
    assert!(unproved(ready.to_vec()).contains("before the login was complete"));
    // Over a Unix socket a password may be sent in clear text, but not after SCRAM has begun.
    assert!(unproved(b"R\0\0\0\x08\0\0\0\x03".to_vec()).contains("another method"));
}

#[test]
fn a_certificate_that_is_a_pipe_or_has_no_end_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let target = |fake: &Fake, ca: &Path| ConnectTarget {
        address: Address::Socket(fake.target().address.to_string().into()),
        tls: Tls { mode: TlsMode::VerifyCa, ca: Some(ca.to_owned()), ..Tls::default() },
        ..fake.target()
    };
    for ca in [pipe.as_path(), Path::new("/dev/zero")] {
        let fake = Fake::new(|mut stream| {
            let mut greeting = crate::hostile_servers::greeting(false);
            // Offers TLS.
            let at = greeting.iter().position(|byte| *byte == 0xf7).unwrap();
            greeting[at] = 0xff;
            let _ = stream.write_all(&greeting);
            let _ = hear(&mut stream) && hear(&mut stream);
        });
        let target = target(&fake, ca);
        let error = within(10, move || Mariadb.connect(&target).err().map(|error| error.to_string())).unwrap();
        assert!(error.contains("not a regular file") && error.contains(ca.to_str().unwrap()), "{error}");
    }
}
