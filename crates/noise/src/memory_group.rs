//! A control group that keeps the memory of a server on some nodes. A memory policy is what a process may give itself
//! anew, as InnoDB does for its buffer pool; what its group's cpuset allows, no policy of its own exceeds.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD};
use serde::{Deserialize, Serialize};
use tare_cpuset::NodeSet;

use crate::control_group::{ControlGroup, PREFIX, SWITCH};

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
    let group_of = |wanted: &dyn Fn(&str) -> bool| {
        own.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            wanted(controllers).then_some(path)
        })
    };
    let mut found = Vec::new();
    for line in mounts.lines() {
        let Some((place, what)) = line.split_once(" - ") else { continue };
        let (place, what): (Vec<&str>, Vec<&str>) = (place.split(' ').collect(), what.split(' ').collect());
        let (Some(root), Some(at), Some(kind)) = (place.get(3), place.get(4), what.first()) else { continue };
        let below = |group: Option<&str>| {
            let below = group?.strip_prefix(root.trim_end_matches('/'))?.trim_start_matches('/').to_owned();
            let group = if below.is_empty() { PathBuf::from(at) } else { Path::new(at).join(&below) };
            (!below.contains("..")).then_some(group)
        };
        let has_cpuset = || what.get(2).is_some_and(|options| options.split(',').any(|option| option == "cpuset"));
        match *kind {
            "cgroup" if has_cpuset() => {
                let own = below(group_of(&|controllers| controllers.split(',').any(|name| name == "cpuset")));
                found.extend(own.map(|group| (1, group)));
            }
            "cgroup2" => {
                let Some(own) = below(group_of(&str::is_empty)) else { continue };
                let above = own.ancestors().filter(|group| group.starts_with(at));
                let own_is_root = own == Path::new(at);
                found.extend(above.skip(usize::from(!own_is_root)).map(|group| (2, group.to_owned())));
            }
            _ => {}
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
