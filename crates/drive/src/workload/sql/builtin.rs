//! Files of statements that come with the program: those of `studies/loads`, compiled in.

use tare_text::UnknownWord;

const MICROBENCHMARKS: &str = include_str!("../../../../../studies/loads/microbenchmarks.toml");

/// Their names, as `workload.builtin` and `tare load` take them.
pub const NAMES: [&str; 1] = ["microbenchmarks"];

/// The text of the file of this name.
pub(super) fn text(name: &str) -> Result<&'static str, String> {
    match name {
        "microbenchmarks" => Ok(MICROBENCHMARKS),
        _ => Err(UnknownWord::among(name, &NAMES).to_string()),
    }
}
