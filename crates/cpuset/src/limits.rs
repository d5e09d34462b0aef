//! Whether this process, its user and this machine may have so many more threads. Looked at before the first is
//! started: the kernel refuses one of them in the middle, and a thread that gets no memory for its stack of signals
//! ends its process.

use crate::observe::{parse, proc_text};
use procfs::process::{Status, all_processes};
use rustix::process::{Resource, getrlimit, getuid};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Mappings that a thread takes: its stack and the one for its signals, each with a guard page.
const MAPS_PER_THREAD: u64 = 4;
/// What else is mapped, opened and started meanwhile.
const MARGIN: u64 = 100;
/// Numbers that the kernel keeps back once all have been given out (`RESERVED_PIDS`).
const RESERVED_PIDS: u64 = 300;

/// What is about to be started and opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Threads of this process.
    pub threads: u64,
    /// Threads and processes of others that come with them, as a server has one for each connection.
    pub of_others: u64,
    /// Files and sockets that this process opens.
    pub descriptors: u64,
}

/// A limit that ends what is wanted before its end.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{name} is {limit} and about {needed} are needed: {raise}")]
pub struct LimitTooLow {
    /// The limit, as the system's manuals name it.
    pub name: String,
    /// The number that it has here, in whatever it counts: mappings, threads or descriptors.
    pub limit: u64,
    /// What it must be, with what is in use now.
    pub needed: u64,
    /// The command or file that raises it, with the number, and what to do otherwise.
    pub raise: String,
}

/// The system started no thread.
#[derive(Debug, Error)]
#[error(
    "no thread could be started: {0}; raise what limits them (ulimit -u, kernel.threads-max, kernel.pid_max, pids.max of \
     the control group), or give this process more memory (ulimit -v)"
)]
pub struct ThreadRefused(#[from] io::Error);

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Mappings,
    Tasks,
    Descriptors,
}

/// One limit, and how much of it is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Limit {
    name: String,
    counts: Kind,
    limit: u64,
    used: u64,
    /// What raises it, up to the number.
    raise: &'static str,
}

/// The limits of this process, its user and this machine, and what is in use of them. One that cannot be read does not
/// limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits(Vec<Limit>);

impl Limits {
    /// As they are now.
    pub fn now() -> Self {
        let machine = [mappings(), threads_max(), pid_max(), of_user(), descriptors()];
        Self(machine.into_iter().flatten().chain(control_groups()).collect())
    }

    /// Whether there is room for what is wanted.
    ///
    /// # Errors
    /// The first limit that is too low.
    pub fn check(&self, wanted: Wanted) -> Result<(), LimitTooLow> {
        for Limit { name, counts, limit, used, raise } in &self.0 {
            let more = match counts {
                Kind::Mappings => wanted.threads.saturating_mul(MAPS_PER_THREAD),
                Kind::Tasks => wanted.threads.saturating_add(wanted.of_others),
                Kind::Descriptors => wanted.descriptors,
            };
            let needed = used.saturating_add(more).saturating_add(MARGIN);
            // A system that is full already is not for this to judge: a few more may fit, and the kernel says so.
            if more > MARGIN && needed > *limit {
                let raise = format!("{raise}{needed}, or ask for fewer threads");
                return Err(LimitTooLow { name: name.clone(), limit: *limit, needed, raise });
            }
        }
        Ok(())
    }
}

fn mappings() -> Option<Limit> {
    let used = proc_text("/proc/self/maps").ok()?.lines().count() as u64;
    sysctl("vm.max_map_count", Kind::Mappings, used, "sudo sysctl -w vm.max_map_count=")
}

fn threads_max() -> Option<Limit> {
    sysctl("kernel.threads-max", Kind::Tasks, tasks_here()?, "sudo sysctl -w kernel.threads-max=")
}

fn pid_max() -> Option<Limit> {
    let used = tasks_here()? + RESERVED_PIDS;
    sysctl("kernel.pid_max", Kind::Tasks, used, "sudo sysctl -w kernel.pid_max=")
}

fn sysctl(name: &str, counts: Kind, used: u64, raise: &'static str) -> Option<Limit> {
    let limit = number(&Path::new("/proc/sys").join(name.replace('.', "/")))?;
    Some(Limit { name: name.to_owned(), counts, limit, used, raise })
}

/// Threads and processes of the machine: `running/all` in /proc/loadavg.
fn tasks_here() -> Option<u64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

fn of_user() -> Option<Limit> {
    let limit = getrlimit(Resource::Nproc).current?;
    if is_exempt() {
        return None;
    }
    let me = getuid().as_raw();
    let mine = all_processes().ok()?.flatten().filter(|process| process.uid().is_ok_and(|uid| uid == me));
    let used = mine.filter_map(|process| process.stat().ok()).map(|stat| stat.num_threads.unsigned_abs()).sum();
    let name = "RLIMIT_NPROC (threads and processes of this user)".to_owned();
    Some(Limit { name, counts: Kind::Tasks, limit, used, raise: "ulimit -u " })
}

/// Whether the kernel lets this process pass the limit of its user: it may raise limits, and not in a user namespace.
fn is_exempt() -> bool {
    const SYS_ADMIN: u64 = 1 << 21;
    const SYS_RESOURCE: u64 = 1 << 24;
    let capable = parse::<Status>("/proc/self/status").map(|status| status.capeff);
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let everyone = map.split_whitespace().eq(["0", "0", "4294967295"]);
    everyone && capable.is_ok_and(|capable| capable & (SYS_ADMIN | SYS_RESOURCE) != 0)
}

fn descriptors() -> Option<Limit> {
    let limit = getrlimit(Resource::Nofile).current?;
    let used = fs::read_dir("/proc/self/fd").ok()?.count() as u64;
    let name = "RLIMIT_NOFILE (open files and sockets)".to_owned();
    Some(Limit { name, counts: Kind::Descriptors, limit, used, raise: "ulimit -n " })
}

/// The control groups that this process is in, each with a limit of its own.
fn control_groups() -> Vec<Limit> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    text.lines().filter_map(folder_of_group).flat_map(|(top, folder)| above(&top, &folder)).collect()
}

/// Where the hierarchy of a line of /proc/self/cgroup is mounted, and the folder of its group.
fn folder_of_group(line: &str) -> Option<(PathBuf, PathBuf)> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    let top = Path::new("/sys/fs/cgroup");
    let top = match controllers {
        "" => top.to_owned(),
        all if all.split(',').any(|controller| controller == "pids") => top.join("pids"),
        _ => return None,
    };
    let folder = top.join(path.trim_start_matches('/'));
    Some((top, folder))
}

fn above(top: &Path, folder: &Path) -> Vec<Limit> {
    let groups = folder.ancestors().take_while(|group| group.starts_with(top));
    let limited = groups.filter_map(|group| {
        let (limit, used) = (number(&group.join("pids.max"))?, number(&group.join("pids.current"))?);
        let name = format!("pids.max of the control group {}", group.display());
        Some(Limit { name, counts: Kind::Tasks, limit, used, raise: "TasksMax= of its unit, or that file: " })
    });
    limited.collect()
}

/// A file that holds a number; none for `max` too.
fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, counts: Kind, limit: u64) -> Limits {
        Limits(vec![Limit { name: name.to_owned(), counts, limit, used: 50, raise: "raise it to " }])
    }

    #[test]
    fn a_limit_that_is_too_low_is_named_with_what_it_must_be() {
        let wanted = Wanted { threads: 20_000, of_others: 20_000, descriptors: 20_000 };
        for (counts, needed) in [(Kind::Mappings, 80_150), (Kind::Tasks, 40_150), (Kind::Descriptors, 20_150)] {
            let error = of("vm.some", counts, needed - 1).check(wanted).unwrap_err();
            assert_eq!((error.limit, error.needed), (needed - 1, needed));
            let text = error.to_string();
            assert!(text.contains("vm.some") && text.contains(&format!("raise it to {needed}")), "{text}");
            assert_eq!(of("vm.some", counts, needed).check(wanted), Ok(()));
        }
        assert_eq!(of("vm.some", Kind::Tasks, 10).check(Wanted { threads: 1, ..Wanted::default() }), Ok(()));
    }

    #[test]
    fn the_limits_of_this_system_are_found() {
        let now = Limits::now();
        for name in ["vm.max_map_count", "kernel.threads-max", "kernel.pid_max"] {
            let limit = now.0.iter().find(|limit| limit.name == name).unwrap();
            assert!(limit.used > 0 && limit.used < limit.limit, "{limit:?}");
        }
        assert_eq!(now.check(Wanted { threads: 1, of_others: 1, descriptors: 1 }), Ok(()));
        assert!(now.check(Wanted { threads: u64::MAX, ..Wanted::default() }).is_err());
    }

    #[test]
    fn groups_of_both_versions_are_found_with_those_above() {
        let folder = |line| folder_of_group(line).map(|(_, folder)| folder.display().to_string());
        assert_eq!(folder("0::/a/b").as_deref(), Some("/sys/fs/cgroup/a/b"));
        assert_eq!(folder("8:pids:/").as_deref(), Some("/sys/fs/cgroup/pids/"));
        assert_eq!(folder("8:pids:/a").as_deref(), Some("/sys/fs/cgroup/pids/a"));
        assert_eq!((folder("5:cpu,cpuacct:/a"), folder("nothing")), (None, None));
    }
}
