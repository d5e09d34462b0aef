//! Names of factors: those that vary an option of the engine, `option.NAME`, and those whose levels are loads.

/// Factors whose levels are loads: workloads, or transactions of a file of statements.
pub const LOADS: [&str; 2] = ["workload", "transaction"];

const OPTION: &str = "option.";

/// The option that the factor varies; none for other factors.
pub fn option(factor: &str) -> Option<&str> {
    factor.strip_prefix(OPTION)
}

/// The factor that varies this option of the engine.
pub fn of_option(option: &str) -> String {
    format!("{OPTION}{option}")
}
