//! Servers that require the password itself over a connection without encryption.

use crate::hostile_servers::packet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tare_engine::{Address, ConnectTarget, Engine, Mariadb, Mysql, PasswordKey, Tls};

/// A key of 2048 bits whose private half was discarded.
const KEY: &str = "\
-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAlJtlrJMhU2nH8HY371om
5K0d6lBZSN1pgyz7JmDytoa3gmyCzsyFIpelYb3CnL3Ffuz2Y0QNy5I1um4kHPkl
GPe967MB90BQiO6BGW2MAjqCqpaH3amoJs0z0byVz4DJTnf/JeOqhYGuWL5DCUbL
V6VtYRwJmRUAHnAg10CU8eINDoO0MTwzESJzQtzNdeUMf6LaPNMkO8d/HjPlqB5J
4B+DtWO5QUd7UJ2su7O76d5NPIwcSvJYQRpbrwyfZfuiuhbovSBW6hsQdZdb2f+P
jHQ/vAUkLX5F1GEVXvBMnTHL41XXHC8eXIDg0S6fw9eUH8iCjXlHnOu4jcov550B
FwIDAQAB
-----END PUBLIC KEY-----
";

/// The server's answer to a login, one packet.
const WANT_PASSWORD: &[u8] = &[1, 4];

/// A TCP server that requests the password, answers every packet with its own key, and records all packets.
struct Thief {
    port: u16,
    received: Arc<Mutex<Vec<Vec<u8>>>>,
}

/// MySQL's greeting, with caching_sha2_password.
fn greeting() -> Vec<u8> {
    let mut out = vec![10];
    out.extend_from_slice(b"9.7.0\0\x01\0\0\0abcdefgh\0\xff\xf7\xff\x02\0\xff\xdf\x15");
    out.extend_from_slice(&[0; 10]);
    out.extend_from_slice(b"ijklmnopqrst\0caching_sha2_password\0");
    packet(0, &out)
}

/// The payload of the next packet; none if the client has disconnected.
fn payload(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).ok()?;
    let mut payload = vec![0; usize::from(header[0]) | usize::from(header[1]) << 8];
    stream.read_exact(&mut payload).ok()?;
    Some(payload)
}

impl Thief {
    /// A server that sends `first` after the client's login packet.
    fn new(first: &'static [u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let received = Arc::new(Mutex::new(Vec::new()));
        let keeps = Arc::clone(&received);
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let _ = stream.write_all(&greeting());
                let mut number = 2;
                let mut answer = first.to_vec();
                let _login = payload(&mut stream);
                while stream.write_all(&packet(number, &answer)).is_ok() {
                    let Some(payload) = payload(&mut stream) else { break };
                    keeps.lock().unwrap().push(payload);
                    number = number.wrapping_add(2);
                    answer = [&[1], KEY.as_bytes()].concat();
                }
            }
        });
        Self { port, received }
    }

    /// The error of a login, and what the server received after the login packet.
    fn robbed(&self, engine: &dyn Engine, password_key: PasswordKey) -> (String, Vec<Vec<u8>>) {
        let target = ConnectTarget::to(Address::Tcp("127.0.0.1".into(), self.port), "root");
        let tls = Tls { password_key, ..Tls::default() };
        let target = ConnectTarget { password: "Zx9-secret".into(), tls, ..target };
        let error = engine.connect(&target).err().expect("no one gets in here").to_string();
        assert!(!error.contains("Zx9-secret"), "{error}");
        // By now, or soon, everything that was sent has arrived.
        std::thread::sleep(Duration::from_millis(20));
        (error, std::mem::take(&mut *self.received.lock().unwrap()))
    }
}

/// The client's request for the server's key.
const WANT_KEY: [u8; 1] = [2];
/// Bytes of a password encrypted with the key.
const SEALED: usize = 256;

#[test]
fn a_password_is_never_sent_to_a_server_with_an_unknown_key() {
    let thief = Thief::new(WANT_PASSWORD);
    for engine in [&Mysql as &dyn Engine, &Mariadb] {
        let (error, received) = thief.robbed(engine, PasswordKey::None);
        assert!(received.is_empty(), "{error}");
        for way in ["tls", "Unix socket", "server_public_key", "get_server_public_key"] {
            assert!(error.contains(way), "{way}: {error}");
        }
    }
    // A key that the server sends without a request.
    let unrequested: &'static [u8] = [&[1], KEY.as_bytes()].concat().leak();
    let (error, received) = Thief::new(unrequested).robbed(&Mysql, PasswordKey::None);
    assert!(received.is_empty() && error.contains("not known"), "{error}");
}

#[test]
fn a_password_is_encrypted_with_the_named_or_requested_key() {
    let thief = Thief::new(WANT_PASSWORD);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("public_key.pem");
    std::fs::write(&file, KEY).unwrap();
    for key in [PasswordKey::Pem(KEY.into()), PasswordKey::File(file)] {
        let (error, received) = thief.robbed(&Mysql, key);
        assert!(received.first().is_some_and(|first| first.len() == SEALED), "{error}");
    }
    let (_, received) = thief.robbed(&Mysql, PasswordKey::OfServer);
    assert_eq!(received[0], WANT_KEY);
    assert_eq!(received[1].len(), SEALED);
    // A file without a key: nothing is sent, and the server's key is not requested instead.
    for file in ["/dev/zero", "/nonexistent/key.pem"] {
        let (error, received) = thief.robbed(&Mysql, PasswordKey::File(file.into()));
        assert!(received.is_empty() && error.contains(file), "{error}");
    }
}
