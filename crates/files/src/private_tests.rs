//! Tests of private folders: their modes, and what they refuse to open.

use crate::{Access, FilesError, PrivateFolder};
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown, symlink};

const LIMIT: u64 = 1000;

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_private_folder_is_created_closed_and_keeps_its_files() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("above/state");
    assert!(PrivateFolder::open(&path, Access::Closed).unwrap().is_none());
    let folder = PrivateFolder::open_or_create(&path, Access::Closed).unwrap();
    assert_eq!(mode(&path), 0o700);
    folder.write("file", b"text").unwrap();
    assert_eq!(mode(&path.join("file")), 0o600);
    folder.append("log").unwrap().write_all(b"line\n").unwrap();
    assert_eq!(folder.read("file", LIMIT).unwrap().unwrap(), b"text");
    assert_eq!(folder.names().unwrap(), ["file", "log"]);
    folder.remove("file").unwrap();
    folder.remove("file").unwrap();
    assert!(folder.read("file", LIMIT).unwrap().is_none());
    let shared = scratch.path().join("shared");
    PrivateFolder::open_or_create(&shared, Access::Searchable).unwrap();
    assert_eq!(mode(&shared), 0o711);
}

#[test]
fn a_folder_writable_by_others_is_refused_and_a_readable_one_is_closed() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("state");
    fs::create_dir(&path).unwrap();
    for open in [0o777, 0o770, 0o1777, 0o720] {
        fs::set_permissions(&path, Permissions::from_mode(open)).unwrap();
        let error = PrivateFolder::open_or_create(&path, Access::Closed).unwrap_err();
        assert!(matches!(error, FilesError::Open { mode, .. } if mode == open), "{error}");
    }
    fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
    assert!(PrivateFolder::open_or_create(&path.join("above/state"), Access::Closed).is_err());
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0, "something was created there");
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    PrivateFolder::open_or_create(&path, Access::Closed).unwrap();
    assert_eq!(mode(&path), 0o700);
}

#[test]
fn links_and_other_kinds_are_refused_and_a_handle_outlives_its_name() {
    let scratch = tempfile::tempdir().unwrap();
    let (real, link) = (scratch.path().join("real"), scratch.path().join("link"));
    let folder = PrivateFolder::open_or_create(&real, Access::Closed).unwrap();
    symlink(&real, &link).unwrap();
    assert!(matches!(PrivateFolder::open_or_create(&link, Access::Closed), Err(FilesError::Link(_))));
    fs::write(scratch.path().join("file"), "").unwrap();
    let error = PrivateFolder::open_or_create(&scratch.path().join("file"), Access::Closed).unwrap_err();
    assert!(matches!(error, FilesError::WrongKind { .. }), "{error}");

    fs::write(scratch.path().join("victim"), "precious").unwrap();
    symlink(scratch.path().join("victim"), real.join("name.lock")).unwrap();
    assert!(matches!(folder.append("name.lock"), Err(FilesError::Link(_))));
    assert!(matches!(folder.read("name.lock", LIMIT), Err(FilesError::Link(_))));
    folder.write("name.lock", b"ours").unwrap();
    assert_eq!(fs::read(scratch.path().join("victim")).unwrap(), b"precious");

    fs::rename(&real, scratch.path().join("moved")).unwrap();
    fs::create_dir(&real).unwrap();
    folder.write("here", b"x").unwrap();
    assert!(scratch.path().join("moved/here").exists() && !real.join("here").exists());
}

/// Only root can create files of another user.
#[test]
fn another_users_folder_file_or_parent_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    if !rustix::process::geteuid().is_root() {
        println!("not root: no one can be given a file here");
        return;
    }
    let path = scratch.path().join("state");
    let folder = PrivateFolder::open_or_create(&path, Access::Closed).unwrap();
    folder.write("server-1.json", b"{}").unwrap();
    chown(path.join("server-1.json"), Some(65534), None).unwrap();
    assert!(matches!(folder.read("server-1.json", LIMIT), Err(FilesError::Foreign { owner: 65534, .. })));
    chown(&path, Some(65534), None).unwrap();
    let error = PrivateFolder::open(&path, Access::Closed).unwrap_err();
    assert!(matches!(error, FilesError::Foreign { owner: 65534, me: 0, .. }), "{error}");

    let theirs = scratch.path().join("theirs");
    fs::create_dir_all(theirs.join("state")).unwrap();
    chown(&theirs, Some(65534), None).unwrap();
    let error = PrivateFolder::open_or_create(&theirs.join("state"), Access::Closed).unwrap_err();
    assert!(matches!(&error, FilesError::Foreign { path, .. } if *path == theirs), "{error}");
}
