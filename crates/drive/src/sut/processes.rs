//! The processes of a system under test, and whose they are.

use super::SutError;
use procfs::process::Process;
use std::collections::BTreeSet;
use std::path::PathBuf;
use tare_cpuset::{ThreadRef, observe};
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

/// What a process that works for a connection besides its own calls itself.
pub const PARALLEL_WORKER: &str = "parallel worker";

/// The beginnings of what PostgreSQL's helpers call themselves (their `backend_type`). Others are connections, whose
/// titles tell users and addresses that are no one's business, or of extensions.
const KINDS: [&str; 17] = [
    PARALLEL_WORKER,
    "archiver",
    "autovacuum launcher",
    "autovacuum worker",
    "background writer",
    "checkpointer",
    "io worker",
    "logger",
    "logical replication launcher",
    "logical replication",
    "slotsync worker",
    "startup",
    "stats collector",
    "walreceiver",
    "walsender",
    "walsummarizer",
    "walwriter",
];

/// What the kernel calls every process of PostgreSQL.
const NAME: &str = "postgres";

/// What a process of PostgreSQL is for; none where it is of something else, or serves a connection.
pub fn kind(pid: i32) -> Option<&'static str> {
    let title = title(pid)?;
    // `postgres: checkpointer`, or with a cluster's name `postgres: 15/main: checkpointer`.
    let own = title.rsplit(": ").next()?.trim();
    KINDS.into_iter().find(|kind| own.starts_with(kind))
}

fn title(pid: i32) -> Option<String> {
    let process = Process::new(pid).ok()?;
    if process.stat().ok()?.comm != NAME {
        return None;
    }
    let title = observe::arguments(pid).ok()?;
    // Its first word; databases and users in it may have names of any bytes.
    let title = title.split('\0').next()?;
    title.starts_with("postgres: ").then(|| title.to_owned())
}

/// Looks for parallel workers, which live as long as one query.
pub struct WorkerWatch {
    root: i32,
    known: BTreeSet<i32>,
}

impl WorkerWatch {
    /// Over a server whose connections have processes of their own, such as `serving`; none over others. Those that are
    /// `known` are no news.
    pub fn over(root: Option<i32>, serving: Option<i32>, known: BTreeSet<i32>) -> Option<Self> {
        let root = root.filter(|root| serving.is_some_and(|serving| serving != *root))?;
        Some(Self { root, known })
    }

    /// Those that have come since the last look.
    pub fn new_ones(&mut self) -> Vec<ThreadRef> {
        let main = Process::new(self.root).and_then(|root| root.task_main_thread());
        let children = main.and_then(|task| task.children()).unwrap_or_default();
        let mut new = Vec::new();
        for pid in children.into_iter().map(u32::cast_signed) {
            // One that has no title of its own yet is looked at again.
            if self.known.contains(&pid) || title(pid).is_none() {
                continue;
            }
            self.known.insert(pid);
            if kind(pid) == Some(PARALLEL_WORKER) {
                new.push(ThreadRef::main_of(pid));
            }
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::time::{Duration, Instant};

    #[test]
    fn the_processes_below_the_first_one_belong_to_the_subject() {
        let mut shell = Command::new("sh").args(["-c", "sleep 60 & sleep 60 & wait"]).spawn().unwrap();
        let root = shell.id().cast_signed();
        let sut = SystemUnderTest::running(Some(root));
        let deadline = Instant::now() + Duration::from_secs(10);
        while sut.processes().len() < 3 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
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

    #[test]
    fn a_helper_is_known_by_what_it_calls_itself() {
        // A copy with the name, for the kernel takes it from the file.
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join(NAME);
        std::fs::copy("/bin/sleep", &program).unwrap();
        let kind_of = |title: &str| {
            let mut child = Command::new(&program).arg0(title).arg("60").spawn().unwrap();
            let pid = child.id().cast_signed();
            let deadline = Instant::now() + Duration::from_secs(10);
            while title.starts_with(NAME) && super::title(pid).is_none() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(5));
            }
            let found = kind(pid);
            child.kill().unwrap();
            child.wait().unwrap();
            found
        };
        assert_eq!(kind_of("postgres: checkpointer "), Some("checkpointer"));
        assert_eq!(kind_of("postgres: 15/main: parallel worker for PID 4711 "), Some(PARALLEL_WORKER));
        assert_eq!(kind_of("postgres: somebody shop 10.0.0.5(41234) idle"), None, "whose it is stays with them");
        assert_eq!(kind_of("checkpointer"), None, "another program");
    }
}
