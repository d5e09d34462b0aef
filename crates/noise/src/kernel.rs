//! What a kernel does behind its files, and the one that this process runs on.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// What a kernel does when its files are written to: this machine's own, or [`crate::fake_kernel`]'s for a folder that
/// plays one.
pub(crate) trait Kernel: std::fmt::Debug + Sync {
    /// Takes a setting as a whole, or refuses it.
    fn write(&self, path: &Path, text: &str) -> io::Result<()>;
    /// Makes a control group, with its own files in it.
    fn make_group(&self, folder: &Path) -> io::Result<()>;
    /// Removes a control group, with its own files in it.
    fn remove_group(&self, folder: &Path) -> io::Result<()>;
    /// Whether what it takes is in force.
    fn is_real(&self) -> bool;
}

/// The kernel that this process runs on.
#[derive(Debug)]
pub(crate) struct ThisKernel;

impl Kernel for ThisKernel {
    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        // One write(2): the kernel sees it whole.
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
