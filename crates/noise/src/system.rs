//! Access to the kernel's files: under `/`, or under a folder of a fake machine in tests.

use crate::error::{NoiseError, Result};
use crate::fake_kernel::FakeKernel;
use crate::kernel::{Kernel, ThisKernel};
use rustix::fs::{Access, AtFlags, CWD};
use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;
use tare_files::crash;

/// A machine: the kernel's files under a root folder.
///
/// This crate accesses files under /proc, /sys and /dev through it. Paths are those of a real machine; the root is
/// prepended.
#[derive(Debug, Clone)]
pub struct System {
    root: PathBuf,
    kernel: &'static dyn Kernel,
}

impl System {
    /// The machine that this program runs on.
    pub fn real() -> Self {
        Self { root: PathBuf::from("/"), kernel: &ThisKernel }
    }

    /// A fake machine: a folder of plain files.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), kernel: &FakeKernel }
    }

    /// This machine, or the fake machine in the folder `TARE_SYSTEM_ROOT`: for tests of whole programs, which may lack
    /// the privileges to change this machine or would disturb what else runs on it.
    pub fn of_environment() -> Self {
        match std::env::var_os("TARE_SYSTEM_ROOT").filter(|root| !root.is_empty()) {
            Some(root) => Self::at(root),
            None => Self::real(),
        }
    }

    /// Whether it is a fake machine: a record must say that its settings were not in force on the real one.
    pub fn is_fake(&self) -> bool {
        !self.kernel.is_real()
    }

    /// `path` (absolute, as on the real machine) below this system's root.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Whether there is something at `path`.
    pub(crate) fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// The whole text of `path`. Bytes that are not UTF-8 are replaced.
    pub(crate) fn read(&self, path: &str) -> Result<String> {
        let path = self.path(path);
        let mut bytes = Vec::new();
        match fs::File::open(&path).and_then(|mut file| file.read_to_end(&mut bytes)) {
            Ok(_) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(source) => Err(NoiseError::Read { path, source }),
        }
    }

    /// The text of `path`; `None` if it does not exist or cannot be read.
    pub(crate) fn read_optional(&self, path: &str) -> Option<String> {
        self.read(path).ok()
    }

    /// Names in the folder `path`, sorted; empty if the folder does not exist.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(path)) else { return Vec::new() };
        let mut names: Vec<String> = entries.filter_map(|e| e.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Whether this process may write `path`: the kernel's answer for the effective user; it considers read-only
    /// mounts.
    ///
    /// # Errors
    /// The kernel's reason: `PermissionDenied`, `ReadOnlyFilesystem`, `NotFound` ...
    pub fn may_write(&self, path: &str) -> io::Result<()> {
        rustix::fs::accessat(CWD, self.path(path), Access::WRITE_OK, AtFlags::EACCESS).map_err(io::Error::from)
    }

    /// Writes `text` to the existing file `path` in one write, as settings files require.
    ///
    /// # Errors
    /// [`NoiseError::Write`] when the file is missing or refuses the value.
    pub(crate) fn write(&self, path: &str, text: &str) -> Result<()> {
        let path = self.path(path);
        crash::point("setting: before it is written");
        self.kernel.write(&path, text).map_err(|source| NoiseError::Write { action: "write", path, source })?;
        crash::point("setting: written");
        Ok(())
    }

    /// Creates the control group `path`.
    pub(crate) fn make_group(&self, path: &str) -> Result<()> {
        let path = self.path(path);
        crash::point("group: before it is made");
        self.kernel.make_group(&path).map_err(|source| NoiseError::Write { action: "create", path, source })?;
        crash::point("group: made");
        Ok(())
    }

    /// Removes the control group `path`.
    ///
    /// # Errors
    /// The kernel's reason, for example that processes are still in it.
    pub(crate) fn remove_group(&self, path: &str) -> io::Result<()> {
        crash::point("group: before its removal");
        self.kernel.remove_group(&self.path(path))?;
        crash::point("group: removed");
        Ok(())
    }
}
