//! Resctrl groups of this program (Documentation/arch/x86/resctrl.rst): those that count L3 cache occupancy and memory
//! traffic of some threads, without limits, and the removal of all of them after it was killed.

use crate::error::Result;
use crate::journal::{Outcome, Restored};
use crate::system::System;
use std::path::Path;

/// A monitoring group. When this is dropped, the group is removed and its threads return to their previous group.
#[derive(Debug)]
pub struct CacheMonitor {
    system: System,
    path: String,
}

/// Cache use and memory traffic of the threads of a group since its creation; `None` if not counted here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheUse {
    /// Bytes in the L3 caches now.
    pub l3_bytes: Option<u64>,
    /// Bytes moved between L3 caches and memory of all nodes.
    pub memory_bytes: Option<u64>,
    /// Bytes moved from and to memory of the threads' own node.
    pub own_node_bytes: Option<u64>,
}

impl CacheMonitor {
    /// Whether this machine supports monitoring groups.
    pub fn is_offered(system: &System) -> bool {
        system.exists(&format!("{ROOT}/{MONITORS}"))
    }

    /// Creates a group for threads of `pid`: if they are in a group with limits, it is created inside that group.
    /// Groups of killed processes are removed first.
    ///
    /// # Errors
    /// The kernel's reason: no permission, or no free counter.
    pub fn make(system: &System, name: &str, pid: Option<i32>) -> Result<Self> {
        remove_left_groups(system);
        let above = pid.and_then(|pid| limiting_group(system, pid)).unwrap_or_else(|| ROOT.to_owned());
        let path = format!("{above}/{MONITORS}/{}", group_name(name));
        system.make_group(&path)?;
        Ok(Self { system: system.clone(), path })
    }

    /// Adds a thread, and the threads that it starts from now on.
    ///
    /// # Errors
    /// When the thread has ended, or is in another program's group with limits.
    pub fn add(&self, tid: i32) -> Result<()> {
        self.system.write(&format!("{}/tasks", self.path), &tid.to_string())
    }

    /// The sums over all L3 caches.
    pub fn read(&self) -> CacheUse {
        let folder = format!("{}/mon_data", self.path);
        let caches: Vec<String> =
            self.system.names(&folder).into_iter().filter(|name| name.starts_with("mon_L3_")).collect();
        // A counter without a value has a text instead of a number; the sum is then unknown.
        let sum = |event: &str| {
            let one = |cache: &String| {
                self.system.read_optional(&format!("{folder}/{cache}/{event}"))?.trim().parse::<u64>().ok()
            };
            let all: Option<Vec<u64>> = caches.iter().map(one).collect();
            all.filter(|all| !all.is_empty())?.into_iter().try_fold(0, u64::checked_add)
        };
        CacheUse {
            l3_bytes: sum("llc_occupancy"),
            memory_bytes: sum("mbm_total_bytes"),
            own_node_bytes: sum("mbm_local_bytes"),
        }
    }
}

impl Drop for CacheMonitor {
    fn drop(&mut self) {
        // If this fails, the next group to be created removes it.
        let _ = self.system.remove_group(&self.path);
    }
}

pub(crate) const ROOT: &str = "/sys/fs/resctrl";
/// The subfolder for monitoring groups.
const MONITORS: &str = "mon_groups";
/// Prefix of the names of this program's groups, so that no other one is ever removed; the creating process follows.
const PREFIX: &str = "tare-";
/// Name of the setting in reports.
const SETTING: &str = "resctrl";

/// A group name that is unique to this process.
pub(crate) fn group_name(of: &str) -> String {
    format!("{PREFIX}{}-{of}", std::process::id())
}

/// This program's group with limits that a process is in, if any.
fn limiting_group(system: &System, pid: i32) -> Option<String> {
    let text = system.read_optional(&format!("/proc/{pid}/cpu_resctrl_groups"))?;
    let group = text.lines().find_map(|line| line.strip_prefix("res:"))?.trim_matches('/');
    group.starts_with(PREFIX).then(|| format!("{ROOT}/{group}"))
}

/// Removes the groups of processes that no longer exist, for example of a killed one. Threads in a removed group with
/// limits return to the default group.
pub(crate) fn remove_left_groups(system: &System) -> Vec<Restored> {
    let left = |folder: &str, name: &String| {
        let made_by = name.strip_prefix(PREFIX)?.split_once('-')?.0.parse::<u32>().ok()?;
        (!Path::new(&format!("/proc/{made_by}")).exists()).then(|| format!("{folder}/{name}"))
    };
    let remove = |path: String| {
        let outcome = match system.remove_group(&path) {
            Ok(()) => Outcome::Restored,
            Err(e) => Outcome::Failed { error: e.to_string() },
        };
        Restored { setting: SETTING.to_owned(), path, outcome }
    };
    let folders = [format!("{ROOT}/{MONITORS}"), ROOT.to_owned()];
    let all = folders
        .iter()
        .flat_map(|folder| system.names(folder).iter().filter_map(|name| left(folder, name)).collect::<Vec<_>>());
    all.map(remove).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::HostLock;
    use crate::{Outcome, fake, recover};
    use std::fs;

    const GROUPS: &str = "/sys/fs/resctrl/mon_groups";

    fn machine(resctrl: bool) -> (tempfile::TempDir, System) {
        let root = tempfile::tempdir().unwrap();
        fake::create(root.path()).unwrap();
        let system = System::at(root.path());
        if resctrl {
            fs::create_dir_all(system.path(GROUPS)).unwrap();
        }
        (root, system)
    }

    #[test]
    fn a_group_counts_its_threads_and_goes_with_its_owner() {
        let (_root, system) = machine(true);
        assert!(CacheMonitor::is_offered(&system));
        let monitor = CacheMonitor::make(&system, "server", None).unwrap();
        monitor.add(11).unwrap();
        monitor.add(12).unwrap();
        let at = |file: &str| system.path(&format!("{}/{file}", monitor.path));
        assert_eq!(fs::read_to_string(at("tasks")).unwrap(), "11\n12\n");
        assert_eq!(monitor.read(), CacheUse { l3_bytes: Some(0), memory_bytes: Some(0), own_node_bytes: Some(0) });
        // Two caches, and a counter without a value.
        fs::create_dir(at("mon_data/mon_L3_01")).unwrap();
        for (file, text) in [
            ("mon_L3_00/llc_occupancy", "4096\n"),
            ("mon_L3_01/llc_occupancy", "1024\n"),
            ("mon_L3_00/mbm_total_bytes", "9000\n"),
            ("mon_L3_01/mbm_total_bytes", "Unavailable\n"),
            ("mon_L3_00/mbm_local_bytes", "18446744073709551615\n"),
            ("mon_L3_01/mbm_local_bytes", "1\n"),
        ] {
            fs::write(at("mon_data").join(file), text).unwrap();
        }
        assert_eq!(monitor.read(), CacheUse { l3_bytes: Some(5120), ..CacheUse::default() });
        drop(monitor);
        assert_eq!(system.names(GROUPS), Vec::<String>::new());
    }

    #[test]
    fn a_machine_without_resctrl_creates_no_monitoring_group() {
        let (_root, system) = machine(false);
        assert!(!CacheMonitor::is_offered(&system) && CacheMonitor::make(&system, "server", None).is_err());
        assert_eq!(remove_left_groups(&system), []);
    }

    #[test]
    fn groups_of_killed_processes_are_removed_and_no_others() {
        let (root, system) = machine(true);
        let own = format!("tare-{}-server", std::process::id());
        // No process has a number this large.
        for name in ["tare-4194305-server", &own, "tare-x-server", "someone", "4194305-server"] {
            fs::create_dir(system.path(&format!("{GROUPS}/{name}"))).unwrap();
        }
        let state = root.path().join("state");
        fs::create_dir(&state).unwrap();
        let lock = HostLock::acquire(&state).unwrap();
        let report = recover(&system, &state, &lock).unwrap();
        let [removed] = report.files.as_slice() else { panic!("{report:?}") };
        assert_eq!((removed.path.ends_with("tare-4194305-server"), &removed.outcome), (true, &Outcome::Restored));
        assert_eq!(system.names(GROUPS), ["4194305-server", "someone", &own, "tare-x-server"]);
        // Creating the next group removes such groups too.
        fs::create_dir(system.path(&format!("{GROUPS}/tare-4194306-client"))).unwrap();
        let monitor = CacheMonitor::make(&system, "client", None).unwrap();
        assert!(!system.exists(&format!("{GROUPS}/tare-4194306-client")));
        drop(monitor);
    }
}
