//! Programs that are no servers, marked and listed as servers are: a kill of this process leaves nothing of them.

use super::before_exec::dies_with_parent;
use super::leftovers::Registration;
use super::process_tree::{ProcessTree, mark_of};
use crate::EngineError;
use std::process::Command;

/// A mark for one program and all that it starts, listed in the state directory until this is dropped. Ending them is
/// for the one who has this; after a kill of this process, for the next start.
///
/// It is a mark in the environment alone: entering a control group takes milliseconds in which a program that is timed
/// would wait.
#[derive(Debug)]
pub struct TaggedProcesses {
    tree: ProcessTree,
    _listed: Option<Registration>,
}

impl TaggedProcesses {
    /// A new one, of which nothing runs yet. Where nothing says where the state directory is, it is listed nowhere.
    pub fn list() -> Result<Self, EngineError> {
        let tree = ProcessTree::without_group();
        let state = tare_noise::default_state_dir().ok();
        let listed = state.map(|state| Registration::begin(&state, Vec::new(), &tree)).transpose()?;
        Ok(Self { tree, _listed: listed })
    }

    /// Marks the command. Its process dies with the thread that starts it; what that starts does not.
    pub fn begin(&self, command: &mut Command) {
        // Without a group there is no door to go through.
        drop(self.tree.begin(command));
        dies_with_parent(command);
    }

    /// Whether a process is a server's, or of another program than this one's.
    pub fn is_anothers(&self, pid: i32) -> bool {
        mark_of(pid).is_some_and(|mark| !self.tree.has(&mark))
    }
}
