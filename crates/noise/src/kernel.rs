//! Writes to the kernel's files: the interface, and its implementation for this machine.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Writes to the files of a kernel: this machine's own, or [`crate::fake_kernel`]'s for a fake machine.
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
pub(crate) struct ThisKernel;

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
