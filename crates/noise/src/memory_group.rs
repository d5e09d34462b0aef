//! A control group that limits the memory of a server to some nodes or to a number of bytes. A process can replace its
//! memory policy, as InnoDB does for its buffer pool, but no policy can use nodes that the cpuset of its group does not
//! allow. A limit in bytes includes the page cache of files that the server reads and writes.

use crate::control_group::{ControlGroup, Hierarchy, PREFIX, SWITCH, hierarchies};
use rustix::fs::{Access, AtFlags, CWD};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tare_cpuset::NodeSet;
use tare_cpuset::observe::proc_text;

/// The file in version 2 that enables controllers for the groups below.
const CONTROL: &str = "cgroup.subtree_control";
/// The controllers that limit memory.
const CPUSET: &str = "cpuset";
const MEMORY: &str = "memory";
/// The files of the memory limit and the swap limit, by version of the hierarchy.
const LIMIT_FILES_1: [&str; 2] = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"];
const LIMIT_FILES_2: [&str; 2] = ["memory.max", "memory.swap.max"];
/// The files that count processes killed for lack of memory: of version 1 and of version 2.
const COUNTERS: [&str; 2] = ["memory.oom_control", "memory.events"];

/// The limits of a server's memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryConfines {
    /// The only nodes on which it is allocated; `None` for all.
    pub nodes: Option<NodeSet>,
    /// The most it may use, bytes, without swap; `None` for no limit.
    pub limit_bytes: Option<u64>,
}

impl MemoryConfines {
    /// The controllers that these limits need.
    fn controllers(&self) -> Vec<&'static str> {
        let nodes = self.nodes.as_ref().map(|_| CPUSET);
        nodes.into_iter().chain(self.limit_bytes.map(|_| MEMORY)).collect()
    }

    fn of(&self, controller: &str) -> Self {
        Self {
            nodes: self.nodes.clone().filter(|_| controller == CPUSET),
            limit_bytes: self.limit_bytes.filter(|_| controller == MEMORY),
        }
    }
}

/// A group with memory limits. CPUs are not limited: it has every CPU of the group above it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryGroup {
    group: ControlGroup,
    confines: MemoryConfines,
    version: u8,
}

/// A place where such groups can be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryGroups {
    above: PathBuf,
    version: u8,
    /// Controllers that must be enabled first.
    off: Vec<&'static str>,
}

impl MemoryGroups {
    /// The places on this machine: one, or one per controller if no hierarchy has all of them.
    ///
    /// # Errors
    /// The reason why this user cannot create such groups, as text.
    pub fn here(confines: &MemoryConfines) -> Result<Vec<Self>, String> {
        let controllers = confines.controllers();
        match Self::with(&controllers) {
            Err(_) if controllers.len() > 1 => controllers.iter().map(|one| Self::with(&[*one])).collect(),
            found => Ok(vec![found?]),
        }
    }

    /// A place with all of these controllers.
    fn with(controllers: &[&'static str]) -> Result<Self, String> {
        if std::env::var_os(SWITCH).is_some_and(|value| value == "off") {
            return Err(format!("{SWITCH}=off forbids control groups"));
        }
        let read = |path| proc_text(path).unwrap_or_default();
        let found = candidates(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"), controllers);
        let mut why =
            format!("no control group hierarchy of this machine has the controller {}", tare_text::list(controllers));
        for (version, above) in found {
            match Self::at(version, above, controllers) {
                Ok(groups) => return Ok(groups),
                Err(reason) => why = reason,
            }
        }
        Err(why)
    }

    fn at(version: u8, above: PathBuf, controllers: &[&'static str]) -> Result<Self, String> {
        let may = |path: &Path| rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS);
        let shown = above.display();
        match may(&above).and_then(|()| may(&above.join("cgroup.procs"))) {
            Ok(()) => {}
            Err(Errno::ROFS) => return Err(format!("{shown} is mounted read-only here, as in most containers")),
            Err(_) => return Err(format!("this user may not create a group in {shown}")),
        }
        if version == 1 {
            return Ok(Self { above, version, off: Vec::new() });
        }
        let missing = |file: &str| -> Vec<&'static str> {
            let has = fs::read_to_string(above.join(file)).unwrap_or_default();
            controllers.iter().copied().filter(|name| has.split_whitespace().all(|word| word != *name)).collect()
        };
        if let [missing, ..] = missing("cgroup.controllers").as_slice() {
            return Err(format!("{shown} has no {missing} controller"));
        }
        let off = missing(CONTROL);
        // Only the root group may have processes and also enable controllers for the groups below.
        if let [first, ..] = off.as_slice()
            && above.join("cgroup.type").exists()
        {
            return Err(format!("{shown} does not delegate the {first} controller"));
        }
        Ok(Self { above, version, off })
    }

    /// The file in which controllers must be enabled first, and these controllers.
    pub fn to_switch_on(&self) -> Option<(PathBuf, &[&'static str])> {
        (!self.off.is_empty()).then(|| (self.above.join(CONTROL), self.off.as_slice()))
    }
}

impl MemoryGroup {
    /// Groups to be created: one, or one per controller if no hierarchy has all of them; `name` must be unique.
    ///
    /// # Errors
    /// The reason why this user cannot create such groups, as text.
    pub fn planned(name: &str, confines: &MemoryConfines) -> Result<Vec<Self>, String> {
        let places = MemoryGroups::here(confines)?;
        let parts = match places.len() {
            1 => vec![confines.clone()],
            _ => confines.controllers().into_iter().map(|one| confines.of(one)).collect(),
        };
        let of = |(MemoryGroups { above, version, .. }, confines)| Self {
            group: ControlGroup(above.join(format!("{PREFIX}{name}"))),
            confines,
            version,
        };
        Ok(places.into_iter().zip(parts).map(of).collect())
    }

    /// The group itself, to list and kill the processes in it.
    pub fn group(&self) -> &ControlGroup {
        &self.group
    }

    /// Whether a process in it cannot be in another group of this program at the same time (version 2).
    pub fn holds_alone(&self) -> bool {
        self.version == 2
    }

    /// That the kernel killed a process in it because its limit was reached, and what to do; none if it did not.
    pub fn lack_of_memory(&self) -> Option<String> {
        let bytes = self.confines.limit_bytes?;
        kills(&self.group.0).filter(|killed| *killed > 0)?;
        Some(format!(
            "the kernel killed a process of the server for lack of memory: process.memory_limit_bytes is {bytes}; raise \
             it, or lower what the server needs"
        ))
    }

    /// Creates the group, and returns the file through which a process enters it, by writing `0` itself. Entering
    /// resets the CPU affinity of the process to every CPU and maps the nodes of its memory policy to those of the
    /// group: a policy over all nodes becomes one over these nodes.
    ///
    /// # Errors
    /// The kernel's reason. The group is then removed.
    pub fn make(&self) -> io::Result<File> {
        let entry = self.group.make()?;
        let set = || -> io::Result<()> {
            let at = |file: &str| self.group.0.join(file);
            if let Some(nodes) = &self.confines.nodes {
                if self.version == 1 {
                    // A new group has no CPUs, and no process can enter it until it has some.
                    let above = self.group.0.parent().unwrap_or(&self.group.0);
                    let cpus = fs::read_to_string(above.join("cpuset.effective_cpus"))
                        .or_else(|_| fs::read_to_string(above.join("cpuset.cpus")))?;
                    fs::write(at("cpuset.cpus"), cpus.trim())?;
                }
                fs::write(at("cpuset.mems"), nodes.to_string())?;
            }
            if let Some(bytes) = self.confines.limit_bytes {
                let [limit, swap] = if self.version == 1 { LIMIT_FILES_1 } else { LIMIT_FILES_2 };
                fs::write(at(limit), bytes.to_string())?;
                // Version 1 limits the sum of memory and swap. Kernels without swap accounting have no such file.
                let _ = fs::write(at(swap), if self.version == 1 { bytes } else { 0 }.to_string());
            }
            Ok(())
        };
        set().inspect_err(|_| self.group.remove())?;
        Ok(entry)
    }
}

/// The memory limit of the control group that a process is in, bytes; `None` if this group has no limit.
pub fn memory_limit_bytes(pid: u32) -> Option<u64> {
    let group = |files: Vec<PathBuf>| number(files.first()?);
    limit_files_of(pid).into_iter().find_map(group)
}

/// The lowest memory limit of the control groups that this process is in, as far as it sees them, bytes.
pub fn own_memory_limit_bytes() -> Option<u64> {
    lowest(limit_files_of(std::process::id()))
}

/// The memory that the control groups of this process leave it, bytes: the lowest over its groups of limit minus use.
/// Cached parts of files count as free. `None` if no group has a limit.
pub fn own_memory_left_bytes() -> Option<u64> {
    left(limit_files_of(std::process::id()))
}

fn left(files: Vec<Vec<PathBuf>>) -> Option<u64> {
    let of_group = |limit: PathBuf| {
        let (used, of_below) = match limit.ends_with(LIMIT_FILES_1[0]) {
            true => ("memory.usage_in_bytes", "total_"),
            false => ("memory.current", ""),
        };
        let cached = |list: &str| counted(&limit.with_file_name("memory.stat"), &format!("{of_below}{list}_file"));
        let cached = ["active", "inactive"].into_iter().filter_map(cached).fold(0, u64::saturating_add);
        let used = number(&limit.with_file_name(used)).unwrap_or(0).saturating_sub(cached);
        Some(number(&limit)?.saturating_sub(used))
    };
    files.into_iter().flatten().filter_map(of_group).min()
}

fn lowest(files: Vec<Vec<PathBuf>>) -> Option<u64> {
    files.into_iter().flatten().filter_map(|file| number(&file)).min()
}

pub(crate) fn limit_files_of(pid: u32) -> Vec<Vec<PathBuf>> {
    let read = |path: &str| proc_text(path).unwrap_or_default();
    limit_files(&read("/proc/self/mountinfo"), &read(&format!("/proc/{pid}/cgroup")))
}

/// The files with the memory limits of the group of a process and of those above it, for each hierarchy.
fn limit_files(mounts: &str, own: &str) -> Vec<Vec<PathBuf>> {
    let files = |hierarchy: Hierarchy<'_>| {
        let (controller, file) = match hierarchy.version {
            1 if hierarchy.controllers.contains(&MEMORY) => (MEMORY, LIMIT_FILES_1[0]),
            2 => ("", LIMIT_FILES_2[0]),
            _ => return None,
        };
        let group = hierarchy.own_group(own, controller)?;
        let above = group.ancestors().take_while(|above| above.starts_with(hierarchy.at));
        Some(above.map(|above| above.join(file)).collect())
    };
    hierarchies(mounts).into_iter().filter_map(files).collect()
}

/// How many processes of this group the kernel killed for lack of memory; `None` if it does not count them.
pub(crate) fn kills(group: &Path) -> Option<u64> {
    COUNTERS.iter().find_map(|file| killed(&group.join(file)))
}

/// The same from one file of counters.
pub(crate) fn killed(file: &Path) -> Option<u64> {
    counted(file, "oom_kill")
}

/// A number of a file with one name and number in each line.
fn counted(file: &Path, of: &str) -> Option<u64> {
    let number = |line: &str| line.split_once(' ').filter(|(name, _)| *name == of)?.1.parse().ok();
    fs::read_to_string(file).ok()?.lines().find_map(number)
}

/// The number in a file; `None` also for `max`.
pub(crate) fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// Groups in which a new group may be created, the nearest first, each with the version of its hierarchy. In version 2
/// a group with processes cannot enable controllers for groups below it, so its own group is only included if it is the
/// root.
fn candidates(mounts: &str, own: &str, controllers: &[&'static str]) -> Vec<(u8, PathBuf)> {
    let mut found = Vec::new();
    for hierarchy in hierarchies(mounts) {
        if let [first, ..] = controllers
            && hierarchy.version == 1
            && controllers.iter().all(|name| hierarchy.controllers.contains(name))
        {
            found.extend(hierarchy.own_group(own, first).map(|group| (1, group)));
        }
        if hierarchy.version == 2 {
            let Some(own) = hierarchy.own_group(own, "") else { continue };
            let above = own.ancestors().filter(|group| group.starts_with(hierarchy.at));
            let own_is_root = own == hierarchy.at;
            found.extend(above.skip(usize::from(!own_is_root)).map(|group| (2, group.to_owned())));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(mounts: &str, own: &str) -> Vec<(u8, String)> {
        of(mounts, own, &[CPUSET])
    }

    fn of(mounts: &str, own: &str, controllers: &[&'static str]) -> Vec<(u8, String)> {
        candidates(mounts, own, controllers)
            .into_iter()
            .map(|(version, path)| (version, path.display().to_string()))
            .collect()
    }

    #[test]
    fn a_group_of_version_2_is_made_above_the_own_one_and_one_of_version_1_below_it() {
        let two = "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let found = at(two, "0::/user.slice/x.scope\n");
        assert_eq!(found, [(2, "/sys/fs/cgroup/user.slice".to_owned()), (2, "/sys/fs/cgroup".to_owned())]);
        assert_eq!(at(two, "0::/\n"), [(2, "/sys/fs/cgroup".to_owned())]);
        let one = "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";
        assert_eq!(at(one, "3:cpuset:/a\n0::/\n"), [(1, "/sys/fs/cgroup/cpuset/a".to_owned())]);
        assert_eq!(at("34 31 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", "3:cpu:/\n"), []);
        let both = [CPUSET, MEMORY];
        assert_eq!(of(one, "3:cpuset:/a\n0::/\n", &both), [], "version 1 has one for each");
        assert_eq!(of(two, "0::/user.slice/x.scope\n", &both), found);
    }

    #[test]
    fn the_lowest_limit_of_the_own_and_every_outer_group_counts() {
        let folder = tempfile::tempdir().unwrap();
        let [two, one] = ["two", "one"].map(|name| folder.path().join(name));
        let mounts = format!(
            "41 31 0:38 / {} rw - cgroup2 cgroup2 rw\n34 31 0:31 /box {} rw - cgroup cgroup rw,memory\n",
            two.display(),
            one.display()
        );
        for group in [two.join("a/b"), two.join("a/bc"), one.join("c")] {
            fs::create_dir_all(group).unwrap();
        }
        let limit = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
        let found = |own: &str| lowest(limit_files(&mounts, own));
        limit("two/a/b/memory.max", "max\n");
        assert_eq!(found("0::/a/b\n"), None);
        limit("two/a/memory.max", "3000\n");
        limit("two/a/bc/memory.max", "1000\n");
        assert_eq!([found("0::/a/b\n"), found("0::/a/bc\n"), found("0::/\n")], [Some(3000), Some(1000), None]);
        limit("one/memory.limit_in_bytes", "2000\n");
        limit("one/c/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(found("0::/a/b\n4:memory:/box/c\n"), Some(2000));
        assert_eq!(found("4:memory:/boxes/c\n"), None, "a group next to the mounted one");

        let left = |own: &str| left(limit_files(&mounts, own));
        assert_eq!(left("0::/a/bc\n"), Some(1000), "nothing is used");
        limit("two/a/memory.current", "2900\n");
        limit("two/a/bc/memory.current", "500\n");
        assert_eq!([left("0::/a/bc\n"), left("0::/\n")], [Some(100), None], "the group above has the least left");
        limit("two/a/memory.stat", "anon 900\ninactive_file 1500\nactive_file 500\n");
        assert_eq!(left("0::/a/bc\n"), Some(500), "cached files can be dropped");
        limit("one/memory.usage_in_bytes", "1900\n");
        limit("one/memory.stat", "inactive_file 0\ntotal_inactive_file 300\n");
        assert_eq!(left("4:memory:/box/c\n"), Some(400));
    }
}
