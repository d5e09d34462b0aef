//! A control group for a server and all processes that it starts: they stay in it even if they fork or create a new
//! session. It uses no controllers, so scheduling, accounting and limits do not change.

use rustix::fs::{Access, AtFlags, CWD};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tare_cpuset::observe::proc_text;
use tare_files::crash;

/// Environment variable; `off` disables control groups for servers.
pub(crate) const SWITCH: &str = "TARE_CGROUP";
/// Prefix of the names of all these groups, so that processes of no other group are ever killed.
pub(crate) const PREFIX: &str = "tare-server-";
/// Hierarchies of version 1 that only group processes, or nearly so.
const HARMLESS: [&str; 3] = ["freezer", "pids", "name=systemd"];
/// What stops the processes of a group of version 1 from forking: in the freezer they stop, with `pids` forks fail.
const STILL: [(&str, &str); 2] = [("freezer.state", "FROZEN"), ("pids.max", "0")];
/// How long to wait until all processes are frozen.
const FREEZES: Duration = Duration::from_millis(500);
/// How long to wait for the end of its last process.
const GONE: Duration = Duration::from_secs(5);
/// Most groups below one that are looked at.
const MOST_BELOW: usize = 1_000;

/// A control group, identified by its folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlGroup(pub(crate) PathBuf);

impl ControlGroup {
    /// The path of a new group below this process's own group; `name` must be unique. `None` if this process may not
    /// create groups (as ordinary users outside a delegated group), or if, in version 2, controllers are enabled for
    /// groups below its own.
    pub fn planned(name: &str) -> Option<Self> {
        if std::env::var_os(SWITCH).is_some_and(|value| value == "off") {
            return None;
        }
        let mounts = proc_text("/proc/self/mountinfo").ok()?;
        let own = proc_text("/proc/self/cgroup").ok()?;
        let here = places(&mounts, &own).into_iter().find(|place| is_open(place))?;
        Some(Self(here.join(format!("{PREFIX}{name}"))))
    }

    /// Creates the group, and returns the file through which a process enters it, by writing `0` itself.
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn make(&self) -> io::Result<File> {
        crash::point("server group: before it is made");
        fs::create_dir(&self.0)?;
        crash::point("server group: made");
        // Pressure accounting is not needed and costs a little per context switch. Linux before 6.1 cannot disable it.
        let _ = fs::write(self.0.join("cgroup.pressure"), "0");
        OpenOptions::new().write(true).open(self.0.join("cgroup.procs"))
    }

    /// The processes that are in it now, or in a group below it; callers end them.
    pub fn processes(&self) -> Vec<i32> {
        let folders = if self.is_ours() { self.folders() } else { Vec::new() };
        let texts = folders.into_iter().map(|folder| fs::read_to_string(folder.join("cgroup.procs")));
        let pids =
            texts.flatten().flat_map(|text| text.lines().filter_map(|line| line.parse().ok()).collect::<Vec<i32>>());
        pids.filter(|pid| *pid > 0).collect()
    }

    /// Its folder, and those of the groups below it, which a server may make if this user may; the outer ones first.
    fn folders(&self) -> Vec<PathBuf> {
        let (mut found, mut next) = (vec![self.0.clone()], 0);
        while let Some(folder) = found.get(next) {
            let all = fs::read_dir(folder).into_iter().flatten().flatten();
            let below = all.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path());
            let below: Vec<PathBuf> = below.take(MOST_BELOW.saturating_sub(found.len())).collect();
            found.extend(below);
            next += 1;
        }
        found
    }

    /// Kills all processes in it, including those that are being forked, and waits for their end (at most 5 s).
    pub fn kill(&self) {
        if !self.is_ours() {
            return;
        }
        let deadline = Instant::now() + GONE;
        // All at once since Linux 5.14. Otherwise one by one until none is left, while none can fork, if possible.
        let at_once = fs::write(self.0.join("cgroup.kill"), "1").is_ok();
        loop {
            let left = self.processes();
            if left.is_empty() || Instant::now() >= deadline {
                return;
            }
            // If no signal may be sent, waiting is useless.
            if !at_once && !self.kill_each() {
                return;
            }
            sleep(Duration::from_millis(2));
        }
    }

    /// Kills the processes that are in it now; returns whether any of them may be signalled.
    fn kill_each(&self) -> bool {
        let deadline = Instant::now() + FREEZES;
        let still = STILL.into_iter().find(|(file, state)| fs::write(self.0.join(file), state).is_ok());
        while let Some((file, state)) = still
            && fs::read_to_string(self.0.join(file)).is_ok_and(|now| now.trim() != state)
            && Instant::now() < deadline
        {
            sleep(Duration::from_millis(1));
        }
        let mut may_end = false;
        for pid in self.processes().into_iter().filter_map(Pid::from_raw) {
            // A process that has already ended is no problem.
            may_end |= kill_process(pid, Signal::KILL) != Err(Errno::PERM);
        }
        // A frozen process ends when it continues. The file is missing in other hierarchies.
        for folder in self.folders() {
            let _ = fs::write(folder.join(STILL[0].0), "THAWED");
        }
        may_end
    }

    /// Removes the empty group, and those below it.
    pub fn remove(&self) {
        let removed = || {
            // The group itself comes last, and counts.
            let mut own = Ok(());
            for folder in self.folders().iter().rev() {
                own = fs::remove_dir(folder);
            }
            own
        };
        let deadline = Instant::now() + GONE;
        crash::point("server group: before its removal");
        // The kernel releases a group a moment after the end of its last process. A missing group is not an error.
        while self.is_ours()
            && removed().is_err_and(|error| error.kind() == ErrorKind::ResourceBusy)
            && self.processes().is_empty()
            && Instant::now() < deadline
        {
            sleep(Duration::from_millis(2));
        }
        crash::point("server group: removed");
    }

    /// Whether the path is that of such a group. It may have been read from a file, and is not trusted.
    fn is_ours(&self) -> bool {
        let named = self.0.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
        named && self.0.starts_with("/sys/fs/cgroup") && !self.0.components().any(|part| part.as_os_str() == "..")
    }
}

/// The folders of the usable groups that this process is in, best first: version 2, then version 1.
fn places(mounts: &str, own: &str) -> Vec<PathBuf> {
    let ranked = |hierarchy: &Hierarchy<'_>| match hierarchy.version {
        2 => Some((0, hierarchy.own_group(own, "")?)),
        _ => {
            let rank = HARMLESS.iter().position(|name| hierarchy.controllers.contains(name))?;
            Some((rank + 1, hierarchy.own_group(own, HARMLESS[rank])?))
        }
    };
    let mut found: Vec<(usize, PathBuf)> = hierarchies(mounts).iter().filter_map(ranked).collect();
    found.sort();
    found.into_iter().map(|(_, place)| place).collect()
}

/// A mounted hierarchy of control groups, or a mounted part of one.
pub(crate) struct Hierarchy<'a> {
    /// The version of control groups: 1 or 2.
    pub version: u8,
    /// The options of the mount, which include the controllers in version 1.
    pub controllers: Vec<&'a str>,
    /// Where it is mounted.
    pub at: &'a Path,
    /// The group of the hierarchy that is mounted there.
    root: &'a str,
}

/// The hierarchies in the text of /proc/self/mountinfo, in its order.
pub(crate) fn hierarchies(mounts: &str) -> Vec<Hierarchy<'_>> {
    // "36 31 0:33 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer"
    let hierarchy = |line| {
        let (place, what): (&str, &str) = str::split_once(line, " - ")?;
        let (mut place, mut what) = (place.split(' ').skip(3), what.split(' '));
        let (root, at) = (place.next()?, Path::new(place.next()?));
        let version = match what.next()? {
            "cgroup" => 1,
            "cgroup2" => 2,
            _ => return None,
        };
        let controllers = what.nth(1).map(|options| options.split(',').collect()).unwrap_or_default();
        Some(Hierarchy { version, controllers, at, root })
    };
    mounts.lines().filter_map(hierarchy).collect()
}

impl Hierarchy<'_> {
    /// The folder of the group of a process, whose /proc/PID/cgroup is `own`, from the line with this controller (empty
    /// in version 2). `None` if the group is not in the mounted part.
    pub(crate) fn own_group(&self, own: &str, controller: &str) -> Option<PathBuf> {
        let named = |line: &str| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            controllers.split(',').any(|name| name == controller).then(|| path.to_owned())
        };
        let path = own.lines().find_map(named)?;
        let below = Path::new(&path).strip_prefix(self.root).ok()?;
        if below.components().any(|part| part == Component::ParentDir) {
            return None;
        }
        Some(if below == Path::new("") { self.at.to_owned() } else { self.at.join(below) })
    }
}

/// Whether this process may create a group there and move processes into it, and no controllers are enabled for it.
fn is_open(place: &Path) -> bool {
    let may = |path: &Path| rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok();
    let controllers = fs::read_to_string(place.join("cgroup.subtree_control")).unwrap_or_default();
    may(place) && may(&place.join("cgroup.procs")) && controllers.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::Command;

    const MOUNTS: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
        34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
        37 31 0:34 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    fn at(mounts: &str, own: &str) -> Vec<String> {
        places(mounts, own).iter().map(|place| place.display().to_string()).collect()
    }

    #[test]
    fn a_group_is_made_in_version_2_before_version_1_and_never_where_it_would_bind() {
        let own = "6:freezer:/a\n3:cpuset:/\n0::/user.slice/x.scope\n";
        assert_eq!(at(MOUNTS, own), ["/sys/fs/cgroup/unified/user.slice/x.scope", "/sys/fs/cgroup/freezer/a"]);
        assert_eq!(at(MOUNTS, "3:cpuset:/\n"), Vec::<String>::new());
        let part = "41 31 0:38 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
        assert_eq!(at(part, "0::/docker/1/app\n"), ["/sys/fs/cgroup/app"]);
        assert_eq!(at(part, "0::/elsewhere\n"), Vec::<String>::new());
        assert_eq!(at(part, "0::/docker/12/app\n"), Vec::<String>::new());
        assert_eq!(at(part, "0::/docker/1\n"), ["/sys/fs/cgroup"]);
        assert_eq!(at(part, "0::/docker/1/a..b\n"), ["/sys/fs/cgroup/a..b"]);
        assert_eq!(at(part, "0::/docker/1/../2\n"), Vec::<String>::new());
    }

    #[test]
    fn only_groups_of_this_kind_are_ever_emptied() {
        for path in ["/sys/fs/cgroup/system.slice", "/tmp/tare-server-1", "/sys/fs/cgroup/../tare-server-1"] {
            assert!(!ControlGroup(path.into()).is_ours(), "{path}");
        }
        assert!(ControlGroup("/sys/fs/cgroup/unified/tare-server-1".into()).is_ours());
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cgroup.procs"), format!("{}\n", std::process::id())).unwrap();
        assert_eq!(ControlGroup(folder.path().to_owned()).processes(), Vec::<i32>::new());
    }

    #[test]
    fn every_process_in_a_control_group_ends_with_it() {
        let read = |file: &str| fs::read_to_string(file).unwrap();
        let all = places(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"));
        // Every usable hierarchy of this machine, of both versions.
        for place in all.into_iter().filter(|place| is_open(place)) {
            println!("{}", place.display());
            let group = ControlGroup(place.join(format!("{PREFIX}test-{}", std::process::id())));
            let mut entry = group.make().unwrap();
            // Two helpers, and ten chains of processes that start the next one and end, until the file is removed.
            let (folder, goes_on) = (tempfile::tempdir().unwrap(), "on");
            fs::write(folder.path().join(goes_on), "").unwrap();
            let script = "read go; setsid sh -c 'setsid sleep 600 & setsid sleep 600 & exit'
                for chain in 1 2 3 4 5 6 7 8 9 10; do setsid sh -c \"$CHAIN\" & done; exit 0";
            let mut shell = Command::new("sh")
                .args(["-c", script])
                .env("CHAIN", "[ ! -e on ] || setsid sh -c \"$CHAIN\" &")
                .current_dir(folder.path())
                .stdin(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            entry.write_all(shell.id().to_string().as_bytes()).unwrap();
            drop(shell.stdin.take());
            shell.wait().unwrap();
            // A helper in a group of its own below, where it is frozen, if it can be.
            let below = group.0.join("below");
            fs::create_dir(&below).unwrap();
            let mut helper = Command::new("sleep").arg("600").spawn().unwrap();
            fs::write(below.join("cgroup.procs"), helper.id().to_string()).unwrap();
            let _ = fs::write(below.join(STILL[0].0), STILL[0].1);
            let _ = fs::write(below.join("cgroup.freeze"), "1");
            let deadline = Instant::now() + Duration::from_secs(10);
            while group.processes().len() < 13 {
                assert!(Instant::now() < deadline, "{:?}", group.processes());
                sleep(Duration::from_millis(5));
            }
            let reaped = std::thread::spawn(move || helper.wait());
            group.kill();
            assert_eq!(group.processes(), Vec::<i32>::new());
            assert!(!reaped.join().unwrap().unwrap().success());
            group.remove();
            assert!(!group.0.exists());
        }
    }
}
