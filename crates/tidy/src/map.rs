//! What may use what, as data. ARCHITECTURE.md says it in words; the rule `directions` holds the tree to it.

/// A crate of the workspace, and the crates of the workspace that it may depend on. Tests may depend on more.
pub struct Crate {
    /// Its folder below `crates/`.
    pub folder: &'static str,
    /// Folders of crates below it.
    pub may_use: &'static [&'static str],
}

/// From the leaves up.
pub const CRATES: &[Crate] = &[
    Crate { folder: "text", may_use: &[] },
    Crate { folder: "files", may_use: &[] },
    Crate { folder: "counters", may_use: &[] },
    Crate { folder: "counters-study", may_use: &["text", "counters"] },
    Crate { folder: "stats", may_use: &[] },
    Crate { folder: "load", may_use: &["text", "files", "topology"] },
    Crate { folder: "topology", may_use: &["text", "files"] },
    Crate { folder: "noise", may_use: &["text", "files", "topology"] },
    Crate { folder: "engine", may_use: &["text", "files", "topology", "noise"] },
    Crate { folder: "results", may_use: &["text", "files", "topology", "stats"] },
    Crate {
        folder: "tare",
        may_use: &["text", "files", "counters-study", "stats", "load", "topology", "noise", "engine", "results"],
    },
    Crate { folder: "tidy", may_use: &[] },
];

/// A folder of `crates/tare/src`, with the rooms and crates that it may use.
pub struct Room {
    /// Its folder below `crates/tare/src`.
    pub name: &'static str,
    /// Rooms that it may use besides itself.
    pub rooms: &'static [&'static str],
    /// Crates of the workspace, by their folders, that it may use.
    pub crates: &'static [&'static str],
    /// Rooms that it uses against the directions until that is mended. One that it no longer uses is a finding.
    pub until_mended: &'static [&'static str],
}

/// In the order in which data goes from a study file to a page.
pub const ROOMS: &[Room] = &[
    Room {
        name: "capture",
        rooms: &[],
        crates: &["text", "engine", "noise", "results", "topology", "files"],
        until_mended: &[],
    },
    Room {
        name: "subject",
        rooms: &["capture"],
        crates: &["engine", "noise", "results", "stats", "topology"],
        until_mended: &[],
    },
    Room {
        name: "workload",
        rooms: &["subject"],
        crates: &["counters-study", "engine", "load", "results", "text", "topology", "files"],
        until_mended: &[],
    },
    Room {
        name: "study",
        rooms: &["capture", "workload"],
        crates: &["engine", "noise", "results", "text", "topology"],
        until_mended: &[],
    },
    Room {
        name: "hosts",
        rooms: &["study", "workload", "subject"],
        crates: &["engine", "results", "text", "topology"],
        until_mended: &[],
    },
    Room {
        name: "plan",
        rooms: &["study", "workload", "hosts"],
        crates: &["text", "engine", "noise", "results", "stats", "topology"],
        until_mended: &[],
    },
    Room {
        name: "trial",
        rooms: &["study", "hosts", "plan", "workload", "subject", "capture"],
        crates: &["files", "engine", "noise", "results", "topology"],
        until_mended: &[],
    },
    Room { name: "run", rooms: &["study", "plan", "workload"], crates: &["files", "results"], until_mended: &[] },
    Room { name: "analysis", rooms: &[], crates: &["results", "stats", "text", "topology"], until_mended: &[] },
    Room {
        name: "report",
        rooms: &["analysis"],
        crates: &["files", "results", "stats", "topology", "text"],
        until_mended: &[],
    },
    Room { name: "export", rooms: &["analysis", "report"], crates: &["results", "stats", "text"], until_mended: &[] },
    Room {
        name: "cli",
        rooms: &[
            "capture", "subject", "workload", "study", "hosts", "plan", "trial", "run", "analysis", "report", "export",
        ],
        crates: &["text", "files", "stats", "load", "topology", "noise", "engine", "results"],
        until_mended: &[],
    },
];

/// Findings of a rule below a folder that are known today and will be mended: they are listed and fail nothing.
/// One that is no longer needed is itself a finding.
pub struct Known {
    /// The rule's name, as findings show it.
    pub rule: &'static str,
    /// A folder or a file, from the top of the tree.
    pub below: &'static str,
    /// What has to happen first.
    pub until: &'static str,
}

/// What is known and not mended yet.
pub const KNOWN: &[Known] = &[];
