//! Checks whether the limits of this process, its user and this machine allow the wanted number of threads. This is
//! checked before the first one is started: otherwise the kernel refuses one when some already run, and a thread that
//! gets no memory for its signal stack aborts the process.

use crate::observe::{parse, proc_text};
use procfs::process::{Status, all_processes};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit, getuid};
use std::error::Error;
use std::iter::successors;
use std::path::{Path, PathBuf};
use std::{fs, io};
use thiserror::Error as ThisError;

/// Memory mappings per thread: its stack and its signal stack, each with a guard page.
const MAPS_PER_THREAD: u64 = 4;
/// Reserve for mappings, files and threads that are added for other reasons meanwhile, if more than this are wanted.
const MARGIN: u64 = 100;
/// PIDs that the kernel does not reuse once its numbering has wrapped around (`RESERVED_PIDS`).
const RESERVED_PIDS: u64 = 300;

/// The threads and descriptors that are about to be created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Threads of this process.
    pub threads: u64,
    /// Threads and processes that other programs create along with them, for example a server's one per connection.
    pub of_others: u64,
    /// Files and sockets that this process opens.
    pub descriptors: u64,
}

/// A limit that is lower than what is needed.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
#[error("{name} is {limit} and about {needed} are needed: {raise}")]
pub struct LimitTooLow {
    /// Its name in the system's manuals.
    pub name: String,
    /// Its current value: a number of mappings, threads or descriptors.
    pub limit: u64,
    /// The value it must have, including what is in use now.
    pub needed: u64,
    /// The command or file that raises it, with the number, and an alternative.
    pub raise: String,
}

/// What may limit threads and processes.
const OF_TASKS: &str = "raise what limits threads and processes (ulimit -u, kernel.threads-max, kernel.pid_max, \
                        pids.max of the control group), or give this process more memory (ulimit -v)";

/// The system refused to start a thread.
#[derive(Debug, ThisError)]
#[error("no thread could be started: {0}; {OF_TASKS}")]
pub struct ThreadRefused(#[from] io::Error);

/// What to raise if `error`, or a cause of it, is a limit that was reached or a file, socket, thread or process that
/// the system refused because of one. A socket's time-out has the number of a refused thread: it must not be a cause.
pub fn to_raise(error: &(dyn Error + 'static)) -> Option<String> {
    let refused = |error: &io::Error| match Errno::from_io_error(error)? {
        Errno::MFILE => to_raise_for_files(),
        // Without a limit of this process, it is the file system's.
        Errno::FBIG => to_raise_for_length(u64::MAX),
        Errno::NFILE => Some("raise fs.file-max (sudo sysctl -w fs.file-max=NUMBER)".to_owned()),
        Errno::AGAIN => {
            let wanted = Wanted { of_others: 1, ..Wanted::default() };
            Some(Limits::now().check(wanted).map_or_else(|limit| limit.to_string(), |()| to_raise_for_tasks()))
        }
        _ => None,
    };
    successors(Some(error), |&cause| cause.source()).find_map(|this| match this.downcast_ref::<LimitTooLow>() {
        Some(limit) => Some(limit.raise.clone()),
        None => this.downcast_ref().and_then(refused),
    })
}

/// What to raise if a thread or a process was refused to this program, or to one that it started. Those that the other
/// had may have ended since: the limit with the least left is named.
pub fn to_raise_for_tasks() -> String {
    let limits = Limits::now().0;
    let of_tasks = limits.iter().filter(|limit| limit.counts == Kind::Tasks);
    let least = of_tasks.min_by_key(|limit| limit.limit.saturating_sub(limit.used));
    least.map_or(OF_TASKS.to_owned(), |Limit { name, limit, used, .. }| {
        format!("{OF_TASKS}; least is left of {name}: {used} of {limit} are in use now")
    })
}

/// What to raise if a file or a socket was refused to this program, or to one that it started. Does not read /proc, for
/// which there may be no descriptor.
pub fn to_raise_for_files() -> Option<String> {
    open_files(0).as_ref().map(Limit::twice)
}

/// What to raise if this program, and whatever it started, may open fewer files than is usual, or write shorter ones
/// than a server's: the many ways in which a server fails for lack of them do not all name the cause.
pub fn to_raise_for_low_limits() -> Option<String> {
    let few = open_files(0).filter(|files| files.limit < USUAL_FILES);
    few.as_ref().map(Limit::twice).or_else(|| to_raise_for_length(LONG_FILE))
}

/// What to raise if files may not become as long as this.
fn to_raise_for_length(needed: u64) -> Option<String> {
    let limit = getrlimit(Resource::Fsize).current.filter(|limit| *limit < needed)?;
    Some(format!("RLIMIT_FSIZE (length of a file) is {limit} bytes: ulimit -f unlimited"))
}

/// No file of a server is this long in its start, bytes.
const LONG_FILE: u64 = 1 << 30;
/// The limit of open files with which Linux starts processes (`INR_OPEN_CUR` in its `include/uapi/linux/fs.h`).
const USUAL_FILES: u64 = 1024;

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
    /// The command or file that raises it, without the number at its end.
    raise: &'static str,
}

impl Limit {
    /// Advice for a limit that was reached while the number that is needed is unknown.
    fn twice(&self) -> String {
        format!("{} is {}: {}{}", self.name, self.limit, self.raise, self.limit.saturating_mul(2).max(USUAL_FILES))
    }
}

/// The limits of this process, its user and this machine, with the usage of each. A limit that cannot be read is
/// ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits(Vec<Limit>);

impl Limits {
    /// Reads the present limits and usage.
    pub fn now() -> Self {
        let machine = [mappings(), threads_max(), pid_max(), of_user(), descriptors()];
        Self(machine.into_iter().flatten().chain(control_groups()).collect())
    }

    /// Checks that the limits allow what is wanted.
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
            let reserve = if more > MARGIN { MARGIN } else { 0 };
            let needed = used.saturating_add(more).saturating_add(reserve);
            if more > 0 && needed > *limit {
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

/// Threads and processes of the machine: the second number of `running/all` in /proc/loadavg.
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

/// Whether the kernel does not apply RLIMIT_NPROC to this process: it has CAP_SYS_ADMIN or CAP_SYS_RESOURCE and is not
/// in a user namespace.
fn is_exempt() -> bool {
    const SYS_ADMIN: u64 = 1 << 21;
    const SYS_RESOURCE: u64 = 1 << 24;
    let capable = parse::<Status>("/proc/self/status").map(|status| status.capeff);
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let everyone = map.split_whitespace().eq(["0", "0", "4294967295"]);
    everyone && capable.is_ok_and(|capable| capable & (SYS_ADMIN | SYS_RESOURCE) != 0)
}

fn descriptors() -> Option<Limit> {
    open_files(fs::read_dir("/proc/self/fd").ok()?.count() as u64)
}

fn open_files(used: u64) -> Option<Limit> {
    let limit = getrlimit(Resource::Nofile).current?;
    let name = "RLIMIT_NOFILE (open files and sockets)".to_owned();
    Some(Limit { name, counts: Kind::Descriptors, limit, used, raise: "ulimit -n " })
}

/// The limits of the control group that this process is in and of all groups above it.
fn control_groups() -> Vec<Limit> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    text.lines().filter_map(folder_of_group).flat_map(|(top, folder)| above(&top, &folder)).collect()
}

/// For a line of /proc/self/cgroup: the mount point of the hierarchy, and the folder of the group.
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
        Some(Limit {
            name,
            counts: Kind::Tasks,
            limit,
            used,
            raise: "TasksMax= of its unit, --pids-limit of its container, or that file: ",
        })
    });
    limited.collect()
}

/// The number in a file; `None` also for `max`.
fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Rlimit, setrlimit};

    fn of(name: &str, counts: Kind, limit: u64) -> Limits {
        Limits(vec![Limit { name: name.to_owned(), counts, limit, used: 50, raise: "raise it to " }])
    }

    #[test]
    fn a_limit_that_is_too_low_is_reported_with_the_needed_value() {
        let wanted = Wanted { threads: 20_000, of_others: 20_000, descriptors: 20_000 };
        for (counts, needed) in [(Kind::Mappings, 80_150), (Kind::Tasks, 40_150), (Kind::Descriptors, 20_150)] {
            let error = of("vm.some", counts, needed - 1).check(wanted).unwrap_err();
            assert_eq!((error.limit, error.needed), (needed - 1, needed));
            let text = error.to_string();
            assert!(text.contains("vm.some") && text.contains(&format!("raise it to {needed}")), "{text}");
            assert_eq!(of("vm.some", counts, needed).check(wanted), Ok(()));
        }
        let few = Wanted { threads: 3, ..Wanted::default() };
        assert!(of("vm.some", Kind::Tasks, 52).check(few).is_err());
        assert_eq!(of("vm.some", Kind::Tasks, 53).check(few), Ok(()));
        assert_eq!(of("vm.some", Kind::Tasks, 10).check(Wanted::default()), Ok(()));
    }

    #[test]
    fn a_refused_file_or_thread_has_the_limit_to_raise() {
        let refused = |errno: Errno| to_raise(&io::Error::other(ThreadRefused::from(io::Error::from(errno))));
        for (errno, words) in
            [(Errno::MFILE, ["RLIMIT_NOFILE", "ulimit -n "]), (Errno::NFILE, ["fs.file-max", "sudo sysctl -w "])]
        {
            let raise = refused(errno).unwrap();
            assert!(words.iter().all(|words| raise.contains(words)), "{raise}");
        }
        let raise = refused(Errno::AGAIN).unwrap();
        assert!(raise.contains("least is left of ") || raise.contains("are needed"), "{raise}");
        let too_low = of("vm.some", Kind::Tasks, 1).check(Wanted { threads: 1, ..Wanted::default() }).unwrap_err();
        assert_eq!(to_raise(&too_low), Some(too_low.raise.clone()));
        assert_eq!((refused(Errno::NOENT), refused(Errno::NOSPC)), (None, None));
        assert_eq!(refused(Errno::FBIG), None);
        let limit = Rlimit { current: Some(1 << 40), ..getrlimit(Resource::Fsize) };
        setrlimit(Resource::Fsize, limit).unwrap();
        assert!(refused(Errno::FBIG).unwrap().contains("1099511627776 bytes: ulimit -f unlimited"));
    }

    #[test]
    fn a_limit_of_open_files_or_of_their_length_is_named_if_it_is_low() {
        let raise = |what: Resource, limit: u64| {
            setrlimit(what, Rlimit { current: Some(limit), ..getrlimit(what) }).unwrap();
            to_raise_for_low_limits()
        };
        assert_eq!(raise(Resource::Nofile, USUAL_FILES), None);
        assert_eq!(raise(Resource::Fsize, LONG_FILE), None);
        let length = "RLIMIT_FSIZE (length of a file) is 1048576 bytes: ulimit -f unlimited";
        assert_eq!(raise(Resource::Fsize, 1 << 20).unwrap(), length);
        let files = "RLIMIT_NOFILE (open files and sockets) is 100: ulimit -n 1024";
        assert_eq!(raise(Resource::Nofile, 100).unwrap(), files);
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
    fn the_folder_of_a_control_group_is_found_in_both_versions() {
        let folder = |line| folder_of_group(line).map(|(_, folder)| folder.display().to_string());
        assert_eq!(folder("0::/a/b").as_deref(), Some("/sys/fs/cgroup/a/b"));
        assert_eq!(folder("8:pids:/").as_deref(), Some("/sys/fs/cgroup/pids/"));
        assert_eq!(folder("8:pids:/a").as_deref(), Some("/sys/fs/cgroup/pids/a"));
        assert_eq!((folder("5:cpu,cpuacct:/a"), folder("nothing")), (None, None));
    }
}
