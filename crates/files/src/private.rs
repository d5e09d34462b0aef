//! Folders that only their owner can enter. Their content comes from this user's programs and is trusted.

use crate::crash;
use crate::error::{FilesError, Result};
use crate::folder::{made_above, names, split};
use crate::owner::{OTHERS_WRITE, Rights, Trust, me, stat};
use crate::read::{READ, check_regular, opened, read_all};
use crate::walk::{self, Last};
use crate::whole::write_in;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The access that other users have to a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Others cannot enter it: mode 0700.
    Closed,
    /// Others can only test whether a known name exists in it: mode 0711.
    Searchable,
}

impl Access {
    fn mode(self) -> u32 {
        match self {
            Self::Closed => Rights::PRIVATE.folder.as_raw_mode(),
            Self::Searchable => 0o711,
        }
    }
}

/// An open folder of this user that is closed to others. It is used through its handle: renaming or replacing it has no
/// effect.
#[derive(Debug)]
pub struct PrivateFolder {
    path: PathBuf,
    handle: OwnedFd,
}

impl PrivateFolder {
    /// Opens the folder; creates it and its parents where missing.
    ///
    /// # Errors
    /// [`FilesError::Link`] for a link in its last component; [`FilesError::Foreign`] when it or a folder above it
    /// belongs to another user; [`FilesError::Open`] when others may write to one of them; the system's error.
    pub fn open_or_create(path: &Path, access: Access) -> Result<Self> {
        let path = std::path::absolute(path).map_err(|e| FilesError::io("resolve", path, e))?;
        let (parent, name) = split(&path)?;
        // Nothing is created in a place to which another user's link leads.
        let above = made_above(parent, Rights::SHOWN, Trust::OWN)?;
        match rustix::fs::mkdirat(&above, name, Mode::from_raw_mode(access.mode())) {
            Ok(()) => {
                crash::point("private folder: made, not closed");
                let folder = Self::check(path.clone(), access)?;
                // Sets the mode again: the umask may have removed bits.
                rustix::fs::fchmod(&folder.handle, Mode::from_raw_mode(access.mode()))
                    .map_err(|e| FilesError::io("close", &folder.path, e))?;
                let synced = File::open(parent).and_then(|parent| parent.sync_all());
                synced.map_err(|e| FilesError::io("sync", parent, e))?;
                crash::point("private folder: done");
                Ok(folder)
            }
            Err(Errno::EXIST) => Self::check(path, access),
            Err(e) => Err(FilesError::io("create", &path, e)),
        }
    }

    /// Opens the folder; `None` if it does not exist.
    ///
    /// # Errors
    /// As [`PrivateFolder::open_or_create`].
    pub fn open(path: &Path, access: Access) -> Result<Option<Self>> {
        let path = std::path::absolute(path).map_err(|e| FilesError::io("resolve", path, e))?;
        match std::fs::symlink_metadata(&path) {
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(e) => Err(FilesError::io("access", &path, e)),
            Ok(_) => Self::check(path, access).map(Some),
        }
    }

    fn check(path: PathBuf, access: Access) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = walk::open(&path, flags, Trust::OWN, Last::NoLink)?;
        let handle = handle.ok_or_else(|| FilesError::io("open", &path, Errno::NOENT))?;
        let stat = stat(&handle, &path)?;
        let mode = stat.st_mode & 0o7777;
        // Here not even the user's own group may write.
        if mode & OTHERS_WRITE != 0 {
            return Err(FilesError::Open { path, mode });
        }
        // Others could not write to it until now, so nothing in it comes from them: narrowing the mode is enough.
        let too_open = mode & 0o044 != 0 || (access == Access::Searchable && mode & 0o011 != 0o011);
        if too_open && stat.st_uid == me() {
            rustix::fs::fchmod(&handle, Mode::from_raw_mode(access.mode()))
                .map_err(|e| FilesError::io("close", &path, e))?;
        }
        Ok(Self { path, handle })
    }

    /// Its absolute path: for messages, and for programs that only accept a path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The content of a file in it; `None` if it does not exist.
    ///
    /// # Errors
    /// As [`crate::open_regular`]; [`FilesError::TooLarge`]; the system's error; and when it belongs to another user or
    /// others may write to it.
    pub fn read(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        let path = self.path.join(name);
        let Some(file) = opened(rustix::fs::openat(&self.handle, name, READ, Mode::empty()), &path)? else {
            return Ok(None);
        };
        check_file(&file, &path)?;
        read_all(file, &path, limit).map(Some)
    }

    /// Writes a file in it completely or not at all, synced, readable only by its owner.
    ///
    /// # Errors
    /// The system's error.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        write_in(
            self.handle.as_fd(),
            OsStr::new(name),
            |file| file.write_all(bytes),
            Rights::PRIVATE.file,
            &self.path.join(name),
        )
    }

    /// Opens a file in it for appending and reading; creates it if missing.
    ///
    /// # Errors
    /// As [`PrivateFolder::read`].
    pub fn append(&self, name: &str) -> Result<File> {
        let path = self.path.join(name);
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = rustix::fs::openat(&self.handle, name, flags | OFlags::CLOEXEC, Rights::PRIVATE.file)
            .map_err(|e| FilesError::io("open", &path, e))?;
        check_regular(&file, &path)?;
        let file = File::from(file);
        check_file(&file, &path)?;
        Ok(file)
    }

    /// Removes a file in it. A missing file is not an error.
    ///
    /// # Errors
    /// The system's error.
    pub fn remove(&self, name: &str) -> Result<()> {
        crash::point("removal: before it");
        match rustix::fs::unlinkat(&self.handle, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(e) => return Err(FilesError::io("remove", &self.path.join(name), e)),
        }
        crash::point("removal: done");
        Ok(())
    }

    /// Renames a file or folder in it that is complete and on the disk; the new name is on the disk at the end.
    ///
    /// # Errors
    /// The system's error.
    pub fn rename(&self, from: &str, to: &str) -> Result<()> {
        crash::point("rename: before it");
        rustix::fs::renameat(&self.handle, from, &self.handle, to)
            .map_err(|e| FilesError::io("rename", &self.path.join(from), e))?;
        crash::point("rename: done, folder not synced");
        self.sync()?;
        crash::point("rename: synced");
        Ok(())
    }

    /// The names in it that are valid UTF-8, sorted.
    ///
    /// # Errors
    /// The system's error.
    pub fn names(&self) -> Result<Vec<String>> {
        names(self.handle.as_fd(), &self.path)
    }

    /// Syncs the folder: returns when the names in it are on the disk.
    ///
    /// # Errors
    /// The system's error.
    pub fn sync(&self) -> Result<()> {
        rustix::fs::fsync(&self.handle).map_err(|e| FilesError::io("sync", &self.path, e))
    }
}

/// Checks a file, which may be of another user if its folder was once writable for others.
fn check_file(file: &File, path: &Path) -> Result<()> {
    Trust::OWN.check(file, path)
}

#[cfg(test)]
mod tests {
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
}
