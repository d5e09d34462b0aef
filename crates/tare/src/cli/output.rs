//! Writing to standard output without a panic when the reader has gone (`tare show | head`).

use super::{Exit, Problem};
use serde::Serialize;
use std::io::{self, ErrorKind, Write};

/// Prints text on standard output. A closed pipe is no problem.
pub fn text(text: &str) -> Result<(), Problem> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Problem::new(Exit::Machine, format!("cannot write to standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// Tells people something alongside the result, on standard error. No one listening is no reason to stop a run.
pub fn note(line: &str) {
    // What servers, logs and names say is in it.
    let _ = writeln!(io::stderr().lock(), "{}", tare_text::shown(line));
}

/// A command to the CI system that reads the log; what is in it from outside is escaped already.
pub fn command(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Prints one JSON document.
pub fn json<T: Serialize>(value: &T) -> Result<(), Problem> {
    let document = serde_json::to_string_pretty(value)
        .map_err(|e| Problem::new(Exit::Machine, format!("cannot write JSON: {e}")))?;
    text(&(document + "\n"))
}

/// Seconds as people say them: `45 s`, `12 min`, `3 h 20 min`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round().max(0.0) as u64;
    match whole {
        0..=119 => format!("{whole} s"),
        120..=7199 => format!("{} min", whole.div_ceil(60)),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}
