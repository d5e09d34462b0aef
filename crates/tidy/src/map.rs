//! The allowed dependencies, as data. ARCHITECTURE.md explains them; the rule `directions` enforces them.

/// The crates of the workspace by their folders below `crates/`, each with the crates of the workspace on which it may
/// depend: crates without any first. Tests may depend on more.
pub const CRATES: &[(&str, &str)] = &[
    ("text", ""),
    ("files", ""),
    ("counters", ""),
    ("counters-study", "text counters"),
    ("stats", ""),
    ("latency", ""),
    ("cpuset", ""),
    ("load", "text cpuset latency"),
    ("topology", "text files cpuset"),
    ("noise", "text files cpuset"),
    ("results", "text files cpuset topology stats latency"),
    ("engine", "text files cpuset noise results"),
    ("drive", "text files counters-study stats latency load cpuset topology noise engine results"),
    ("study", "text stats cpuset topology noise engine results drive"),
    ("findings", "text stats latency cpuset topology results"),
    ("report", "text files stats cpuset topology results findings"),
    ("tare", "text files stats latency load cpuset topology noise engine results drive study findings report"),
    ("tidy", ""),
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
    Foreign { below: "crates/drive/src/capture", of: "the kernel and perf" },
    Foreign { below: "crates/tare/src/cli/tools.rs", of: "dpkg and apt" },
    Foreign { below: "crates/drive/src/sut/processes.rs", of: "servers, as titles of their processes" },
    Foreign { below: "crates/drive/src/workload/program/parse", of: "benchmarks" },
    Foreign { below: "crates/engine/src", of: "servers and their logs" },
    Foreign { below: "crates/report/src/charts/alone.rs", of: "the SVG format" },
    Foreign { below: "crates/results/src/earlier.rs", of: "earlier versions of this program" },
    Foreign { below: "crates/study/src/plan/needs.rs", of: "the kernel" },
    Foreign { below: "crates/tare/src/cli/problem.rs", of: "errors of libraries, to be shown only" },
    Foreign { below: "crates/tare/src/cli/args.rs", of: "clap, to be shown only" },
    Foreign { below: "crates/topology/src/observe/pages.rs", of: "the kernel" },
];
