//! Imitates the kernel for a fake machine, which is a folder of plain files.
//!
//! Writes behave like those to the kernel's files: a value is replaced completely or not at all; a list of choices
//! (`always [madvise] never`) keeps its form and refuses unknown words; `cgroup.subtree_control` accepts `+name` and
//! `-name`; a number is added to the `tasks` of a resctrl group; and a line of a resource replaces that of `schemata`.

use crate::kernel::Kernel;
use std::path::Path;
use std::{fs, io};

#[derive(Debug)]
pub(crate) struct FakeKernel;

impl Kernel for FakeKernel {
    /// Atomic, like the kernel: a process that is killed at any moment leaves the old value or the new one.
    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        let old = fs::read_to_string(path)?;
        let word = text.trim();
        let new = if path.ends_with("cgroup.subtree_control") {
            controllers(&old, word)
        } else if path.ends_with("tasks") {
            format!("{old}{word}\n")
        } else if path.ends_with("schemata") {
            schemata(&old, word)
        } else if old.contains('[') {
            choose(&old, word).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?
        } else {
            format!("{word}\n")
        };
        let next = path.with_extension("next");
        fs::write(&next, new)?;
        fs::rename(&next, path)
    }

    fn make_group(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir(folder)?;
        if folder.parent().is_some_and(|above| above.ends_with("mon_groups")) {
            return make_monitor(folder);
        }
        if folder.parent().is_some_and(|above| above.ends_with("resctrl")) {
            return make_limit(folder);
        }
        for (name, text) in [("cgroup.procs", ""), ("cpuset.cpus", "\n"), ("cpuset.cpus.partition", "member\n")] {
            fs::write(folder.join(name), text)?;
        }
        Ok(())
    }

    fn remove_group(&self, folder: &Path) -> io::Result<()> {
        fs::remove_dir_all(folder)
    }

    fn is_real(&self) -> bool {
        false
    }
}

/// The files of a resctrl monitoring group on a machine with one L3 cache.
fn make_monitor(folder: &Path) -> io::Result<()> {
    let cache = folder.join("mon_data/mon_L3_00");
    fs::create_dir_all(&cache)?;
    for event in ["llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"] {
        fs::write(cache.join(event), "0\n")?;
    }
    fs::write(folder.join("tasks"), "")
}

/// The files of a resctrl group without limits.
fn make_limit(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder.join("mon_groups"))?;
    let all = fs::read_to_string(folder.with_file_name("schemata"))?;
    fs::write(folder.join("schemata"), all)?;
    fs::write(folder.join("tasks"), "")
}

fn schemata(old: &str, change: &str) -> String {
    let resource = |line: &str| line.trim().split(':').next().map(str::to_owned);
    let line = |line: &str| if resource(line) == resource(change) { change.to_owned() } else { line.to_owned() };
    old.lines().map(line).collect::<Vec<_>>().join("\n") + "\n"
}

fn controllers(old: &str, change: &str) -> String {
    let mut words: Vec<&str> = old.split_whitespace().collect();
    let name = change.trim_start_matches(['+', '-']);
    words.retain(|w| *w != name);
    if change.starts_with('+') {
        words.push(name);
    }
    words.join(" ") + "\n"
}

fn choose(old: &str, word: &str) -> Option<String> {
    let mut found = false;
    let words: Vec<String> = old
        .split_whitespace()
        .map(|w| {
            let plain = w.trim_matches(['[', ']']);
            found |= plain == word;
            if plain == word { format!("[{plain}]") } else { plain.to_owned() }
        })
        .collect();
    found.then(|| words.join(" ") + "\n")
}
