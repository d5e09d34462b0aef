//! The built-in studies: files of `studies/`, compiled in.

#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    pub name: &'static str,
    /// Its TOML text, as `tare studies NAME` prints it.
    pub text: &'static str,
}

/// All of them, beginning with those for new users.
pub const BUILTIN: &[Builtin] = &[
    Builtin { name: "first-look", text: include_str!("../../../../studies/first-look.toml") },
    Builtin { name: "side-by-side", text: include_str!("../../../../studies/side-by-side.toml") },
    Builtin { name: "luck", text: include_str!("../../../../studies/luck.toml") },
    Builtin { name: "mind-your-core", text: include_str!("../../../../studies/mind-your-core.toml") },
    Builtin { name: "numa-scaling", text: include_str!("../../../../studies/numa-scaling.toml") },
    Builtin { name: "microbenchmarks", text: include_str!("../../../../studies/microbenchmarks.toml") },
    Builtin { name: "insert-benchmark", text: include_str!("../../../../studies/insert-benchmark.toml") },
    Builtin { name: "node-matrix", text: include_str!("../../../../studies/node-matrix.toml") },
    Builtin { name: "huge-or-near", text: include_str!("../../../../studies/huge-or-near.toml") },
    Builtin { name: "tpcc", text: include_str!("../../../../studies/tpcc.toml") },
    Builtin { name: "global-counters", text: include_str!("../../../../studies/global-counters.toml") },
    Builtin { name: "single-thread-stability", text: include_str!("../../../../studies/single-thread-stability.toml") },
    Builtin { name: "query-21", text: include_str!("../../../../studies/query-21.toml") },
    Builtin { name: "no-effect-list", text: include_str!("../../../../studies/no-effect-list.toml") },
];

pub fn find(name: &str) -> Option<&'static Builtin> {
    BUILTIN.iter().find(|b| b.name == name)
}
