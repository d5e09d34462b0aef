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
    Crate { folder: "latency", may_use: &[] },
    Crate { folder: "load", may_use: &["text", "files", "topology", "latency"] },
    Crate { folder: "topology", may_use: &["text", "files"] },
    Crate { folder: "noise", may_use: &["text", "files", "topology"] },
    Crate { folder: "engine", may_use: &["text", "files", "topology", "noise"] },
    Crate { folder: "results", may_use: &["text", "files", "topology", "stats", "latency"] },
    Crate {
        folder: "drive",
        may_use: &[
            "text",
            "files",
            "counters-study",
            "stats",
            "latency",
            "load",
            "topology",
            "noise",
            "engine",
            "results",
        ],
    },
    Crate { folder: "study", may_use: &["text", "stats", "topology", "noise", "engine", "results", "drive"] },
    Crate { folder: "findings", may_use: &["text", "stats", "latency", "topology", "results"] },
    Crate { folder: "report", may_use: &["text", "files", "stats", "topology", "results", "findings"] },
    Crate {
        folder: "tare",
        may_use: &[
            "text", "files", "stats", "latency", "load", "topology", "noise", "engine", "results", "drive", "study",
            "findings", "report",
        ],
    },
    Crate { folder: "tidy", may_use: &[] },
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
