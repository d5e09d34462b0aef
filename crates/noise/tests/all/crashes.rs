//! Runs a command once for each crash point (`tare_files::crash`), which ends it there, until a run completes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Labels of crash points, with how often the program crashed at each.
pub type Counts = BTreeMap<String, usize>;

/// The processes that end at a crash point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    /// The process that reached it.
    One,
    /// Every process, as in a power failure: the one that reached it stops, and no process passes another point until
    /// the test kills all.
    All,
}

/// The log that numbers the points.
pub struct Log(PathBuf);

impl Log {
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Numbers the points of this command, from 1.
    pub fn count(&self, command: &mut Command) {
        let _ = fs::remove_file(&self.0);
        command.env("TARE_CRASH_LOG", &self.0);
    }

    /// As [`Self::count`], and the command crashes at the point with this number.
    pub fn crash(&self, command: &mut Command, at: usize, whom: Whom) {
        self.count(command);
        command.env("TARE_CRASH_AT", at.to_string());
        command.env("TARE_CRASH_WHOM", if whom == Whom::All { "all" } else { "one" });
    }

    /// Process and label of every point reached so far.
    pub fn reached(&self) -> Vec<(u32, String)> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        let line = |line: &str| {
            let (pid, label) = line.split_once(' ').unwrap();
            (pid.parse().unwrap(), label.to_owned())
        };
        text.lines().map(line).collect()
    }
}

/// Prints the numbers of points, and fails if one of `must` was not reached.
pub fn check_counts(what: &str, counts: &Counts, must: &[&str]) {
    println!("{what}: {} crash points", counts.values().sum::<usize>());
    counts.iter().for_each(|(label, count)| println!("{count:5} {label}"));
    let missed: Vec<&&str> = must.iter().filter(|label| !counts.contains_key(**label)).collect();
    assert!(missed.is_empty(), "{what}: never a crash at {missed:?}");
}

/// Temporary files of writes that a crash left in a folder, which nothing reads.
pub fn halves(folder: &Path) -> Vec<PathBuf> {
    let is_half = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "new");
    fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).filter(is_half).collect()
}

/// Points of the journal and of settings that every session reaches.
pub const OF_SETTINGS: [&str; 7] = [
    "journal: before entries",
    "journal: entries written, not synced",
    "journal: new, its folder not synced",
    "journal: entries synced",
    "setting: before it is written",
    "setting: written",
    "removal: before it",
];

/// Points of a control group or a resctrl group.
pub const OF_GROUPS: [&str; 4] =
    ["group: before it is made", "group: made", "group: before its removal", "group: removed"];

/// Points of a file that is written whole, in a private folder that may be new.
pub const OF_WHOLE_WRITES: [&str; 9] = [
    "private folder: made, not closed",
    "private folder: done",
    "removal: done",
    "whole write: before it",
    "whole write: written, not synced",
    "whole write: synced, without a name",
    "whole write: not renamed yet",
    "whole write: renamed, folder not synced",
    "whole write: done",
];
