//! Values of placeholders for the server of a trial, and files for its programs.

use super::{ProgramError, Values};
use crate::workload::LoadContext;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tare_engine::{ConnectTarget, ListedFolder};
use tare_files::AnonymousFile;

/// The values for a server; its password file is removed on drop.
#[derive(Default)]
pub(crate) struct ServerValues {
    pub values: Values,
    secrets: RefCell<BTreeMap<&'static str, SecretFile>>,
    folder: OnceCell<ListedFolder>,
}

impl ServerValues {
    /// Values for a server, with a file for its password that no other user can read.
    pub(crate) fn of(engine: &str, target: &ConnectTarget) -> Result<Self, ProgramError> {
        let mut made = Self::default();
        let password = made.secret("password", &target.password)?;
        made.values.server(engine, target, &password);
        Ok(made)
    }

    /// Creates a file with this text that only this user can read; it replaces the previous one of this name.
    pub(crate) fn secret(&self, name: &'static str, text: &str) -> Result<PathBuf, ProgramError> {
        let file = SecretFile::with(text)?;
        let path = file.path();
        self.secrets.borrow_mut().insert(name, file);
        Ok(path)
    }

    /// A private directory for files that programs write, created on first use.
    pub(crate) fn folder(&self) -> Result<&Path, ProgramError> {
        match self.folder.get() {
            Some(folder) => Ok(folder.path()),
            None => {
                let made = folder()?;
                Ok(self.folder.get_or_init(|| made).path())
            }
        }
    }
}

pub(crate) fn of_stage(stage: &LoadContext<'_>) -> Result<ServerValues, ProgramError> {
    let mut of = match stage.server {
        Some(server) => ServerValues::of(stage.engine, server.target())?,
        None => ServerValues::default(),
    };
    of.values.set("threads", stage.threads);
    of.values.set("seed", stage.seed);
    Ok(of)
}

/// A file that programs of this user can read, removed on drop.
pub(crate) enum SecretFile {
    /// In memory: nothing remains if this process is killed.
    Anonymous(AnonymousFile),
    /// In a directory that the next start removes, for systems where programs cannot open an anonymous file.
    Listed(Box<ListedFolder>),
}

const NAME: &str = "secret";

impl SecretFile {
    fn with(text: &str) -> Result<Self, ProgramError> {
        match AnonymousFile::with(text.as_bytes()) {
            Ok(file) => Ok(Self::Anonymous(file)),
            Err(_) => Self::listed(text),
        }
    }

    fn listed(text: &str) -> Result<Self, ProgramError> {
        let folder = folder()?;
        let path = folder.path().join(NAME);
        // The directory is private to this user; libpq requires this of the file too.
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        match file.and_then(|mut file| file.write_all(text.as_bytes())) {
            Ok(()) => Ok(Self::Listed(Box::new(folder))),
            Err(source) => Err(ProgramError::File { doing: "write", path, source }),
        }
    }

    fn path(&self) -> PathBuf {
        match self {
            Self::Anonymous(file) => file.path(),
            Self::Listed(folder) => folder.path().join(NAME),
        }
    }
}

/// A directory in the temporary directory: files that programs write there grow with the length of a run.
pub(super) fn folder() -> Result<ListedFolder, ProgramError> {
    ListedFolder::create(&std::env::temp_dir()).map_err(|source| ProgramError::Folder { source: Box::new(source) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_engine::Address;

    #[test]
    fn a_password_is_stored_in_no_folder_and_a_planted_name_does_no_harm() {
        // As another user might plant it, for every process id.
        let guessed = std::env::temp_dir().join(format!("tare-client-{}", std::process::id()));
        let _planted = std::fs::File::create(&guessed);
        let target = ConnectTarget::to(Address::Socket("/s".into()), "u");
        let target = ConnectTarget { password: "secret".into(), ..target };
        let of = ServerValues::of("e", &target);
        let _ = std::fs::remove_file(&guessed);
        let of = of.unwrap();
        let path = PathBuf::from(of.values.fill("{password_file}").unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "secret");
        assert!(path.starts_with("/proc"), "{} is on a disk", path.display());
        let folder = of.folder().unwrap().to_owned();
        assert_eq!(of.folder().unwrap(), folder);
        drop(of);
        assert!(!path.exists() && !folder.exists());
    }

    #[test]
    fn without_anonymous_files_the_secret_file_is_removed_with_its_folder() {
        let secret = SecretFile::listed("p").unwrap();
        let path = secret.path();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "p");
        drop(secret);
        assert!(!path.exists() && !path.parent().unwrap().exists());
    }
}
