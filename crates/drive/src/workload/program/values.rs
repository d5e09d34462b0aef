//! What placeholders become on the server of a trial, and the private file that holds its password.

use super::{ProgramError, Values};
use crate::workload::Stage;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tare_engine::ConnectTarget;
use tare_files::{Access, PrivateFolder};

/// The values of a server; its password file goes with it.
pub struct ServerValues {
    /// What stands for the placeholders.
    pub values: Values,
    folder: Option<PathBuf>,
}

impl ServerValues {
    /// Values without a server.
    pub fn none() -> Self {
        Self { values: Values::default(), folder: None }
    }

    /// Values of a server, with a file for its password in a private folder of this process.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn of(engine: &str, target: &ConnectTarget) -> Result<Self, ProgramError> {
        let folder = std::env::temp_dir().join(format!("tare-client-{}", std::process::id()));
        let failed = |source| ProgramError::File { doing: "make", path: folder.clone(), source };
        PrivateFolder::open_or_create(&folder, Access::Closed).map_err(|e| failed(std::io::Error::other(e)))?;
        let mut made = Self { values: Values::default(), folder: Some(folder.clone()) };
        made.write("password", &target.password)?;
        made.values.server(engine, target, &folder.join("password"));
        Ok(made)
    }

    /// Writes a file that only this user can read, alongside that of the password.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, ProgramError> {
        let path = self.folder().join(name);
        // The folder is this user's alone; libpq wants the file itself to be, too.
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
        match file.and_then(|mut file| file.write_all(text.as_bytes())) {
            Ok(()) => Ok(path),
            Err(source) => Err(ProgramError::File { doing: "write", path, source }),
        }
    }

    /// The private folder; where there is no server, none of its own.
    pub fn folder(&self) -> &Path {
        self.folder.as_deref().unwrap_or(Path::new("."))
    }
}

impl Drop for ServerValues {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            // What cannot be removed holds a password of a server that is gone.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// The values for a trial's samples.
///
/// # Errors
/// When the password file cannot be written.
pub fn of_stage(stage: &Stage<'_>) -> Result<ServerValues, ProgramError> {
    let mut of = match stage.server {
        Some(server) => ServerValues::of(stage.engine, server.target())?,
        None => ServerValues::none(),
    };
    of.values.set("threads", stage.threads);
    of.values.set("seed", stage.seed);
    Ok(of)
}
