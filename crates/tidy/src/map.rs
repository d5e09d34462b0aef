//! The allowed dependencies, as data. ARCHITECTURE.md explains them; the rule `directions` enforces them.

/// A crate of the workspace, and the other crates of the workspace on which it may depend. Tests may depend on more.
pub struct Crate {
    /// Its folder below `crates/`.
    pub folder: &'static str,
    /// Folders of crates below it.
    pub may_use: &'static [&'static str],
}

/// In the order of dependencies, crates without any first.
pub const CRATES: &[Crate] = &[
    Crate { folder: "text", may_use: &[] },
    Crate { folder: "files", may_use: &[] },
    Crate { folder: "counters", may_use: &[] },
    Crate { folder: "counters-study", may_use: &["text", "counters"] },
    Crate { folder: "stats", may_use: &[] },
    Crate { folder: "latency", may_use: &[] },
    Crate { folder: "cpuset", may_use: &[] },
    Crate { folder: "load", may_use: &["text", "cpuset", "latency"] },
    Crate { folder: "topology", may_use: &["text", "files", "cpuset"] },
    Crate { folder: "noise", may_use: &["text", "files", "cpuset"] },
    Crate { folder: "engine", may_use: &["text", "files", "cpuset", "noise"] },
    Crate { folder: "results", may_use: &["text", "files", "cpuset", "topology", "stats", "latency"] },
    Crate {
        folder: "drive",
        may_use: &[
            "text",
            "files",
            "counters-study",
            "stats",
            "latency",
            "load",
            "cpuset",
            "topology",
            "noise",
            "engine",
            "results",
        ],
    },
    Crate { folder: "study", may_use: &["text", "stats", "cpuset", "topology", "noise", "engine", "results", "drive"] },
    Crate { folder: "findings", may_use: &["text", "stats", "latency", "cpuset", "topology", "results"] },
    Crate { folder: "report", may_use: &["text", "files", "stats", "topology", "results", "findings"] },
    Crate {
        folder: "tare",
        may_use: &[
            "text", "files", "stats", "latency", "load", "cpuset", "topology", "noise", "engine", "results", "drive",
            "study", "findings", "report",
        ],
    },
    Crate { folder: "tidy", may_use: &[] },
];

/// A place that searches for words in texts that this program did not write.
pub struct Foreign {
    /// A folder or a file, relative to the top of the tree.
    pub below: &'static str,
    /// The source of these texts.
    pub of: &'static str,
}

/// The places that parse such texts; the rule `prose` refuses it everywhere else.
pub const FOREIGN_PROSE: &[Foreign] = &[
    Foreign { below: "crates/counters-study/src/workload/memory.rs", of: "the kernel" },
    Foreign { below: "crates/drive/src/capture", of: "the kernel and perf" },
    Foreign { below: "crates/tare/src/cli/debug_symbols.rs", of: "dpkg and apt" },
    Foreign { below: "crates/drive/src/sut/processes.rs", of: "servers, as titles of their processes" },
    Foreign { below: "crates/drive/src/workload/program/parse", of: "benchmarks" },
    Foreign { below: "crates/drive/src/workload/sql/statement.rs", of: "the user, as statements" },
    Foreign { below: "crates/engine/src", of: "servers and their logs" },
    Foreign { below: "crates/report/src/charts/alone.rs", of: "the SVG format" },
    Foreign { below: "crates/results/src/earlier.rs", of: "earlier versions of this program" },
    Foreign { below: "crates/study/src/plan/needs.rs", of: "the kernel" },
    Foreign { below: "crates/tare/src/cli/problem.rs", of: "errors of libraries, to be shown only" },
    Foreign { below: "crates/tare/src/cli/usage.rs", of: "clap, to be shown only" },
    Foreign { below: "crates/topology/src/observe/huge.rs", of: "the kernel" },
];
