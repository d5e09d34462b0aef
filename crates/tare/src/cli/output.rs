//! Standard output: one JSON document, or text.

use super::{Exit, Problem};
use serde::Serialize;
use std::io::{ErrorKind, Write};

/// Prints one JSON document.
pub(super) fn json(value: &impl Serialize) -> Result<(), Problem> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Problem::new(Exit::TrialFailed, format!("cannot write JSON: {error}")))?;
    self::text(&format!("{text}\n"))
}

/// Prints text. A reader that has gone away (`tare show | head`) is not an error.
pub(super) fn text(text: &str) -> Result<(), Problem> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Problem::new(Exit::Machine, format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}
