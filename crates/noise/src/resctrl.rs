//! Resctrl groups (Documentation/arch/x86/resctrl.rst) of this program, and their removal after it was killed.

use crate::journal::{Outcome, Restored};
use crate::system::System;
use std::path::Path;

pub(crate) const ROOT: &str = "/sys/fs/resctrl";
/// The subfolder for monitoring groups.
pub(crate) const MONITORS: &str = "mon_groups";
/// Prefix of the names of this program's groups, so that no other one is ever removed; the creating process follows.
const PREFIX: &str = "tare-";
/// Name of the setting in reports.
const SETTING: &str = "resctrl";

/// A group name that is unique to this process.
pub(crate) fn name(of: &str) -> String {
    format!("{PREFIX}{}-{of}", std::process::id())
}

/// This program's group with limits that a process is in, if any.
pub(crate) fn limiting(system: &System, pid: i32) -> Option<String> {
    let text = system.read_optional(&format!("/proc/{pid}/cpu_resctrl_groups"))?;
    let group = text.lines().find_map(|line| line.strip_prefix("res:"))?.trim_matches('/');
    group.starts_with(PREFIX).then(|| format!("{ROOT}/{group}"))
}

/// Removes the groups of processes that no longer exist, for example of a killed one. Threads in a removed group with
/// limits return to the default group.
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
