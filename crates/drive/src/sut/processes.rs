//! The processes of a system under test, and whose they are.

use super::SutError;
use procfs::process::Process;
use std::path::PathBuf;
use tare_cpuset::ThreadRef;
use tare_cpuset::observe;
use tare_engine::Server;

/// Who started the processes, and so who may restart and stop them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// This program: it starts, restarts and stops them.
    Us,
    /// Someone else: nothing of theirs is changed but what a placement asks for.
    Others,
}

/// What is measured: a server, which may be one process with many threads or many processes, or the trial's own
/// process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemUnderTest {
    /// The first process; a server that forks for its connections is the parent of the others.
    pub root: Option<i32>,
    pub owner: Owner,
    /// The data of a server that this program started.
    pub data: Option<PathBuf>,
}

impl SystemUnderTest {
    pub fn started(server: &dyn Server) -> Self {
        let (root, data) = (Some(server.pid().cast_signed()), Some(server.data().to_owned()));
        Self { root, owner: Owner::Us, data }
    }

    /// A server that someone else runs; its first process is known where the connection tells it.
    pub fn running(root: Option<i32>) -> Self {
        Self { root, owner: Owner::Others, data: None }
    }

    /// Nothing but the client threads: the trial's own process does the work.
    pub fn own_process() -> Self {
        Self { root: None, owner: Owner::Us, data: None }
    }

    /// Remembers the first process of a server whose threads serve connections, where it is not known yet: theirs or,
    /// with a process a connection, the one above that has the same name.
    pub fn found(&mut self, serving: ThreadRef) {
        if self.root.is_some() || self.owner == Owner::Us {
            return;
        }
        let mut root = serving.pid;
        while let Some(parent) = parent_of_the_same_name(root) {
            root = parent;
        }
        self.root = Some(root);
    }

    /// The first process and all that descend from it now.
    pub fn processes(&self) -> Vec<i32> {
        self.root.into_iter().chain(self.root.into_iter().flat_map(observe::descendants)).collect()
    }

    /// Every thread of every process now.
    ///
    /// # Errors
    /// When the first process cannot be looked at; others come and go.
    pub fn threads(&self) -> Result<Vec<ThreadRef>, SutError> {
        let mut threads = Vec::new();
        for pid in self.processes() {
            match observe::threads_of(pid) {
                Ok(found) => threads.extend(found),
                Err(_) if Some(pid) != self.root => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(threads)
    }
}

/// A script around a server has another name; a server's own parent process has the same.
fn parent_of_the_same_name(pid: i32) -> Option<i32> {
    let stat = |pid: i32| Process::new(pid).and_then(|process| process.stat()).ok();
    let own = stat(pid)?;
    let parent = stat(own.ppid).filter(|parent| parent.pid > 1 && parent.comm == own.comm)?;
    Some(parent.pid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_processes_below_the_first_one_belong_to_the_subject() {
        let mut shell = Command::new("sh").args(["-c", "sleep 60 & sleep 60 & wait"]).spawn().unwrap();
        let root = shell.id().cast_signed();
        let sut = SystemUnderTest::running(Some(root));
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while sut.processes().len() < 3 && std::time::Instant::now() < deadline {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let (processes, threads) = (sut.processes(), sut.threads().unwrap());
        for pid in processes.iter().rev() {
            let _ = Command::new("kill").arg(pid.to_string()).status();
        }
        shell.wait().unwrap();
        assert_eq!((processes.len(), processes[0], threads.len()), (3, root, 3));
        assert!(threads.iter().all(|thread| processes.contains(&thread.pid)));
        assert!(sut.threads().is_err(), "its first process is gone");
        assert_eq!(SystemUnderTest::own_process().threads().unwrap(), []);
    }
}
