//! A control group that confines the memory of a server: to some nodes, or to so many bytes. A memory policy is what a
//! process may give itself anew, as InnoDB does for its buffer pool; what its group's cpuset allows, no policy of its
//! own exceeds. A limit of bytes counts the page cache of what the server reads and writes too.

use crate::control_group::{ControlGroup, Hierarchy, PREFIX, SWITCH, hierarchies};
use rustix::fs::{Access, AtFlags, CWD};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tare_cpuset::NodeSet;
use tare_cpuset::observe::proc_text;

/// Where the groups of version 2 below it get their controllers from.
const CONTROL: &str = "cgroup.subtree_control";
/// Controllers that confine memory.
const CPUSET: &str = "cpuset";
const MEMORY: &str = "memory";
/// The files of a limit, and of that of swap, by the version of the hierarchy.
const LIMIT_FILES_1: [&str; 2] = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"];
const LIMIT_FILES_2: [&str; 2] = ["memory.max", "memory.swap.max"];

/// What memory is confined to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryConfines {
    /// Nodes from which alone it comes; none: from all.
    pub nodes: Option<NodeSet>,
    /// Bytes that it may be at most, without swap; none: no limit.
    pub limit_bytes: Option<u64>,
}

impl MemoryConfines {
    /// The controllers that confine so.
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

/// One group with what it confines. Nothing but memory is confined: it has every CPU of the group above it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryGroup {
    group: ControlGroup,
    confines: MemoryConfines,
    version: u8,
}

/// Where such groups can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryGroups {
    above: PathBuf,
    version: u8,
    /// Controllers that have to be switched on first.
    off: Vec<&'static str>,
}

impl MemoryGroups {
    /// Where on this machine, for each group that takes.
    ///
    /// # Errors
    /// Why this user can make none, in words.
    pub fn here(confines: &MemoryConfines) -> Result<Vec<Self>, String> {
        let controllers = confines.controllers();
        match Self::with(&controllers) {
            Err(_) if controllers.len() > 1 => controllers.iter().map(|one| Self::with(&[*one])).collect(),
            found => Ok(vec![found?]),
        }
    }

    /// Where one has all of these controllers.
    fn with(controllers: &[&'static str]) -> Result<Self, String> {
        if std::env::var_os(SWITCH).is_some_and(|value| value == "off") {
            return Err(format!("{SWITCH}=off forbids control groups"));
        }
        let read = |path| proc_text(path).unwrap_or_default();
        let found = candidates(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"), controllers);
        let mut why =
            format!("no control group hierarchy of this machine has the controller {}", controllers.join(" and "));
        for (version, above) in found {
            match Self::at(version, above, controllers) {
                Ok(groups) => return Ok(groups),
                Err(reason) => why = reason,
            }
        }
        Err(why)
    }

    fn at(version: u8, above: PathBuf, controllers: &[&'static str]) -> Result<Self, String> {
        let may = |path: &Path| rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok();
        let shown = above.display();
        if !may(&above) || !may(&above.join("cgroup.procs")) {
            return Err(format!("this user may not create a group in {shown}"));
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
        // Only the root of all may have processes and hand controllers down.
        if let [first, ..] = off.as_slice()
            && above.join("cgroup.type").exists()
        {
            return Err(format!("{shown} does not delegate the {first} controller"));
        }
        Ok(Self { above, version, off })
    }

    /// The file in which controllers have to be switched on first, and which.
    pub fn to_switch_on(&self) -> Option<(PathBuf, &[&'static str])> {
        (!self.off.is_empty()).then(|| (self.above.join(CONTROL), self.off.as_slice()))
    }
}

impl MemoryGroup {
    /// Names for new ones, one where a hierarchy has all that it takes; `name` makes them unique.
    ///
    /// # Errors
    /// Why this user can make none, in words.
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

    /// The group itself: what runs in it is seen and ended as in any other.
    pub fn group(&self) -> &ControlGroup {
        &self.group
    }

    /// Whether what is in it can be in no other group of this program's.
    pub fn holds_alone(&self) -> bool {
        self.version == 2
    }

    /// Makes it, and returns the file through which a process enters: by writing `0` itself. Entering gives the process
    /// every CPU, and maps the nodes of its memory policy onto these: one over all nodes is then one over just these.
    ///
    /// # Errors
    /// The kernel's reason; nothing is left then.
    pub fn make(&self) -> io::Result<File> {
        let entry = self.group.make()?;
        let set = || -> io::Result<()> {
            let at = |file: &str| self.group.0.join(file);
            if let Some(nodes) = &self.confines.nodes {
                if self.version == 1 {
                    // A new one has none at all, and lets nothing in.
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
                // Version 1 limits the sum of both. A kernel without an account of swap has no such file.
                let _ = fs::write(at(swap), if self.version == 1 { bytes } else { 0 }.to_string());
            }
            Ok(())
        };
        set().inspect_err(|_| self.group.remove())?;
        Ok(entry)
    }
}

/// The limit of the memory of the group that a process is in, bytes; none where it has none of its own.
pub fn memory_limit_bytes(pid: u32) -> Option<u64> {
    let mounts = proc_text("/proc/self/mountinfo").ok()?;
    let own = proc_text(&format!("/proc/{pid}/cgroup")).ok()?;
    let limit = |hierarchy: Hierarchy<'_>| {
        let (controller, file) = match hierarchy.version {
            1 if hierarchy.controllers.contains(&MEMORY) => (MEMORY, LIMIT_FILES_1[0]),
            2 => ("", LIMIT_FILES_2[0]),
            _ => return None,
        };
        let text = fs::read_to_string(hierarchy.own_group(&own, controller)?.join(file)).ok()?;
        text.trim().parse().ok()
    };
    hierarchies(&mounts).into_iter().find_map(limit)
}

/// Groups that may have room for one more below them, the nearest first, with the version of their hierarchy. In
/// version 2 a group with processes hands no controllers down, so this process's own is none unless it is the root.
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
}
