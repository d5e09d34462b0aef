//! Servers that agree to TLS and then misbehave: each must lead to a clear error, in bounded time.

use crate::hostile_servers::greeting;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tare_engine::{Address, ConnectTarget, Engine, Mariadb, Mysql, Postgresql, Tls, TlsMode};

const ENGINES: [&(dyn Engine + Sync); 3] = [&Mariadb, &Mysql, &Postgresql];

/// What a fake server does after it has agreed to TLS.
type Answer = dyn Fn(&mut TcpStream) + Send + Sync;

/// The port of a server that runs `serve` for every connection, each in a thread of its own.
fn listening(serve: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let serve = Arc::clone(&serve);
            std::thread::spawn(move || serve(&mut stream));
        }
    });
    port
}

/// A server that agrees to TLS, as its protocol defines it, and then runs `answer`.
fn fake(engine: &str, answer: Arc<Answer>) -> ConnectTarget {
    let postgres = engine == "postgresql";
    let port = listening(move |stream| {
        if !postgres && stream.write_all(&greeting(true)).is_err() {
            return;
        }
        // The TLS request: 8 bytes for PostgreSQL, 4 + 32 otherwise.
        let mut requested = vec![0; if postgres { 8 } else { 36 }];
        if stream.read_exact(&mut requested).is_ok() && (!postgres || stream.write_all(b"S").is_ok()) {
            answer(stream);
        }
    });
    target(port, TlsMode::Required)
}

fn target(port: u16, mode: TlsMode) -> ConnectTarget {
    let target = ConnectTarget::to(Address::Tcp("127.0.0.1".into(), port), "root");
    ConnectTarget { password: "Zx9-secret".into(), tls: Tls { mode, ..Tls::default() }, ..target }
}

/// The error of a login, which must come in time and must not contain the password.
fn refused(engine: &dyn Engine, target: &ConnectTarget) -> String {
    let began = Instant::now();
    let error = engine.connect(target).err().expect("no one gets in here").to_string();
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}: {error}", began.elapsed());
    assert!(error.contains("cannot connect to") && !error.contains("Zx9-secret"), "{error}");
    error
}

/// The same for each engine, in parallel: some cases wait until the time limit.
fn each_refused(answer: impl Fn(&mut TcpStream) + Send + Sync + 'static, words: &[&str]) {
    let answer: Arc<Answer> = Arc::new(answer);
    std::thread::scope(|scope| {
        for engine in ENGINES {
            let answer = Arc::clone(&answer);
            scope.spawn(move || {
                let error = refused(engine, &fake(engine.name(), answer));
                assert!(words.iter().any(|words| error.contains(words)), "{}: {error}", engine.name());
            });
        }
    });
}

/// Reads until the client disconnects.
fn hear_out(stream: &mut TcpStream) {
    let _ = std::io::copy(stream, &mut std::io::sink());
}

#[test]
fn a_tls_handshake_that_hangs_is_refused_in_bounded_time() {
    each_refused(hear_out, &["did not answer in time"]);
}

#[test]
fn a_slow_endless_tls_handshake_is_refused_in_bounded_time() {
    each_refused(
        |stream| {
            // A handshake record that announces 16,000 bytes.
            let mut slow = vec![22, 3, 3, 0x3e, 0x80, 2, 0, 0x3e, 0x7c];
            slow.extend([0; 16_000]);
            for byte in slow {
                if stream.write_all(&[byte]).is_err() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        },
        &["did not answer in time"],
    );
}

#[test]
fn a_server_that_closes_during_the_tls_handshake_is_reported() {
    each_refused(|_| {}, &["closed the connection"]);
    each_refused(|stream| drop(stream.write_all(&[22, 3, 3, 0, 90, 2, 0])), &["closed the connection"]);
}

#[test]
fn a_server_that_answers_tls_with_something_else_is_refused() {
    each_refused(
        |stream| {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            hear_out(stream);
        },
        &["supports TLS"],
    );
    // An alert, and messages without end.
    each_refused(
        |stream| {
            let _ = stream.write_all(&[21, 3, 3, 0, 2, 2, 40]);
            hear_out(stream);
        },
        &["refused (HandshakeFailure)"],
    );
    each_refused(
        |stream| {
            let mut record = vec![22, 3, 3, 0x40, 0, 2, 0xff, 0xff, 0xff];
            record.resize(5 + 0x4000, 0);
            while stream.write_all(&record).is_ok() {}
        },
        &["TLS: "],
    );
}

/// Bytes that a host in between adds to the server's clear text must not be treated as encrypted.
#[test]
fn bytes_received_before_tls_are_never_treated_as_encrypted() {
    let port = listening(|stream| {
        let ok = [7, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0];
        let _ = stream.write_all(&[&greeting(true)[..], &ok].concat());
        hear_out(stream);
    });
    let error = refused(&Mariadb, &target(port, TlsMode::Required));
    assert!(error.contains("before the encryption began"), "{error}");
    each_refused(
        |stream| {
            let _ = stream.write_all(&[b'R', 0, 0, 0, 8, 0, 0, 0, 0]);
            hear_out(stream);
        },
        &["supports TLS"],
    );
}

#[test]
fn a_server_without_the_required_tls_or_with_an_invalid_answer_is_refused() {
    for (engine, says, words) in [
        (&Mariadb as &dyn Engine, greeting(false), "the server offers no TLS, and verify-full was requested"),
        (&Postgresql, b"N".to_vec(), "the server offers no TLS, and verify-full was requested"),
        (&Postgresql, b"E".to_vec(), "an invalid answer to the request for TLS"),
    ] {
        let port = listening(move |stream| {
            let _ = stream.write_all(&says);
            hear_out(stream);
        });
        let error = refused(engine, &target(port, TlsMode::VerifyFull));
        assert!(error.contains(words), "{error}");
    }
}
