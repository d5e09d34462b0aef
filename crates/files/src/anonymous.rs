//! Secrets for programs that take the path of a file: the content is in memory alone and goes with this process.

use rustix::fs::{MemfdFlags, Mode, SealFlags, fchmod, fcntl_add_seals, memfd_create};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, dumpable_behavior, getpid};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

/// A file without a name, readable to this user alone, that no one can change. However this process ends, nothing of it
/// stays.
#[derive(Debug)]
pub struct AnonymousFile {
    file: OwnedFd,
}

impl AnonymousFile {
    /// A file with this content.
    ///
    /// # Errors
    /// When the kernel has no such files, or lets the programs that this one starts not open them by
    /// [`AnonymousFile::path`]: a private folder is what remains then.
    pub fn with(bytes: &[u8]) -> io::Result<Self> {
        // The kernel gives what belongs to such a process to root, as that of a program with file capabilities.
        if dumpable_behavior()? != DumpableBehavior::Dumpable {
            return Err(ErrorKind::Unsupported.into());
        }
        let mut file = File::from(sealable()?);
        file.write_all(bytes)?;
        // Clients refuse secrets that others could read by their mode.
        fchmod(&file, Mode::RUSR)?;
        fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
        let anonymous = Self { file: file.into() };
        File::open(anonymous.path())?;
        Ok(anonymous)
    }

    /// Where programs of this user find it while this process lives, whatever descriptors they have closed.
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", getpid().as_raw_nonzero(), self.file.as_raw_fd()).into()
    }
}

/// An empty one that can be sealed, and that is no program where the kernel knows of that.
fn sealable() -> io::Result<OwnedFd> {
    const NAME: &str = "tare-private";
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    match memfd_create(NAME, flags | MemfdFlags::NOEXEC_SEAL) {
        // Linux before 6.3.
        Err(Errno::INVAL) => Ok(memfd_create(NAME, flags)?),
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    #[test]
    fn a_child_reads_it_by_its_path_and_no_one_changes_it() {
        let secret = AnonymousFile::with(b"p w").unwrap();
        // Twice: each opening begins at the first byte.
        for _ in 0..2 {
            let read = Command::new("cat").arg(secret.path()).output().unwrap();
            assert_eq!((read.status.success(), read.stdout.as_slice()), (true, b"p w".as_slice()));
        }
        let found = std::fs::metadata(secret.path()).unwrap();
        assert!(found.is_file());
        assert_eq!(found.permissions().mode() & 0o777, 0o400);
        assert!((&File::from(secret.file.try_clone().unwrap())).write_all(b"other").is_err());
        let path = secret.path();
        drop(secret);
        assert!(!path.exists());
    }
}
