//! Programs other than servers, marked and registered like servers, and folders for the files that they write: a kill
//! of this process leaves none of them behind, because the next start ends or removes them.

use super::before_exec::dies_with_parent;
use super::leftovers::Registration;
use super::process_tree::{ProcessTree, mark_of};
use crate::EngineError;
use crate::data::directories::PrivateDirectory;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A mark for one program and all that it starts, registered in the state directory until this is dropped. The owner
/// of this value ends them; after a kill of this process, the next start does.
///
/// It is only a mark in the environment: joining a control group would delay a timed program by milliseconds.
#[derive(Debug)]
pub struct TaggedProcesses {
    tree: ProcessTree,
    _listed: Option<Registration>,
}

impl TaggedProcesses {
    /// A new mark, without any process yet. If the state directory is unknown, it is not registered.
    pub fn list() -> Result<Self, EngineError> {
        let tree = ProcessTree::without_group();
        let state = tare_noise::default_state_dir().ok();
        let listed = state.map(|state| Registration::begin(&state, Vec::new(), &tree)).transpose()?;
        Ok(Self { tree, _listed: listed })
    }

    /// Marks the command. Its process dies with the thread that starts it; processes that it starts do not.
    pub fn begin(&self, command: &mut Command) {
        // Without a group there is no file to write to.
        drop(self.tree.begin(command));
        dies_with_parent(command);
    }

    /// Whether a process belongs to a server, or to a program with another mark that this process gave.
    pub fn is_anothers(&self, pid: i32) -> bool {
        mark_of(pid).is_some_and(|mark| self.tree.is_anothers(&mark))
    }
}

impl Drop for TaggedProcesses {
    fn drop(&mut self) {
        self.tree.forget();
    }
}

/// A private folder with an unguessable name, registered in the state directory before it is created. It is removed
/// with its content when dropped, or after a kill of this process by the next start.
#[derive(Debug)]
pub struct ListedFolder {
    // Fields drop in order: the registration is removed only after the folder.
    folder: PrivateDirectory,
    _listed: Option<Registration>,
}

impl ListedFolder {
    /// A new folder below `base`. If the state directory is unknown, the folder is not registered.
    pub fn create(base: &Path) -> Result<Self, EngineError> {
        let state = tare_noise::default_state_dir().ok();
        Self::create_listed(base, state.as_deref())
    }

    fn create_listed(base: &Path, state: Option<&Path>) -> Result<Self, EngineError> {
        let path = unguessable(base);
        let tree = ProcessTree::without_group();
        let listed = state.map(|state| Registration::begin(state, vec![path.clone()], &tree)).transpose()?;
        Ok(Self { folder: PrivateDirectory::create(&path)?, _listed: listed })
    }

    /// Its absolute path, symbolic links resolved.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// The hasher of a new `RandomState` has keys from the system's random numbers.
fn unguessable(base: &Path) -> PathBuf {
    let random = RandomState::new().build_hasher().finish();
    base.join(format!("tare-files-{}-{random:016x}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reap_leftovers;
    use std::fs;

    #[test]
    fn files_of_programs_are_removed_by_the_next_start_after_a_kill() {
        let (state, base) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let made = ListedFolder::create_listed(base.path(), Some(state.path())).unwrap();
        fs::write(made.path().join("log"), "x").unwrap();
        let path = made.path().to_owned();
        reap_leftovers(state.path()).unwrap();
        assert!(path.exists(), "the folder of a living owner was removed");

        // As after SIGKILL: nothing is dropped, and no process has this number and start time.
        std::mem::forget(made);
        let listed = fs::read_dir(state.path()).unwrap().next().unwrap().unwrap().path();
        let text = fs::read_to_string(&listed).unwrap();
        let start = super::super::process_tree::Identity::of(std::process::id().cast_signed()).unwrap().start_ticks;
        fs::write(&listed, text.replace(&start.to_string(), "1")).unwrap();
        let reaped = reap_leftovers(state.path()).unwrap();
        assert_eq!(reaped[0].removed, [path]);
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_dropped_folder_leaves_neither_files_nor_a_listing() {
        let (state, base) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        drop(ListedFolder::create_listed(base.path(), Some(state.path())).unwrap());
        assert_eq!(fs::read_dir(base.path()).unwrap().count() + fs::read_dir(state.path()).unwrap().count(), 0);
    }
}
