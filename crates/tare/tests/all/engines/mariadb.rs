//! Tests of MariaDB only. Needs `sudo apt-get install mariadb-server`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::engines::mysql::lock_waits_are_counted;
use crate::engines::support::{PATIENCE, Place, one, prepared, wait_until_gone};
use tare_engine::{Aslr, Charset, ConnectTarget, Engine, Mariadb, Param, Server, StartRequest, StopOutcome};

#[test]
fn mariadb_has_one_account_counts_lock_waits_and_handles_changed_columns_procedures_and_16_mib_packets() {
    let place = Place::new();
    let data = prepared(&Mariadb, &place, None);
    let options = BTreeMap::from([("max_allowed_packet".to_owned(), "64M".to_owned())]);
    let request = StartRequest { options, lock_waits: true, ..place.start_request(&data, None) };
    let server = Mariadb.start(&request).unwrap();
    assert!(lock_waits_are_counted(&*server) > 50, "background threads take locks too");
    columns_that_change_and_procedures(&*server);
    packets_of_sixteen_mebibytes_and_more(&*server);
    let accounts = "SELECT GROUP_CONCAT(User, '@', Host) FROM mysql.global_priv WHERE User NOT LIKE 'mariadb.%'";
    let mut session = server.connect().unwrap();
    assert_eq!(one(&mut *session, accounts).as_deref(), Some("root@localhost"));
}

/// The columns of a prepared statement change: MariaDB sends them again.
fn columns_that_change_and_procedures(server: &dyn Server) {
    let mut session = server.connect().unwrap();
    let star = session.prepare("SELECT * FROM t WHERE id=?").unwrap();
    assert_eq!(session.execute(star, &[Param::Int(1)]), Ok(1));
    assert_eq!(session.run("ALTER TABLE t ADD COLUMN extra INT"), Ok(0));
    assert_eq!(session.execute(star, &[Param::Int(1)]), Ok(1));
    assert_eq!(session.execute(star, &[Param::Int(1)]), Ok(1));
    session.run("CREATE PROCEDURE two() BEGIN SELECT 1; SELECT 2; END").unwrap();
    assert_eq!(session.query("CALL two()").unwrap().len(), 2);
    assert_eq!(session.run("CALL two()"), Ok(2));
}

fn packets_of_sixteen_mebibytes_and_more(server: &dyn Server) {
    let mut session = server.connect().unwrap();
    // 1 byte of command and 17 bytes around the text: payloads just below, at and above a full packet, and of two.
    for payload in [0xff_fffe, 0xff_ffff, 0x100_0000, 2 * 0xff_ffff] {
        let text = "x".repeat(payload - 18);
        let sql = format!("SELECT LENGTH('{text}')");
        assert_eq!(sql.len() + 1, payload);
        assert_eq!(one(&mut *session, &sql), Some(text.len().to_string()));
    }
    // A row of the text protocol: 4 bytes of length, then the text.
    for text in [0xff_ffff - 5, 0xff_ffff - 4, 0xff_ffff] {
        assert_eq!(one(&mut *session, &format!("SELECT REPEAT('x', {text})")).map(|s| s.len()), Some(text));
        assert_eq!(session.run(&format!("SELECT REPEAT('x', {text})")), Ok(1));
    }
}

#[test]
fn a_server_behind_mariadbd_safe_is_started_verified_and_stopped() {
    let place = Place::new();
    let data = prepared(&Mariadb, &place, None);
    let found = std::process::Command::new("sh").args(["-c", "command -v mariadbd-safe"]).output().unwrap();
    let safe = PathBuf::from(String::from_utf8(found.stdout).unwrap().trim());
    assert!(safe.is_file(), "sudo apt-get install mariadb-server");
    let request = || StartRequest {
        binary: Some(safe.clone()),
        aslr: Some(Aslr::Off),
        options: BTreeMap::from([("innodb_adaptive_hash_index".to_owned(), "ON".to_owned())]),
        ..place.start_request(&data, None)
    };
    let mut server = Mariadb.start(&request()).unwrap();
    let pid = server.pid();
    assert_eq!(std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap().trim(), "mariadbd");
    let script = procfs::process::Process::new(pid as i32).unwrap().stat().unwrap().ppid as u32;
    assert!(std::fs::read_to_string(format!("/proc/{script}/cmdline")).unwrap().contains("mariadbd-safe"));
    assert!(Aslr::Off.verify(pid).is_ok());
    assert!(server.log_tail(20).iter().any(|line| line.contains("ready for connections")), "{:?}", server.log_tail(20));
    assert_eq!(server.stop(PATIENCE).unwrap(), StopOutcome::Graceful);
    wait_until_gone(pid);
    wait_until_gone(script);
    let server = Mariadb.start(&request()).unwrap();
    let pid = server.pid();
    drop(server);
    wait_until_gone(pid);
    // Refused options are named in the error, as without the script.
    let options = BTreeMap::from([("no_such_option".to_owned(), "1".to_owned())]);
    let error = Mariadb.start(&StartRequest { options, ..request() }).err().unwrap();
    assert!(error.to_string().contains("no_such_option"), "{error}");
    assert!(!place.path("run").exists() && !place.path("copy").exists());
}

/// A latin1 table stores `é` as one byte; a connection in UTF-8 sends it as two.
#[test]
fn a_connection_has_the_requested_character_set() {
    let place = Place::new();
    let data = prepared(&Mariadb, &place, None);
    let options = BTreeMap::from([("character_set_server".to_owned(), "latin1".to_owned())]);
    let server = Mariadb.start(&StartRequest { options, ..place.start_request(&data, None) }).unwrap();
    let connect = |charset| Mariadb.connect(&ConnectTarget { charset, ..server.target().clone() }).unwrap();
    let mut first = connect(Charset::Utf8mb4);
    first.run("CREATE TABLE accents (c CHAR(1)) CHARACTER SET latin1").unwrap();
    first.run("INSERT INTO accents VALUES ('\u{e9}')").unwrap();
    for (requested, found, is_of_single_bytes) in [
        (Charset::Server, "latin1", "1"),
        (Charset::Latin1, "latin1", "1"),
        (Charset::Utf8mb4, "utf8mb4", "0"),
        (Charset::Utf8mb3, "utf8mb3", "0"),
        (Charset::Binary, "binary", "1"),
    ] {
        let mut session = connect(requested);
        let reported = one(&mut *session, Mariadb.charset_question().unwrap()).unwrap();
        assert!(reported == found && requested.is(&reported), "{requested}: {reported}");
        let stored = one(&mut *session, "SELECT HEX(c) FROM accents");
        assert_eq!(stored.as_deref(), Some("E9"), "{requested}");
        // The program sends two bytes: one letter in UTF-8, two in latin1.
        let single = one(&mut *session, "SELECT LENGTH('\u{e9}') = CHAR_LENGTH('\u{e9}')");
        assert_eq!(single.as_deref(), Some(is_of_single_bytes), "{requested}");
    }
    assert!(!Charset::Latin1.is("utf8mb4") && Charset::Utf8mb3.is("utf8"));
}
