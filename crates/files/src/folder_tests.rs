//! Tests of folders of results: which path components are trusted, permissions of new files, and access by handle.

use crate::{FilesError, Folder, Trust, read_named};
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

const OWN: Trust = Trust::Own { caller: None };
const LIMIT: u64 = 1000;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_folder_on_the_way_that_others_may_write_to_is_refused_unless_it_is_sticky() {
    let scratch = tempfile::tempdir().unwrap();
    let (above, path) = (scratch.path().join("above"), scratch.path().join("above/mine/results"));
    drop(Folder::open_or_create(&path, OWN).unwrap());
    let study = above.join("mine/study.toml");
    fs::write(&study, "text").unwrap();
    for (open, held) in [(0o777, false), (0o1777, true), (0o755, true)] {
        set_mode(&above, open);
        let refused = |e: &FilesError| matches!(e, FilesError::Open { path, mode } if *path == above && *mode == open);
        let opened = Folder::open(&path, OWN);
        assert!(opened.as_ref().map_or_else(refused, |folder| held && folder.is_some()), "{opened:?}");
        let read = read_named(&study, LIMIT, OWN);
        assert!(read.as_ref().map_or_else(refused, |text| held && text == b"text"), "{read:?}");
        // Nothing is created there either.
        let made = Folder::open_or_create(&above.join(format!("mine/new-{open:o}/results")), OWN);
        assert!(made.as_ref().map_or_else(refused, |_| held), "{made:?}");
        assert_eq!(above.join(format!("mine/new-{open:o}")).exists(), held);
        assert!(Folder::open(&path, Trust::Anyone).unwrap().is_some());
    }
}

#[test]
fn links_are_followed_above_a_folder_only_and_a_handle_survives_a_rename() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let folder = Folder::open_or_create(&at("real/results"), OWN).unwrap();
    folder.write("file", b"mine").unwrap();
    symlink("real/../real", at("relative")).unwrap();
    symlink(at("relative/results"), at("absolute")).unwrap();
    let by_link = Folder::open(&at("absolute"), OWN).unwrap().unwrap();
    assert_eq!(by_link.read("file", LIMIT).unwrap().unwrap(), b"mine");
    assert_eq!(read_named(&at("absolute/../results/file"), LIMIT, OWN).unwrap(), b"mine");
    symlink("round", at("round")).unwrap();
    assert!(Folder::open(&at("round"), OWN).is_err());
    assert!(Folder::open(&at("nothing/there"), OWN).unwrap().is_none());
    assert!(matches!(Folder::open(&at("real/results/file"), OWN), Err(FilesError::WrongKind { .. })));

    symlink(at("real"), at("real/results/sub")).unwrap();
    assert!(folder.sub("sub").is_err() && folder.make_sub("sub").is_err());
    symlink(at("victim"), at("real/results/trials.jsonl")).unwrap();
    fs::write(at("victim"), "precious").unwrap();
    assert!(matches!(folder.append("trials.jsonl"), Err(FilesError::Link(_))));
    assert!(matches!(folder.file("trials.jsonl"), Err(FilesError::Link(_))));
    folder.new_log("trials.jsonl").unwrap().write_all(b"log").unwrap();
    assert_eq!(fs::read(at("victim")).unwrap(), b"precious");

    fs::rename(at("real"), at("moved")).unwrap();
    fs::create_dir_all(at("real/results")).unwrap();
    fs::write(at("real/results/file"), "theirs").unwrap();
    assert_eq!(folder.read("file", LIMIT).unwrap().unwrap(), b"mine");
    folder.write("file", b"anew").unwrap();
    assert_eq!(fs::read(at("moved/results/file")).unwrap(), b"anew");
}

#[test]
fn nothing_outside_a_folder_is_read_whatever_links_stand_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let (inside, outside) = (folder.path().join("results"), folder.path().join("secrets"));
    fs::create_dir_all(inside.join("captures")).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("key"), "secret").unwrap();
    fs::write(inside.join("captures/profile"), "profile").unwrap();
    symlink(&outside, inside.join("elsewhere")).unwrap();
    symlink(outside.join("key"), inside.join("captures/link")).unwrap();
    let folder = Folder::open(&inside, OWN).unwrap().unwrap();
    let read = |path: &str| folder.read_beneath(Path::new(path), 100);
    assert_eq!(read("captures/profile").unwrap().unwrap(), b"profile");
    assert!(read("captures/absent").unwrap().is_none() && read("absent/profile").unwrap().is_none());
    for path in ["elsewhere/key", "captures/link"] {
        let refused = read(path).unwrap_err();
        assert!(matches!(refused, FilesError::Link(_) | FilesError::WrongKind { .. }), "{path}: {refused}");
    }
    for path in ["../secrets/key", "/etc/passwd", "captures/../../secrets/key", ""] {
        assert!(matches!(read(path), Err(FilesError::Outside { .. })), "{path}");
    }
}

#[test]
fn a_pipe_that_a_shell_hands_over_is_read_to_its_end() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let wrote = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        writer.write_all(b"text").unwrap();
    });
    let path = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
    assert_eq!(read_named(Path::new(&path), LIMIT, OWN).unwrap(), b"text");
    wrote.join().unwrap();
}

#[test]
fn a_copy_is_open_to_no_one_whom_its_source_is_closed_to() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = Folder::open_or_create(&scratch.path().join("results"), OWN).unwrap();
    let source = scratch.path().join("source");
    fs::write(&source, "secret").unwrap();
    set_mode(&source, 0o640);
    // Otherwise files that root creates there are private anyway.
    set_mode(folder.path(), 0o755);
    folder.new_copy("copy", &fs::File::open(&source).unwrap()).unwrap();
    assert_eq!(mode(&folder.path().join("copy")) & !0o640, 0);
}

/// Only root can create files of another user.
#[test]
fn another_users_folder_link_or_file_is_refused_and_the_callers_is_not() {
    if !rustix::process::geteuid().is_root() {
        println!("not root: no one can be given a file here");
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let theirs = |path: &Path| std::os::unix::fs::lchown(path, Some(65534), None).unwrap();
    let results = Folder::open_or_create(&at("folder/results"), OWN).unwrap();
    results.write("plan.json", b"{}").unwrap();
    drop(results);
    let refused = |e: FilesError| assert!(matches!(e, FilesError::Foreign { owner: 65534, me: 0, .. }), "{e}");
    let caller = Trust::Own { caller: Some(65534) };

    symlink(at("folder"), at("link")).unwrap();
    theirs(&at("link"));
    refused(Folder::open(&at("link/results"), OWN).unwrap_err());
    assert!(Folder::open(&at("link/results"), caller).unwrap().is_some());
    theirs(&at("folder/results/plan.json"));
    let open = Folder::open(&at("folder/results"), OWN).unwrap().unwrap();
    refused(open.read("plan.json", LIMIT).unwrap_err());
    theirs(&at("folder"));
    refused(Folder::open(&at("folder/results"), OWN).unwrap_err());
    refused(Folder::open_or_create(&at("folder/others"), OWN).unwrap_err());
    assert!(!at("folder/others").exists());
    refused(read_named(&at("folder/results/plan.json"), LIMIT, OWN).unwrap_err());
    assert_eq!(read_named(&at("folder/results/plan.json"), LIMIT, caller).unwrap(), b"{}");
    chown(at("folder"), Some(0), None).unwrap();
    theirs(&at("folder/results"));
    refused(Folder::open(&at("folder/results"), OWN).unwrap_err());
}

#[test]
fn a_whole_folder_is_removed_and_no_link_in_it_followed() {
    let parent = tempfile::tempdir().unwrap();
    let victim = parent.path().join("victim");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("file"), "precious").unwrap();
    let folder = Folder::open(parent.path(), Trust::Anyone).unwrap().unwrap();
    fs::create_dir_all(parent.path().join("build/source/deep")).unwrap();
    fs::write(parent.path().join("build/source/deep/file"), "built").unwrap();
    symlink(&victim, parent.path().join("build/source/link")).unwrap();
    symlink(&victim, parent.path().join("linked")).unwrap();
    for name in ["build", "linked", "absent"] {
        folder.remove_all(name).unwrap();
    }
    assert_eq!(folder.names().unwrap(), ["victim"]);
    assert_eq!(fs::read(victim.join("file")).unwrap(), b"precious");
}

#[test]
fn a_name_that_leads_to_another_folder_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    fs::write(parent.path().join("victim"), "precious").unwrap();
    let folder = Folder::open_or_create(&parent.path().join("results"), OWN).unwrap();
    folder.make_sub("logs").unwrap().write("log", b"line").unwrap();
    let absolute = parent.path().join("victim").display().to_string();
    for name in ["../victim", &absolute, "logs/log", "logs/", "..", ".", ""] {
        let results = [
            folder.write(name, b"x"),
            folder.append(name).map(drop),
            folder.new_log(name).map(drop),
            folder.make_sub(name).map(drop),
            folder.sub(name).map(drop),
            folder.file(name).map(drop),
            folder.remove(name),
            folder.remove_all(name),
        ];
        for (number, result) in results.into_iter().enumerate() {
            assert!(matches!(result, Err(FilesError::Outside { .. })), "{number} {name:?}: {result:?}");
        }
    }
    assert_eq!(fs::read(parent.path().join("victim")).unwrap(), b"precious");
}

#[test]
fn nothing_is_appended_to_a_hard_link_in_an_untrusted_folder() {
    let scratch = tempfile::tempdir().unwrap();
    let victim = scratch.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let results = scratch.path().join("results");
    drop(Folder::open_or_create(&results, OWN).unwrap());
    for name in ["trials.jsonl.damaged", ".lock"] {
        fs::hard_link(&victim, results.join(name)).unwrap();
    }
    set_mode(&victim, 0o644);
    let folder = Folder::open(&results, Trust::Anyone).unwrap().unwrap();
    assert!(matches!(folder.append("trials.jsonl.damaged"), Err(FilesError::Linked(_))));
    assert!(matches!(folder.lock_file(".lock"), Err(FilesError::Linked(_))));
    assert_eq!(mode(&victim), 0o644);
    // In a trusted folder, no other user can have created the link.
    assert!(Folder::open(&results, OWN).unwrap().unwrap().append("trials.jsonl.damaged").is_ok());
}

#[test]
fn a_file_of_this_users_in_anothers_folder_is_not_read_by_its_name_there() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let (secret, results) = (scratch.path().join("secret"), scratch.path().join("results"));
    fs::write(&secret, "secret").unwrap();
    fs::create_dir(&results).unwrap();
    fs::hard_link(&secret, results.join("study.toml")).unwrap();
    let folder = Folder::open(&results, Trust::Anyone).unwrap().unwrap();
    assert!(folder.read("study.toml", LIMIT).unwrap().is_some(), "both names belong to the same user");
    chown(&results, Some(12_345), None).unwrap();
    assert!(matches!(folder.read("study.toml", LIMIT), Err(FilesError::Linked(_))));
    fs::remove_file(&secret).unwrap();
    assert!(folder.read("study.toml", LIMIT).unwrap().is_some(), "the file has only one link");
}

#[test]
fn another_user_cannot_lock_readable_results() {
    let scratch = tempfile::tempdir().unwrap();
    let shown = scratch.path().join("results");
    fs::create_dir(&shown).unwrap();
    let folder = Folder::open(&shown, OWN).unwrap().unwrap();
    folder.lock_file(".lock").unwrap();
    assert_eq!(mode(&shown.join(".lock")), 0o600);
    // As an older version created it.
    set_mode(&shown.join(".lock"), 0o644);
    folder.lock_file(".lock").unwrap();
    assert_eq!(mode(&shown.join(".lock")), 0o600);
}

/// An entry of an access control list in the kernel's format (posix_acl_xattr.h): tag, permissions, id.
fn entry(tag: u16, rights: u16, id: u32) -> [u8; 8] {
    let [tag, rights] = [tag, rights].map(u16::to_le_bytes);
    let id = id.to_le_bytes();
    [tag[0], tag[1], rights[0], rights[1], id[0], id[1], id[2], id[3]]
}

/// A list with all permissions for the owner, the group and user 7.
fn list() -> Vec<u8> {
    const NO_ID: u32 = u32::MAX;
    let entries =
        [entry(0x01, 7, NO_ID), entry(0x02, 7, 7), entry(0x04, 7, NO_ID), entry(0x10, 7, NO_ID), entry(0x20, 0, NO_ID)];
    [&2_u32.to_le_bytes()[..], &entries.concat()].concat()
}

fn set_list(path: &Path, name: &str) -> bool {
    rustix::fs::setxattr(path, name, &list(), rustix::fs::XattrFlags::empty()).is_ok()
}

#[test]
fn a_writer_in_an_access_control_list_is_untrusted() {
    let scratch = tempfile::tempdir().unwrap();
    let study = scratch.path().join("study.toml");
    fs::write(&study, "text").unwrap();
    if !set_list(&study, "system.posix_acl_access") {
        return;
    }
    // Its mode is the same as without a list, when only the user's own group may write.
    assert_eq!(mode(&study), 0o770);
    assert!(matches!(read_named(&study, LIMIT, OWN), Err(FilesError::Open { mode: 0o770, .. })));
    let opened = fs::File::open(&study).unwrap();
    assert!(crate::owner::has_list(std::os::fd::AsFd::as_fd(&opened)));
    assert!(!crate::owner::has_list(std::os::fd::AsFd::as_fd(&fs::File::open(scratch.path()).unwrap())));
}

#[test]
fn a_default_access_control_list_grants_no_access_to_new_files() {
    let scratch = tempfile::tempdir().unwrap();
    if !set_list(scratch.path(), "system.posix_acl_default") {
        return;
    }
    let folder = Folder::open_or_create(&scratch.path().join("results"), OWN).unwrap();
    let (builds, elsewhere) = (folder.make_sub("builds").unwrap(), tempfile::tempdir().unwrap());
    let made = [builds.path(), elsewhere.path()].map(|folder| {
        // With default permissions, as a compiler creates folders.
        fs::create_dir(folder.join("program")).unwrap();
        mode(&folder.join("program"))
    });
    assert_eq!(made[0], made[1], "{made:?}");
}

#[test]
fn hundreds_of_missing_folders_are_made_without_walking_to_each_of_them() {
    const DEPTH: usize = 300;
    let scratch = tempfile::tempdir().unwrap();
    let deep: std::path::PathBuf = std::iter::repeat_n("a", DEPTH).collect();
    let above = scratch.path().components().count();
    let before = super::walk::OPENED.get();
    let folder = Folder::open_or_create(&scratch.path().join(&deep), OWN).unwrap();
    let opened = super::walk::OPENED.get() - before;
    assert!(folder.path().is_dir());
    assert!(opened <= (DEPTH + 2) * (above + 1), "{opened} names opened for {DEPTH} folders");
}

#[test]
fn a_folder_with_too_many_names_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c"] {
        fs::write(scratch.path().join(name), "").unwrap();
    }
    let folder = fs::File::open(scratch.path()).unwrap();
    let names = |limit| super::folder::names_up_to(limit, std::os::fd::AsFd::as_fd(&folder), scratch.path());
    assert_eq!(names(3).unwrap(), ["a", "b", "c"]);
    assert!(matches!(names(2), Err(FilesError::TooMany { limit: 2, .. })));
}
