//! Passes a secret to programs that take the path of a file. The content is only in memory and ends with this process.

use rustix::fs::{MemfdFlags, Mode, SealFlags, fchmod, fcntl_add_seals, memfd_create};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, dumpable_behavior, getpid};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

/// A sealed in-memory file without a name, readable only by this user. Nothing of it remains after this process,
/// however it ends.
#[derive(Debug)]
pub struct AnonymousFile {
    file: OwnedFd,
}

impl AnonymousFile {
    /// Creates a file with this content.
    ///
    /// # Errors
    /// When the kernel does not support sealed files, or does not let child processes open them by
    /// [`AnonymousFile::path`]. The caller can then use a private folder.
    pub fn with(bytes: &[u8]) -> io::Result<Self> {
        // The /proc files of a process that is not dumpable, such as a program with file capabilities, belong to root.
        if dumpable_behavior()? != DumpableBehavior::Dumpable {
            return Err(ErrorKind::Unsupported.into());
        }
        let mut file = File::from(sealable()?);
        file.write_all(bytes)?;
        // Client programs refuse secrets whose mode lets others read them.
        fchmod(&file, Mode::RUSR)?;
        fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
        let anonymous = Self { file: file.into() };
        File::open(anonymous.path())?;
        Ok(anonymous)
    }

    /// A path under which programs of this user can open it while this process lives, even if they have closed all
    /// inherited descriptors.
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", getpid().as_raw_nonzero(), self.file.as_raw_fd()).into()
    }
}

/// An empty file that can be sealed and, where the kernel supports it, cannot be executed.
fn sealable() -> io::Result<OwnedFd> {
    const NAME: &str = "tare-private";
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    match memfd_create(NAME, flags | MemfdFlags::NOEXEC_SEAL) {
        // Linux before 6.3 does not know NOEXEC_SEAL.
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
    fn a_child_process_reads_a_secret_by_its_path_and_cannot_change_it() {
        let secret = AnonymousFile::with(b"p w").unwrap();
        // Twice, because each open must start at the first byte.
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
