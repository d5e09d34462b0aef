//! A test that changes the umask, in a process of its own.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tare_files::{Folder, Trust, close_to_others};

const OWN: Trust = Trust::Own { caller: None };

#[test]
fn no_umask_lets_another_user_write_and_files_of_root_stay_private() {
    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777;
    let scratch = tempfile::tempdir().unwrap();
    rustix::process::umask(rustix::fs::Mode::empty());
    let folder = Folder::open_or_create(&scratch.path().join("above/results"), OWN).unwrap();
    folder.write("plan.json", b"{}").unwrap();
    folder.append("trials.jsonl").unwrap().write_all(b"{}\n").unwrap();
    folder.make_sub("logs").unwrap().new_log("log").unwrap();
    let shown = scratch.path().join("shown");
    fs::create_dir(&shown).unwrap();
    tare_files::write_whole(&shown.join("report.html"), b"").unwrap();
    tare_files::write_whole(&folder.path().join("report.html"), b"").unwrap();
    tare_files::LogFile::at(&folder.path().join("logs/server")).unwrap().append().unwrap();
    close_to_others();
    fs::write(scratch.path().join("by another way"), "").unwrap();
    let root = rustix::process::geteuid().is_root();
    let (folders, files) = if root { (0o700, 0o600) } else { (0o755, 0o644) };
    for path in ["above", "above/results", "above/results/logs"] {
        assert_eq!(mode(&scratch.path().join(path)), folders, "{path}");
    }
    for path in ["plan.json", "trials.jsonl", "logs/log", "logs/server", "report.html"] {
        assert_eq!(mode(&scratch.path().join("above/results").join(path)), files, "{path}");
    }
    assert_eq!(mode(&shown.join("report.html")), 0o644);
    // A user who opens the folder to others gets new files that others can read.
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    folder.write("later", b"").unwrap();
    assert_eq!(mode(&folder.path().join("later")), 0o644);
    assert_eq!(mode(&scratch.path().join("by another way")), 0o644);
}
