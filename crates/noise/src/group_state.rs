//! What happened to the control groups of a server: whether they are frozen, as by `docker pause`, and whether the
//! kernel killed processes because a group had no memory left.

use crate::control_group::hierarchies;
use crate::memory_group::{killed, kills, limit_files_of, number};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
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

/// Version 1 reports a group without a limit as one of 2^63 bytes, rounded down to a page.
const UNLIMITED: u64 = 1 << 62;

/// The machine's own count.
const MACHINE: &str = "/proc/vmstat";

/// The kills in the control group of this process, from now on; on the whole machine if its group counts none. The
/// limit of the group is then the reason of an error that otherwise says only that a process received SIGKILL.
#[derive(Debug, Clone)]
pub struct OomKills {
    group: Option<PathBuf>,
    before: u64,
    limit_bytes: Option<u64>,
}

impl OomKills {
    /// None if the kernel counts none at all. Groups count none without the memory controller, and in version 2 in the
    /// root group.
    pub fn here() -> Option<Self> {
        let on_machine = || Some(Self { group: None, before: killed(Path::new(MACHINE))?, limit_bytes: None });
        limit_files_of(std::process::id()).iter().find_map(|files| Self::of(files)).or_else(on_machine)
    }

    /// In the nearest of these groups, given by the files of their limits, that counts them.
    fn of(limits: &[PathBuf]) -> Option<Self> {
        let mut groups = limits.iter().filter_map(|file| file.parent());
        let (group, before) = groups.find_map(|group| Some((group, kills(group)?)))?;
        let limit_bytes = limits.iter().filter_map(|file| number(file)).min().filter(|bytes| *bytes < UNLIMITED);
        Some(Self { group: Some(group.to_owned()), before, limit_bytes })
    }

    /// What was killed since then, the limit, and what to do; none if nothing was.
    pub fn since(&self) -> Option<String> {
        let now = self.group.as_deref().map_or_else(|| killed(Path::new(MACHINE)), kills);
        let killed = now?.checked_sub(self.before).filter(|killed| *killed > 0)?;
        let processes = if killed == 1 { "a process" } else { "processes" };
        let of = match &self.group {
            Some(group) => format!("of the control group {}", group.display()),
            None => "of this machine".to_owned(),
        };
        let what_to_do = match self.limit_bytes {
            Some(bytes) => format!(
                "its limit is {bytes} bytes; raise it (of the container, unit or job), or lower what server and clients need"
            ),
            None => "lower what server and clients need, or end other programs".to_owned(),
        };
        Some(format!("the kernel killed {processes} {of} for lack of memory: {what_to_do}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn kills_are_counted_in_the_nearest_group_that_counts_them_and_have_the_lowest_limit() {
        let folder = tempfile::tempdir().unwrap();
        let says = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
        let groups = |file: &str| ["a/b", "a"].map(|group| folder.path().join(group).join(file)).to_vec();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        assert!(OomKills::of(&groups("memory.max")).is_none());
        says("a/memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n");
        says("a/memory.max", "5000\n");
        let two = OomKills::of(&groups("memory.max")).unwrap();
        assert_eq!(two.since(), None, "earlier ones");
        says("a/memory.events", "oom 4\noom_kill 3\n");
        let text = two.since().unwrap();
        assert!(text.contains("killed a process of") && text.contains("its limit is 5000 bytes"), "{text}");
        says("a/b/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
        says("a/b/memory.limit_in_bytes", "9223372036854771712\n");
        let one = OomKills::of(&groups("memory.limit_in_bytes")).unwrap();
        says("a/b/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
        let text = one.since().unwrap();
        assert!(text.contains("killed processes of") && text.contains("end other programs"), "{text}");
        let before = killed(Path::new(MACHINE)).unwrap();
        let of_machine = OomKills { group: None, before, limit_bytes: None };
        assert_eq!(of_machine.since(), None);
        let earlier = OomKills { before: before.wrapping_sub(1), ..of_machine };
        let text = earlier.since().unwrap_or_default();
        assert!(before == 0 || text.starts_with("the kernel killed a process of this machine for lack"), "{text}");
    }
}
