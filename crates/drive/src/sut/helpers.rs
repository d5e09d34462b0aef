//! The helper processes of a server with a process a connection (PostgreSQL): what each is for, and those that come for
//! one query.

use procfs::process::Process;
use std::collections::BTreeSet;
use tare_cpuset::ThreadRef;
use tare_cpuset::observe::proc_text;

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
    let title = proc_text(&format!("/proc/{pid}/cmdline")).ok()?;
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
