//! From preparing data to the end of a server on a copy of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::SystemTime;

use super::sessions;
use super::table::Differs;
use crate::engines::support::{PATIENCE, Place, binary_of, fill, one};
use tare_engine::{Address, Engine, PrepareRequest, Server, SqlErrorKind, StopOutcome};

pub fn from_preparing_to_stopping(differs: &Differs) {
    let (engine, place) = (differs.engine, Place::new());
    // MariaDB deletes files that look like its own remains from its directory for temporary tables.
    let decoy = std::env::temp_dir().join(format!("#sql-temptable-tare-{}.MAD", std::process::id()));
    fs::write(&decoy, "of another server").unwrap();
    let binary = binary_of(engine);
    let request = place.prepare_request(binary.as_deref());
    a_failed_filling_leaves_nothing(engine, &place, &request);

    let initialised = entries(&request);
    let data = engine.prepare_data(&request, &mut fill).unwrap();
    assert_eq!(entries(&request)[1..], initialised, "it was initialised for the first data, and that was enough");
    let again = engine.prepare_data(&request, &mut |_| panic!("made twice")).unwrap();
    assert_eq!(data, again);
    assert!(is_prepared(engine, &request));
    assert!(!is_prepared(engine, &PrepareRequest { dataset: "other".to_owned(), ..request.clone() }));

    let mut server = engine.start(&place.start_request(&data, binary.as_deref())).unwrap();
    is_private(differs, &*server, &place);
    sessions::statements(&*server);
    sessions::errors(differs, &*server);
    let mut session = server.connect().unwrap();
    assert_eq!(session.run("SELECT 1"), Ok(1));
    assert!(server.is_alive());
    assert_eq!(server.stop(PATIENCE).unwrap(), StopOutcome::Graceful);
    assert_eq!(session.run("SELECT 1").unwrap_err().kind, SqlErrorKind::Lost);
    assert!(!server.is_alive());
    assert_eq!(server.stop(PATIENCE).unwrap(), StopOutcome::AlreadyGone);
    drop(server);

    assert_eq!(place.names(), ["cache", "prepare.log", "server.log", "state"]);
    assert_eq!(fs::read_dir(place.path("state")).unwrap().count(), 0);
    assert!(is_prepared(engine, &request), "the server changed the prepared data and not its copy");
    assert!(decoy.exists(), "a file of another server is gone");
    fs::remove_file(decoy).unwrap();
}

fn a_failed_filling_leaves_nothing(engine: &dyn Engine, place: &Place, request: &PrepareRequest) {
    let error = engine.prepare_data(request, &mut |_| Err("no rows today".into())).unwrap_err();
    assert!(error.to_string().contains("no rows today"), "{error}");
    let begin = format!("{}-initialised-", engine.name());
    assert!(entries(request).iter().all(|(name, _)| name.starts_with(&begin)), "{:?}", entries(request));
    assert!(!place.path("prepare-run").exists());
    assert_eq!(fs::read_dir(place.path("state")).unwrap().count(), 0);
    assert!(!is_prepared(engine, request));
}

/// The complete entries of the cache, prepared data first, with the time at which each was finished.
fn entries(request: &PrepareRequest) -> Vec<(String, SystemTime)> {
    let folders = fs::read_dir(&request.cache_directory).unwrap().map(|entry| entry.unwrap().path());
    let folders = folders.filter(|path| path.extension().is_none_or(|end| end != "lock"));
    let mut entries: Vec<_> = folders
        .map(|path| {
            let finished = fs::metadata(path.join("KEY")).and_then(|key| key.modified());
            (path.file_name().unwrap().to_str().unwrap().to_owned(), finished.unwrap())
        })
        .collect();
    entries.sort_by_key(|(name, _)| name.contains("initialised"));
    entries
}

fn is_prepared(engine: &dyn Engine, request: &PrepareRequest) -> bool {
    let by = engine.binary(request.binary.as_deref()).unwrap();
    engine.is_prepared(&request.cache_directory, &by, &request.options, &request.dataset)
}

/// The server is reachable only by its socket, in a directory that only this user may enter, and works on its own copy.
fn is_private(differs: &Differs, server: &dyn Server, place: &Place) {
    let Address::Socket(socket) = server.address() else { panic!("it does not listen at a socket") };
    assert!(socket.starts_with(place.path("run").canonicalize().unwrap()), "{}", socket.display());
    assert_eq!(fs::metadata(place.path("run")).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(server.data(), place.path("copy").canonicalize().unwrap());
    if let Some(listens) = &differs.listens {
        assert_eq!(server.setting(listens.on_socket.0).unwrap().as_deref(), Some(listens.on_socket.1));
    }
    assert_eq!(server.setting("no_such_setting").unwrap(), None);
    let mut session = server.connect().unwrap();
    assert_eq!(server.version(), one(&mut *session, differs.version).unwrap());
    if let Some(database) = differs.database {
        assert_eq!(one(&mut *session, database).as_deref(), Some("sbtest"));
    }
}
