//! A secret for a program that takes the path of a file and nothing else.

use super::ProgramError;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use tare_engine::ListedFolder;
use tare_files::AnonymousFile;

/// A file that this user's programs can read, for as long as this lives.
pub enum SecretFile {
    /// In memory: a kill of this process leaves nothing.
    Anonymous(AnonymousFile),
    /// In a folder that the next start removes, where programs could not open an anonymous one.
    Listed(Box<ListedFolder>),
}

const NAME: &str = "secret";

impl SecretFile {
    pub fn with(text: &str) -> Result<Self, ProgramError> {
        match AnonymousFile::with(text.as_bytes()) {
            Ok(file) => Ok(Self::Anonymous(file)),
            Err(_) => Self::listed(text),
        }
    }

    fn listed(text: &str) -> Result<Self, ProgramError> {
        let folder = folder()?;
        let path = folder.path().join(NAME);
        // The folder is this user's alone; libpq wants the file itself to be, too.
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        match file.and_then(|mut file| file.write_all(text.as_bytes())) {
            Ok(()) => Ok(Self::Listed(Box::new(folder))),
            Err(source) => Err(ProgramError::File { doing: "write", path, source }),
        }
    }

    pub fn path(&self) -> PathBuf {
        match self {
            Self::Anonymous(file) => file.path(),
            Self::Listed(folder) => folder.path().join(NAME),
        }
    }
}

/// A folder among the temporary ones: what programs write there may be as large as a run is long.
pub(super) fn folder() -> Result<ListedFolder, ProgramError> {
    ListedFolder::create(&std::env::temp_dir()).map_err(|source| ProgramError::Folder { source: Box::new(source) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_is_no_anonymous_file_the_folder_goes_with_it() {
        let secret = SecretFile::listed("p").unwrap();
        let path = secret.path();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "p");
        drop(secret);
        assert!(!path.exists() && !path.parent().unwrap().exists());
    }
}
