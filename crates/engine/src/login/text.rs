//! Reads a file of the user that may contain a password.

use crate::EngineError;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tare_files::FilesError;

/// Limit on the size of the file, bytes: a file of settings is no larger.
const LARGEST: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closed {
    /// Only its owner may write to it; others may read it. Its content decides which server gets the password.
    ToWriters,
    /// Other users may neither read nor write it, as PostgreSQL requires for its password file.
    ToAll,
}

/// The text of a file; none if it does not exist.
pub(super) fn read(path: &Path, closed: Closed) -> Result<Option<String>, EngineError> {
    let wrong = |reason: String| EngineError::LoginFile { path: path.to_owned(), reason };
    let unreadable = |error: FilesError| wrong(format!("cannot be read: {error}"));
    let Some(file) = tare_files::open_named(path).map_err(unreadable)? else { return Ok(None) };
    let meta = file.metadata().map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let me = rustix::process::geteuid().as_raw();
    if ![me, 0].contains(&meta.uid()) {
        let whose = format!("belongs to user {}, who may change it, and this process runs as user {me}", meta.uid());
        return Err(wrong(format!("{whose}: use a file of your own")));
    }
    let (open, mode) = match closed {
        Closed::ToWriters => (meta.mode() & 0o022 != 0, "go-w"),
        Closed::ToAll => (meta.mode() & 0o077 != 0, "0600"),
    };
    if open {
        let what = if closed == Closed::ToAll { "others may read or change it" } else { "others may change it" };
        return Err(wrong(format!("{what}, and it may hold a password: chmod {mode} {}", path.display())));
    }
    let bytes = tare_files::read_all(file, path, LARGEST).map_err(unreadable)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// A file in the user's home; `~/` at the beginning of a given path means the same.
pub(super) fn in_home(name: &str) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())?;
    Some(home.join(name))
}

/// A given path, with a leading `~/` expanded.
pub(super) fn given(path: &Path) -> PathBuf {
    path.strip_prefix("~").ok().and_then(|rest| in_home(&rest.display().to_string())).unwrap_or_else(|| path.to_owned())
}

/// A variable that holds a path or a name; an empty one counts as unset.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn what_a_group_or_another_user_could_have_written_and_what_is_no_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.cnf");
        std::fs::write(&path, "[client]\npassword=secret\n").unwrap();
        let with = |mode: u32, closed| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            read(&path, closed).map_err(|error| error.to_string())
        };
        assert!(with(0o644, Closed::ToWriters).unwrap().unwrap().contains("secret"));
        assert!(with(0o600, Closed::ToAll).unwrap().is_some());
        for mode in [0o664, 0o646] {
            let error = with(mode, Closed::ToWriters).unwrap_err();
            assert!(error.contains("chmod go-w") && !error.contains("secret"), "{error}");
        }
        assert!(with(0o640, Closed::ToAll).unwrap_err().contains("chmod 0600"));
        if rustix::process::geteuid().is_root() {
            with(0o600, Closed::ToAll).unwrap();
            std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
            for closed in [Closed::ToWriters, Closed::ToAll] {
                let error = read(&path, closed).unwrap_err().to_string();
                assert!(error.contains("belongs to user 65534"), "{error}");
            }
        }
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        for path in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
            assert!(read(path, Closed::ToWriters).unwrap_err().to_string().contains("not a regular file"));
        }
        std::fs::write(&path, vec![b'#'; LARGEST as usize + 1]).unwrap();
        std::os::unix::fs::chown(&path, Some(rustix::process::geteuid().as_raw()), None).unwrap();
        assert!(with(0o600, Closed::ToAll).unwrap_err().contains("larger than"));
    }
}
