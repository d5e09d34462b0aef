//! Programs other than servers, marked and registered like servers: a kill of this process leaves none behind.

use super::before_exec::dies_with_parent;
use super::leftovers::Registration;
use super::process_tree::{ProcessTree, mark_of};
use crate::EngineError;
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
