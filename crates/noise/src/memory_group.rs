//! A control group that keeps the memory of a server on some nodes. A memory policy is what a process may give itself
//! anew, as InnoDB does for its buffer pool; what its group's cpuset allows, no policy of its own exceeds.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD};
use serde::{Deserialize, Serialize};
use tare_cpuset::NodeSet;

use crate::control_group::{ControlGroup, PREFIX, SWITCH, hierarchies};

/// Where the groups of version 2 below it get their controllers from.
const CONTROL: &str = "cgroup.subtree_control";

/// One group with its nodes. Nothing but memory is confined: it has every CPU of the group above it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryGroup {
    group: ControlGroup,
    nodes: NodeSet,
    version: u8,
}

/// Where such groups can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryGroups {
    above: PathBuf,
    version: u8,
    /// Whether the controller has to be switched on first.
    is_off: bool,
}

impl MemoryGroups {
    /// Where on this machine.
    ///
    /// # Errors
    /// Why this user can make none, in words.
    pub fn here() -> Result<Self, String> {
        if std::env::var_os(SWITCH).is_some_and(|value| value == "off") {
            return Err(format!("{SWITCH}=off forbids control groups"));
        }
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let found = candidates(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"));
        let mut why = "no control group hierarchy of this machine has cpusets".to_owned();
        for (version, above) in found {
            match Self::at(version, above) {
                Ok(groups) => return Ok(groups),
                Err(reason) => why = reason,
            }
        }
        Err(why)
    }

    fn at(version: u8, above: PathBuf) -> Result<Self, String> {
        let may = |path: &Path| rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok();
        let shown = above.display();
        if !may(&above) || !may(&above.join("cgroup.procs")) {
            return Err(format!("this user may make no group in {shown}"));
        }
        if version == 1 {
            return Ok(Self { above, version, is_off: false });
        }
        let has = |file: &str| {
            fs::read_to_string(above.join(file)).unwrap_or_default().split_whitespace().any(|word| word == "cpuset")
        };
        if !has("cgroup.controllers") {
            return Err(format!("{shown} has no cpuset controller"));
        }
        let is_off = !has(CONTROL);
        // Only the root of all may have processes and hand controllers down.
        if is_off && above.join("cgroup.type").exists() {
            return Err(format!("{shown} hands no cpuset controller down"));
        }
        Ok(Self { above, version, is_off })
    }

    /// The file in which the controller has to be switched on first.
    pub fn to_switch_on(&self) -> Option<PathBuf> {
        self.is_off.then(|| self.above.join(CONTROL))
    }
}

impl MemoryGroup {
    /// A name for a new one; `name` makes it unique.
    ///
    /// # Errors
    /// Why this user can make none, in words.
    pub fn planned(name: &str, nodes: &NodeSet) -> Result<Self, String> {
        let groups = MemoryGroups::here()?;
        let group = ControlGroup(groups.above.join(format!("{PREFIX}{name}")));
        Ok(Self { group, nodes: nodes.clone(), version: groups.version })
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
        let set = || {
            let at = |file: &str| self.group.0.join(file);
            if self.version == 1 {
                // A new one has none at all, and lets nothing in.
                let above = self.group.0.parent().unwrap_or(&self.group.0);
                let cpus = fs::read_to_string(above.join("cpuset.effective_cpus"))
                    .or_else(|_| fs::read_to_string(above.join("cpuset.cpus")))?;
                fs::write(at("cpuset.cpus"), cpus.trim())?;
            }
            fs::write(at("cpuset.mems"), self.nodes.to_string())
        };
        set().inspect_err(|_| self.group.remove())?;
        Ok(entry)
    }
}

/// Groups that may have room for one more below them, the nearest first, with the version of their hierarchy. In
/// version 2 a group with processes hands no controllers down, so this process's own is none unless it is the root.
fn candidates(mounts: &str, own: &str) -> Vec<(u8, PathBuf)> {
    let mut found = Vec::new();
    for hierarchy in hierarchies(mounts) {
        if hierarchy.version == 1 && hierarchy.controllers.contains(&"cpuset") {
            found.extend(hierarchy.own_group(own, "cpuset").map(|group| (1, group)));
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
        candidates(mounts, own).into_iter().map(|(version, path)| (version, path.display().to_string())).collect()
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
    }
}
