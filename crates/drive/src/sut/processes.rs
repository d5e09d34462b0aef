//! The processes of a system under test, and their owner.

use super::SutError;
use procfs::process::Process;
use std::collections::BTreeSet;
use std::path::PathBuf;
use tare_cpuset::{ThreadRef, observe};
use tare_engine::Server;

/// Which party started the processes, and may therefore restart and stop them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// This program: it starts, restarts and stops them.
    Us,
    /// Another party: only what a placement requests is changed.
    Others,
}

/// What is measured: a server, which may be one process with many threads or many processes, or the trial's own
/// process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemUnderTest {
    /// The first process; in a server that forks for its connections, the parent of the others.
    pub root: Option<i32>,
    pub owner: Owner,
    /// The data directory of a server that this program started.
    pub data: Option<PathBuf>,
}

impl SystemUnderTest {
    pub fn started(server: &dyn Server) -> Self {
        let (root, data) = (Some(server.pid().cast_signed()), Some(server.data().to_owned()));
        Self { root, owner: Owner::Us, data }
    }

    /// A server that tare did not start; its first process is known if the connection reveals it.
    pub fn running(root: Option<i32>) -> Self {
        Self { root, owner: Owner::Others, data: None }
    }

    /// Only the client threads: the trial's own process does the work.
    pub fn own_process() -> Self {
        Self { root: None, owner: Owner::Us, data: None }
    }

    /// Sets the first process of a server that tare did not start, if it is unknown: the process of the serving thread
    /// or, in a server with one process per connection, its topmost ancestor of the same name.
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

    /// The first process and all its current descendants.
    pub fn processes(&self) -> Vec<i32> {
        self.root.map_or_else(Vec::new, observe::with_descendants)
    }

    /// All current threads of all processes.
    ///
    /// # Errors
    /// The first process cannot be inspected. Other processes come and go.
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

/// A wrapper script around a server has another name; a server's own parent process has the same name.
fn parent_of_the_same_name(pid: i32) -> Option<i32> {
    let stat = |pid: i32| Process::new(pid).and_then(|process| process.stat()).ok();
    let own = stat(pid)?;
    let parent = stat(own.ppid).filter(|parent| parent.pid > 1 && parent.comm == own.comm)?;
    Some(parent.pid)
}

/// Title of a process that works for a connection in addition to the connection's own process.
pub(crate) const PARALLEL_WORKER: &str = "parallel worker";

/// Prefixes of the titles of PostgreSQL's helper processes (their `backend_type`). Other processes are connections,
/// whose titles contain private user names and addresses, or belong to extensions.
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

/// The kernel's name of every PostgreSQL process.
const NAME: &str = "postgres";

/// The purpose of a PostgreSQL process; None if it is not PostgreSQL's, or serves a connection.
pub(crate) fn kind(pid: i32) -> Option<&'static str> {
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
    // The first argument; names of databases and users in it may contain arbitrary bytes.
    let title = title.split('\0').next()?;
    title.starts_with("postgres: ").then(|| title.to_owned())
}

/// Finds parallel workers, which live as long as one query.
pub(crate) struct WorkerWatch {
    root: i32,
    known: BTreeSet<i32>,
}

impl WorkerWatch {
    /// Watches a server with one process per connection, such as `serving`; None for other servers. Processes in
    /// `known` are ignored.
    pub(crate) fn over(root: Option<i32>, serving: Option<i32>, known: BTreeSet<i32>) -> Option<Self> {
        let root = root.filter(|root| serving.is_some_and(|serving| serving != *root))?;
        Some(Self { root, known })
    }

    /// The parallel workers that were started since the last look.
    pub(crate) fn new_ones(&mut self) -> Vec<ThreadRef> {
        let main = Process::new(self.root).and_then(|root| root.task_main_thread());
        let children = main.and_then(|task| task.children()).unwrap_or_default();
        let mut new = Vec::new();
        for pid in children.into_iter().map(u32::cast_signed) {
            // A process without a title of its own yet is checked again at the next look.
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
    fn descendants_of_the_first_process_belong_to_the_system_under_test() {
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
    fn a_helper_process_of_postgresql_is_recognised_by_its_title() {
        // A copy with PostgreSQL's name, because the kernel takes the name from the file.
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
        assert_eq!(
            kind_of("postgres: somebody shop 10.0.0.5(41234) idle"),
            None,
            "a connection is none of the listed \
            kinds"
        );
        assert_eq!(kind_of("checkpointer"), None, "another program");
    }
}
