//! Encrypted connections to real servers over loopback, with certificates of a private authority.

use crate::engines::certificates::{Certificates, shown};
use crate::engines::running_support::{Theirs, engines};
use crate::engines::support::one;
use crate::support::{trials, verified};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tare_engine::{
    Address, ConnectTarget, Engine, Mariadb, Param, PasswordKey, Postgresql, Session, Tls, TlsIdentity, TlsMode,
    engine_by_name,
};
use tare_topology::Machine;

/// A running server with certificates, as its clients see it.
struct Encrypted {
    theirs: Theirs,
    certificates: Certificates,
}

impl Encrypted {
    fn new(engine: &dyn Engine, certificate: &str) -> Self {
        let certificates = Certificates::new();
        let theirs = Theirs::with(engine, |request| certificates.serve(engine.name(), certificate, request));
        Self { theirs, certificates }
    }

    fn target(&self, mode: TlsMode, host: &str, ca: Option<&str>) -> ConnectTarget {
        let target = self.theirs.server.target().clone();
        let Address::Tcp(_, port) = target.address else { panic!("it listens on a port") };
        let ca = ca.map(|name| self.certificates.path(name));
        let tls = Tls { mode, ca, identity: None, ..target.tls.clone() };
        ConnectTarget { address: Address::Tcp(host.to_owned(), port), tls, ..target }
    }

    fn try_to(&self, target: &ConnectTarget) -> Result<Box<dyn Session>, String> {
        engine_by_name(self.theirs.engine).unwrap().connect(target).map_err(|error| {
            let text = error.to_string();
            assert!(!text.contains(&target.password), "{text}");
            text
        })
    }

    fn connects(&self, mode: TlsMode, host: &str, ca: Option<&str>) -> Box<dyn Session> {
        self.try_to(&self.target(mode, host, ca)).unwrap_or_else(|why| panic!("{} {mode}: {why}", self.theirs.engine))
    }

    /// Connects in a way that must be refused quickly; returns the error.
    fn refuses(&self, mode: TlsMode, host: &str, ca: Option<&str>) -> String {
        let began = Instant::now();
        let why = self.try_to(&self.target(mode, host, ca)).err();
        assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
        why.unwrap_or_else(|| panic!("{} {mode} {host} {ca:?} must be refused", self.theirs.engine))
    }

    /// Runs a statement as the owner, over a connection that every server regards as secure.
    fn owner(&self, sql: &str) {
        self.connects(TlsMode::Required, "127.0.0.1", None).run(sql).unwrap();
    }

    /// From now on the server accepts only encrypted connections.
    fn require(&self) {
        if self.theirs.engine != "postgresql" {
            return self.owner("SET GLOBAL require_secure_transport = ON");
        }
        let rules = self.theirs.server.data().join("pg_hba.conf");
        let text = std::fs::read_to_string(&rules).unwrap();
        std::fs::write(&rules, text.replace("\nhost ", "\nhostssl ")).unwrap();
        self.owner("SELECT pg_reload_conf()");
        // The server reloads the rules asynchronously.
        std::thread::sleep(Duration::from_millis(500));
    }

    /// The TLS version of the connection, as the server reports it.
    fn version_by_the_server(&self, session: &mut dyn Session) -> Option<String> {
        let sql = match self.theirs.engine {
            "postgresql" => "SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
            "mysql" => {
                "SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE VARIABLE_NAME = 'Ssl_version'"
            }
            _ => "SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = 'Ssl_version'",
        };
        one(session, sql).filter(|version| !version.is_empty())
    }
}

/// All operations of a load: a large text result, many small prepared ones, and the serving thread.
fn works(session: &mut dyn Session, engine: &str) {
    let rows = session.query("SELECT id, c FROM t ORDER BY id").unwrap();
    assert_eq!((rows.len(), rows[999][1].as_deref()), (1000, Some(format!("{:0119}", 1000).as_str())));
    let placeholder = engine_by_name(engine).unwrap().dialect().placeholder(1);
    let statement = session.prepare(&format!("SELECT c FROM t WHERE id <= {placeholder}")).unwrap();
    for wanted in [1, 1000, 0, 7] {
        assert_eq!(session.execute(statement, &[Param::Int(wanted)]), Ok(wanted.unsigned_abs()));
    }
    // Longer than one TLS record.
    let long = "x".repeat(100_000);
    assert_eq!(one(session, &format!("SELECT '{long}'")).as_deref(), Some(long.as_str()));
    assert!(session.server_thread().unwrap().is_some(), "the thread behind it is known as ever");
    assert!(session.query("SELECT nothing of this kind").is_err());
    assert_eq!(one(session, "SELECT 7").as_deref(), Some("7"), "an error ends no connection");
}

#[test]
fn each_tls_mode_account_and_study_is_connected_or_refused_as_expected() {
    use TlsMode::{Off, Preferred, Required, VerifyCa, VerifyFull};
    for engine in engines() {
        let server = Encrypted::new(engine, "server");
        let mut plain = server.connects(Off, "127.0.0.1", None);
        assert_eq!((plain.encryption(), server.version_by_the_server(plain.as_mut())), (None, None));
        drop(plain);
        for (mode, host, ca) in [
            (Preferred, "127.0.0.1", None),
            (Required, "127.0.0.1", None),
            (VerifyCa, "127.0.0.1", Some("ca.pem")),
            (VerifyFull, "localhost", Some("ca.pem")),
            // The file contains the server's certificate itself, like that of a self-signed certificate.
            (VerifyFull, "localhost", Some("server.pem")),
        ] {
            let mut session = server.connects(mode, host, ca);
            let how = session.encryption().unwrap_or_else(|| panic!("{mode}: in clear"));
            let theirs = server.version_by_the_server(session.as_mut()).expect("the server says so, too");
            assert!(how.starts_with(&theirs), "{how} {theirs}");
            works(session.as_mut(), engine.name());
        }
        for (mode, host, ca, words) in [
            (VerifyCa, "localhost", Some("other.pem"), "not signed by a trusted authority"),
            (VerifyFull, "localhost", Some("other.pem"), "not signed by a trusted authority"),
            (VerifyFull, "localhost", None, "TLS"),
            (VerifyFull, "127.0.0.1", Some("ca.pem"), "for another host"),
            (VerifyFull, "127.0.0.1", Some("server.pem"), "for another host"),
            (VerifyCa, "127.0.0.1", None, "give it as tls_ca"),
            (VerifyCa, "127.0.0.1", Some("missing.pem"), "missing.pem"),
            (VerifyCa, "127.0.0.1", Some("ca.key"), "holds no certificate"),
        ] {
            let why = server.refuses(mode, host, ca);
            assert!(why.contains(words), "{} {mode} {host} {ca:?}: {why}", engine.name());
        }
        if engine.name() != "postgresql" {
            accounts_connect_with_what_they_require(&server);
        }
        server.require();
        let why = server.refuses(Off, "127.0.0.1", None);
        assert!(why.contains("request TLS (tls = "), "{}: {why}", engine.name());
        works(server.connects(Preferred, "127.0.0.1", None).as_mut(), engine.name());
        if engine.name() != "mysql" {
            a_study_is_placed_and_records_the_encryption(&server);
        }
    }
}

/// Accounts that require TLS or a client certificate.
fn accounts_connect_with_what_they_require(server: &Encrypted) {
    server.owner("CREATE USER 'shy'@'127.0.0.1' IDENTIFIED BY 'Zx9-shy' REQUIRE SSL");
    server.owner("CREATE USER 'proved'@'127.0.0.1' IDENTIFIED BY 'Zx9-proved' REQUIRE X509");
    let who = |mode, name: &str| ConnectTarget {
        user: name.into(),
        password: format!("Zx9-{name}"),
        database: None,
        ..server.target(mode, "127.0.0.1", None)
    };
    // Before the server has cached a hash of the password.
    if server.theirs.engine == "mysql" {
        let mut keyless = who(TlsMode::Off, "shy");
        keyless.tls.password_key = PasswordKey::None;
        let why = server.try_to(&keyless).err().unwrap();
        assert!(why.contains("was not sent") && why.contains("server_public_key"), "{why}");
    }
    let why = server.try_to(&who(TlsMode::Off, "shy")).err().unwrap();
    assert!(why.contains("1045") && why.contains("request TLS (tls = "), "{why}");
    // A new account: MySQL needs the password itself, and gets it only inside TLS.
    let mut shy = server.try_to(&who(TlsMode::Required, "shy")).unwrap();
    assert_eq!(one(shy.as_mut(), "SELECT CURRENT_USER()").as_deref(), Some("shy@127.0.0.1"));
    let mut proved = who(TlsMode::VerifyCa, "proved");
    proved.tls.ca = Some(server.certificates.path("ca.pem"));
    assert!(server.try_to(&proved).is_err(), "without a certificate");
    proved.tls.identity = Some(identity(&server.certificates));
    assert_eq!(one(server.try_to(&proved).unwrap().as_mut(), "SELECT 1").as_deref(), Some("1"));
}

/// The whole program: configuration files that require TLS, placed and verified threads, and the record. MySQL has
/// MariaDB's files.
fn a_study_is_placed_and_records_the_encryption(server: &Encrypted) {
    let last = Machine::this().unwrap().pus.last().unwrap().os_index;
    let theirs = &server.theirs;
    let study = theirs.study(&format!(
        "[placement]\nclient = \"cpus:{last}\"\nserver = \"cpus:{last}\"\nbind = \"thread\"\npairing = \"same-pu\"\n"
    ));
    let study = std::fs::read_to_string(&study)
        .unwrap()
        .replace("threads = 2", "threads = 1")
        .replace("trials = 2", "trials = 1");
    let study = theirs.world.study(&study);
    let run = |out: &str, more: &[&str]| {
        let words = [&["run", &study, "--out", out][..], more].concat();
        let mut run = theirs.world.tare(&words);
        run.env("TARE_PASSWORD", &theirs.server.target().password).env("HOME", theirs.world.path(""));
        let ended = run.output().unwrap();
        (ended.status.code(), crate::support::text(&ended.stderr))
    };
    let (code, err) = run("in-clear", &[]);
    assert!(code == Some(3) && err.contains("request TLS (tls = "), "{code:?} {err}");
    // The usual configuration files of each engine.
    let ca = server.certificates.path("ca.pem");
    let (file, key) = match theirs.engine {
        "postgresql" => {
            let text = format!("[db]\nhost=localhost\nsslmode=verify-full\nsslrootcert={}\n", shown(&ca));
            std::fs::write(theirs.world.path(".pg_service.conf"), text).unwrap();
            (theirs.world.path(".pg_service.conf"), "engine.service=db".to_owned())
        }
        _ => {
            let text = format!("[client]\nssl-mode=VERIFY_CA\nssl-ca={}\n", shown(&ca));
            std::fs::write(theirs.world.path("my.cnf"), text).unwrap();
            (theirs.world.path("my.cnf"), format!("engine.option_file={}", shown(&theirs.world.path("my.cnf"))))
        }
    };
    let host = ["--set", "engine.host=localhost"];
    let (code, err) = run("results", &[&host[..], &["--set", &key]].concat());
    assert_eq!(code, Some(0), "{}: {err}", theirs.engine);
    for record in trials(&theirs.world.path("results")) {
        assert_eq!(record["outcome"], "ok", "{record}");
        assert!(verified(&record, "tls").starts_with("encrypted: TLSv1."), "{record}");
        let threads = record["samples"][0]["threads"].as_array().unwrap();
        let paired: Vec<_> = threads.iter().filter(|thread| thread["pair"] == 0).collect();
        assert_eq!(paired.len(), 2, "{record}");
        assert!(paired.iter().all(|thread| thread["allowed_cpus"] == last.to_string().as_str()), "{record}");
    }
    // With the wrong authority, the run ends before anything is measured.
    let other = format!("engine.tls_ca={}", shown(&server.certificates.path("other.pem")));
    let (code, err) = run("refused", &[&host[..], &["--set", &key, "--set", &other]].concat());
    assert!(code == Some(3) && err.contains("not signed by a trusted authority"), "{code:?} {err}");
    assert!(file.exists());
}

fn identity(certificates: &Certificates) -> TlsIdentity {
    TlsIdentity { certificate: certificates.path("client.pem"), key: certificates.path("client.key") }
}

#[test]
fn postgresql_accepts_a_client_certificate_unless_its_key_is_readable_by_others() {
    use std::os::unix::fs::PermissionsExt;
    let server = Encrypted::new(&Postgresql, "server");
    let rules = server.theirs.server.data().join("pg_hba.conf");
    let text = std::fs::read_to_string(&rules).unwrap();
    let asking: String = text
        .lines()
        .map(|line| match line.starts_with("host ") {
            true => format!("{} clientcert=verify-ca\n", line.replacen("host ", "hostssl ", 1)),
            false => format!("{line}\n"),
        })
        .collect();
    std::fs::write(&rules, asking).unwrap();
    server.owner("SELECT pg_reload_conf()");
    std::thread::sleep(Duration::from_millis(500));
    let why = server.refuses(TlsMode::Required, "127.0.0.1", None);
    assert!(why.contains("certificate"), "{why}");
    let mut target = server.target(TlsMode::Required, "127.0.0.1", None);
    target.tls.identity = Some(identity(&server.certificates));
    assert_eq!(one(server.try_to(&target).unwrap().as_mut(), "SELECT 1").as_deref(), Some("1"));
    let key = server.certificates.path("client.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let why = server.try_to(&target).err().unwrap();
    assert!(why.contains("chmod 0600") && why.contains("client.key"), "{why}");
}

#[test]
fn a_version_1_certificate_is_accepted_unverified_and_refused_if_verified() {
    let server = Encrypted::new(&Mariadb, "old");
    assert!(server.connects(TlsMode::Required, "127.0.0.1", None).encryption().is_some());
    let why = server.refuses(TlsMode::VerifyCa, "127.0.0.1", Some("ca.pem"));
    assert!(why.contains("expected one of version 3"), "{why}");
}

#[test]
fn a_server_without_tls_is_refused_if_encryption_is_required() {
    // MySQL creates its own certificate if it has none.
    for engine in engines().into_iter().filter(|engine| engine.name() != "mysql") {
        let theirs = Theirs::with(engine, |request| request.transport = tare_engine::Transport::Tcp);
        let server = Encrypted { theirs, certificates: Certificates::new() };
        let why = server.refuses(TlsMode::Required, "127.0.0.1", None);
        assert!(why.contains("the server offers no TLS, and required was requested"), "{why}");
        assert_eq!(server.connects(TlsMode::Preferred, "127.0.0.1", None).encryption(), None);
    }
}

#[test]
fn unix_socket_connections_to_mariadb_are_encrypted_only_on_request() {
    let certificates = Certificates::new();
    let theirs = Theirs::with(&Mariadb, |request| {
        certificates.serve("mariadb", "server", request);
        request.transport = tare_engine::Transport::Socket;
    });
    let tls = |mode| Tls { mode, ca: Some(certificates.path("ca.pem")), identity: None, ..Tls::default() };
    let to = |mode| Mariadb.connect(&ConnectTarget { tls: tls(mode), ..theirs.server.target().clone() }).unwrap();
    assert_eq!(to(TlsMode::Preferred).encryption(), None, "no one listens inside the kernel");
    assert!(to(TlsMode::VerifyFull).encryption().is_some(), "a socket's host is localhost");
}

#[test]
fn a_password_that_goes_over_tls_is_in_no_file_argument_list_or_environment() {
    for engine in engines() {
        let server = Encrypted::new(engine, "server");
        server.require();
        let theirs = &server.theirs;
        let secret = theirs.server.target().password.clone();
        let ca = format!("engine.tls_ca={}", shown(&server.certificates.path("ca.pem")));
        let study = theirs.study("");
        let tls = ["run", &study, "--set", "engine.tls=verify-ca", "--set", &ca, "--set", "sampling.trials=1"];
        theirs.run_hides(&[&tls[..], &["--out", "results", "--set", "sampling.sample_s=0.3"]].concat(), &secret);
        let own = match engine.name() {
            "postgresql" => {
                // This includes pgbench, an external program.
                let script = theirs.world.path("mine.sql");
                std::fs::write(&script, "SELECT c FROM sbtest1 WHERE id = 1;\n").unwrap();
                let text = std::fs::read_to_string(&study).unwrap();
                let script = format!("[workload]\nname = \"pgbench\"\nscript = \"{}\"", shown(&script));
                let study = theirs.world.study(&text.replace("[workload]\nrows = 500", &script));
                let long =
                    ["--set", "sampling.trials=1", "--set", "sampling.warmup_s=1.5", "--set", "sampling.sample_s=1"];
                let pgbench = ["run", &study, "--set", "engine.tls=verify-ca", "--set", &ca, "--out", "by-pgbench"];
                theirs.run_hides(&[&pgbench[..], &long].concat(), &secret);
                write_closed(&theirs.world.path(".pgpass"), &format!("*:*:*:*:{secret}\n"))
            }
            _ => write_closed(
                &theirs.world.path(".my.cnf"),
                &format!("[client]\npassword={secret}\nssl-mode=REQUIRED\n"),
            ),
        };
        let by_file = [&tls[..], &["--out", "by-file"]].concat();
        let ended = theirs.world.tare(&by_file).env("HOME", theirs.world.path("")).output().unwrap();
        assert!(ended.status.success(), "{}", crate::support::text(&ended.stderr));
        theirs.nothing_holds(&secret, &own);
    }
}

fn write_closed(path: &Path, text: &str) -> PathBuf {
    use std::os::unix::fs::OpenOptionsExt;
    let file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    file.unwrap().write_all(text.as_bytes()).unwrap();
    path.to_owned()
}
