//! Whether the control groups of a process are frozen, as by `docker pause`.

use crate::control_group::hierarchies;
use std::fs::File;
use std::os::unix::fs::FileExt;
use tare_cpuset::observe::proc_text;

/// The groups of a process that can be frozen, also with a group above (`cgroup.freeze`, version 1: `freezer.state`).
#[derive(Debug, Default)]
pub struct Freezers(Vec<File>);

impl Freezers {
    /// Those of a process; none that this process cannot see.
    pub fn of(pid: i32) -> Self {
        let texts = ["/proc/self/mountinfo", &format!("/proc/{pid}/cgroup")].map(proc_text);
        let [Ok(mounts), Ok(own)] = texts else { return Self::default() };
        let files = hierarchies(&mounts).into_iter().filter_map(|hierarchy| {
            let (controller, file) =
                if hierarchy.version == 2 { ("", "cgroup.events") } else { ("freezer", "freezer.state") };
            File::open(hierarchy.own_group(&own, controller)?.join(file)).ok()
        });
        Self(files.collect())
    }

    /// Whether one of them is frozen now. Reads a small file of each.
    pub fn are_frozen(&self) -> bool {
        self.0.iter().any(|file| {
            let mut text = [0; 256];
            let length = file.read_at(&mut text, 0).unwrap_or(0);
            let mut lines = text[..length].split(|byte| *byte == b'\n');
            lines.any(|line| line == b"frozen 1" || line == b"FROZEN")
        })
    }
}
