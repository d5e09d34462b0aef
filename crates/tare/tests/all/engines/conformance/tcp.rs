//! A server on loopback with requested options, layout and allocator, from its start until its handle is dropped.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use procfs::net::TcpState;

use super::sessions;
use super::table::Differs;
use crate::engines::support::{Place, binary_of, prepared, wait_until_gone};
use tare_drive::sut::SystemUnderTest;
use tare_engine::{Address, Aslr, ConnectTarget, Server, SqlErrorKind, StartRequest, Transport};

pub fn from_start_to_drop(differs: &Differs) {
    let (engine, place) = (differs.engine, Place::new());
    let binary = binary_of(engine);
    let data = prepared(engine, &place, binary.as_deref());
    // Part of every glibc, but not used by any server.
    let library = libc_directory().join("libresolv.so.2");
    let (option, value) = differs.option;
    let server = engine
        .start(&StartRequest {
            transport: Transport::Tcp,
            aslr: Some(Aslr::Off),
            allocator_preload: Some(library),
            options: BTreeMap::from([(option.to_owned(), value.to_owned())]),
            ..place.start_request(&data, binary.as_deref())
        })
        .unwrap();
    let (name, found) = differs.reads_back;
    assert_eq!(server.setting(name).unwrap().as_deref(), Some(found));
    let mut session = server.connect().unwrap();
    assert_eq!(session.run("SELECT c FROM t WHERE id < 10"), Ok(9));
    // The process of the session, which may differ from the process that was started.
    let process = session.server_thread().unwrap().unwrap().pid;
    let personality = std::fs::read_to_string(format!("/proc/{process}/personality")).unwrap();
    assert_ne!(u32::from_str_radix(personality.trim(), 16).unwrap() & libc::ADDR_NO_RANDOMIZE as u32, 0);
    assert!(std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap().contains("/libresolv.so.2"));
    sessions::threads(differs, &*server);
    listens_on_loopback_alone(differs, &*server);
    wants_the_password(differs, &*server);

    let processes = SystemUnderTest::started(&*server).processes();
    drop(server);
    processes.into_iter().for_each(|pid| wait_until_gone(pid.cast_unsigned()));
    assert!(!place.path("run").exists() && !place.path("copy").exists());
    assert_eq!(std::fs::read_dir(place.path("state")).unwrap().count(), 0);
    session.set_timeout(Some(Duration::from_secs(5))).unwrap();
    let began = Instant::now();
    assert_eq!(session.run("SELECT 1").unwrap_err().kind, SqlErrorKind::Lost);
    assert!(began.elapsed() < Duration::from_secs(10));
}

pub fn clients_may_use_the_database_alone(differs: &Differs) {
    let (engine, place) = (differs.engine, Place::new());
    let binary = binary_of(engine);
    let data = prepared(engine, &place, binary.as_deref());
    let (transport, clients_elsewhere) = (Transport::Tcp, true);
    let request = place.start_request(&data, binary.as_deref());
    let server = engine.start(&StartRequest { transport, clients_elsewhere, ..request }).unwrap();
    let mut session = server.connect().unwrap();
    // What loads do there, and what is read and asked for before and after samples.
    assert_eq!(session.run("SELECT c FROM t WHERE id < 10"), Ok(9));
    assert_eq!(session.run("UPDATE t SET k = 7 WHERE id = 1"), Ok(1));
    session.run("CREATE TABLE more (id INTEGER NOT NULL PRIMARY KEY)").unwrap();
    assert!(session.thread_number().unwrap().is_some());
    let dialect = server.dialect();
    assert!(dialect.read_all(&mut *session).unwrap() >= 1);
    let [pages, backlog] = [dialect.pages_in_memory(&mut *session).map(drop), dialect.backlog(&mut *session).map(drop)];
    assert_eq!((pages, backlog), (Ok(()), Ok(())));
    for settle in dialect.begin_settling() {
        session.run(settle).unwrap();
    }
    let (written, private) = (place.path("run/written"), place.path("private"));
    std::fs::write(&private, "1\t1\tprivate\n").unwrap();
    for sql in differs.beyond_the_database {
        let words = [("@written", &written), ("@private", &private)];
        let sql =
            words.iter().fold((*sql).to_owned(), |sql, (word, path)| sql.replace(word, &path.display().to_string()));
        let refused = session.run(&sql);
        // MariaDB ignores the folder of a table, with a warning.
        assert!((refused.is_err() || sql.starts_with("CREATE TABLE")) && !written.exists(), "{sql}: {refused:?}");
    }
}

fn libc_directory() -> PathBuf {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let libc = maps.lines().filter_map(|line| line.split_whitespace().nth(5)).find(|path| path.ends_with("/libc.so.6"));
    Path::new(libc.unwrap()).parent().unwrap().to_owned()
}

fn listens_on_loopback_alone(differs: &Differs, server: &dyn Server) {
    let Address::Tcp(host, port) = server.address() else { panic!("it does not listen on a port") };
    assert_eq!(host, "127.0.0.1");
    let all = procfs::net::tcp().unwrap().into_iter().chain(procfs::net::tcp6().unwrap_or_default());
    let listening = all.filter(|entry| entry.state == TcpState::Listen && entry.local_address.port() == *port);
    let addresses: Vec<IpAddr> = listening.map(|entry| entry.local_address.ip()).collect();
    assert_eq!(addresses, [IpAddr::V4(Ipv4Addr::LOCALHOST)]);
    if let Some(listens) = &differs.listens {
        assert_eq!(server.setting(listens.on_tcp.0).unwrap().as_deref(), Some(listens.on_tcp.1));
    }
}

fn wants_the_password(differs: &Differs, server: &dyn Server) {
    let target = server.target();
    assert_eq!(differs.engine.connect(target).unwrap().run("SELECT 1"), Ok(1));
    let own = target.user.as_str();
    for (user, password) in [(own, "guess"), (own, ""), (differs.engine.default_user(), "")] {
        let intruder = ConnectTarget { user: user.to_owned(), password: password.to_owned(), ..target.clone() };
        let error = differs.engine.connect(&intruder).err().unwrap_or_else(|| panic!("{user} was let in")).to_string();
        assert!(!error.contains(&target.password), "{error}");
        // For a missing account, MySQL pretends that it uses another method.
        assert!(user != own || differs.denied.iter().any(|words| error.contains(words)), "{user}: {error}");
    }
}
