//! Files of statements that come with the program: those of `studies/loads`, compiled in.

use tare_text::UnknownWord;

const INSERT_BENCHMARK: &str = include_str!("../../../../../studies/loads/insert-benchmark.toml");
const MICROBENCHMARKS: &str = include_str!("../../../../../studies/loads/microbenchmarks.toml");

/// Their names, as `workload.builtin` and `tare load` take them.
pub const NAMES: [&str; 2] = ["insert-benchmark", "microbenchmarks"];

pub(super) fn text(name: &str) -> Result<&'static str, String> {
    match name {
        "insert-benchmark" => Ok(INSERT_BENCHMARK),
        "microbenchmarks" => Ok(MICROBENCHMARKS),
        _ => Err(UnknownWord::among(name, &NAMES).to_string()),
    }
}
