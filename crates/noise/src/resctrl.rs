//! Groups of resctrl (Documentation/arch/x86/resctrl.rst) that this program makes, and removes where it was killed.

use crate::journal::{Outcome, Restored};
use crate::system::System;
use std::path::Path;

pub(crate) const ROOT: &str = "/sys/fs/resctrl";
/// Where a group has those below it that only count.
pub(crate) const MONITORS: &str = "mon_groups";
/// How every group of this program begins, so that no other one is ever removed; then the process that made it.
const PREFIX: &str = "tare-";
/// What is restored, in a report.
const SETTING: &str = "resctrl";

/// A name of this process's own.
pub(crate) fn name(of: &str) -> String {
    format!("{PREFIX}{}-{of}", std::process::id())
}

/// The group of this program's that limits a process; none where the process is in no such group.
pub(crate) fn limiting(system: &System, pid: i32) -> Option<String> {
    let text = system.read_optional(&format!("/proc/{pid}/cpu_resctrl_groups"))?;
    let group = text.lines().find_map(|line| line.strip_prefix("res:"))?.trim_matches('/');
    group.starts_with(PREFIX).then(|| format!("{ROOT}/{group}"))
}

/// Removes the groups of processes that are no more, as those of a killed one. What is in one that limits is in that
/// of the whole machine then.
pub(crate) fn remove_left(system: &System) -> Vec<Restored> {
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
