//! Access to the kernel's files: under `/`, or under a folder of plain files that is a fake machine in tests, for which
//! the kernel is imitated.
//!
//! Writes to a fake machine behave like those to the kernel's files: a value is replaced completely or not at all; a
//! list of choices (`always [madvise] never`) keeps its form and refuses unknown words; `cgroup.subtree_control`
//! accepts `+name` and `-name`; a number is added to the `tasks` of a resctrl group; and a line of a resource replaces
//! that of `schemata`.

use crate::error::{NoiseError, Result};
use rustix::fs::{Access, AtFlags, CWD};
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
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

/// Writes to the files of a kernel: this machine's own, or the imitation for a fake machine.
pub(crate) trait Kernel: std::fmt::Debug + Sync {
    /// Writes a value completely, or fails.
    fn write(&self, path: &Path, text: &str) -> io::Result<()>;
    /// Creates a control group with its files.
    fn make_group(&self, folder: &Path) -> io::Result<()>;
    /// Removes a control group with its files.
    fn remove_group(&self, folder: &Path) -> io::Result<()>;
    /// Whether writes take effect on this machine.
    fn is_real(&self) -> bool;
}

/// The kernel that this process runs on.
#[derive(Debug)]
struct ThisKernel;

impl Kernel for ThisKernel {
    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        // A single write(2), so that the kernel gets the whole value.
        let written = OpenOptions::new().write(true).open(path)?.write(text.as_bytes())?;
        if written == text.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    fn make_group(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir(folder)
    }

    fn remove_group(&self, folder: &Path) -> io::Result<()> {
        fs::remove_dir(folder)
    }

    fn is_real(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct FakeKernel;

impl Kernel for FakeKernel {
    /// Atomic, like the kernel: a process that is killed at any moment leaves the old value or the new one.
    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        let old = fs::read_to_string(path)?;
        let word = text.trim();
        let new = if path.ends_with("cgroup.subtree_control") {
            controllers(&old, word)
        } else if path.ends_with("tasks") {
            format!("{old}{word}\n")
        } else if path.ends_with("schemata") {
            schemata(&old, word)
        } else if old.contains('[') {
            choose(&old, word).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?
        } else {
            format!("{word}\n")
        };
        let next = path.with_extension("next");
        fs::write(&next, new)?;
        fs::rename(&next, path)
    }

    fn make_group(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir(folder)?;
        if folder.parent().is_some_and(|above| above.ends_with("mon_groups")) {
            return make_monitor(folder);
        }
        if folder.parent().is_some_and(|above| above.ends_with("resctrl")) {
            return make_limit(folder);
        }
        for (name, text) in [("cgroup.procs", ""), ("cpuset.cpus", "\n"), ("cpuset.cpus.partition", "member\n")] {
            fs::write(folder.join(name), text)?;
        }
        Ok(())
    }

    fn remove_group(&self, folder: &Path) -> io::Result<()> {
        fs::remove_dir_all(folder)
    }

    fn is_real(&self) -> bool {
        false
    }
}

/// The files of a resctrl monitoring group on a machine with one L3 cache.
fn make_monitor(folder: &Path) -> io::Result<()> {
    let cache = folder.join("mon_data/mon_L3_00");
    fs::create_dir_all(&cache)?;
    for event in ["llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"] {
        fs::write(cache.join(event), "0\n")?;
    }
    fs::write(folder.join("tasks"), "")
}

/// The files of a resctrl group without limits.
fn make_limit(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder.join("mon_groups"))?;
    let all = fs::read_to_string(folder.with_file_name("schemata"))?;
    fs::write(folder.join("schemata"), all)?;
    fs::write(folder.join("tasks"), "")
}

fn schemata(old: &str, change: &str) -> String {
    let resource = |line: &str| line.trim().split(':').next().map(str::to_owned);
    let line = |line: &str| if resource(line) == resource(change) { change.to_owned() } else { line.to_owned() };
    old.lines().map(line).collect::<Vec<_>>().join("\n") + "\n"
}

fn controllers(old: &str, change: &str) -> String {
    let mut words: Vec<&str> = old.split_whitespace().collect();
    let name = change.trim_start_matches(['+', '-']);
    words.retain(|w| *w != name);
    if change.starts_with('+') {
        words.push(name);
    }
    words.join(" ") + "\n"
}

fn choose(old: &str, word: &str) -> Option<String> {
    let mut found = false;
    let words: Vec<String> = old
        .split_whitespace()
        .map(|w| {
            let plain = w.trim_matches(['[', ']']);
            found |= plain == word;
            if plain == word { format!("[{plain}]") } else { plain.to_owned() }
        })
        .collect();
    found.then(|| words.join(" ") + "\n")
}
