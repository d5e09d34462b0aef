//! Writing to standard output without a panic when the reader has gone (`tare show | head`).

use super::{Exit, Problem};
use serde::Serialize;
use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use tare_report::terminal::{Style, wrap};
/// A plan's time: what it takes is no less.
pub use tare_text::duration_at_most as duration;

/// Prints text on standard output, in which names of processes, files and servers steer no terminal.
pub fn text(text: &str) -> Result<(), Problem> {
    as_is(&tare_text::shown(text))
}

/// Prints what programs read, and what has colours and shows its names already. A closed pipe is no problem.
pub fn as_is(text: &str) -> Result<(), Problem> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Problem::new(Exit::Machine, format!("cannot write to standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// Prints lines for people on standard output, which break at words where that is a terminal.
pub fn lines(lines: &str) -> Result<(), Problem> {
    let width = Style::of_stdout(None).width;
    text(&width.map_or_else(|| lines.to_owned(), |width| broken(lines, width)))
}

/// Tells people something alongside the result, on standard error. No one listening is no reason to stop a run.
pub fn note(line: &str) {
    // What servers, logs and names say is in it.
    let _ = writeln!(io::stderr().lock(), "{}", fitted(&tare_text::shown(line)));
}

/// Columns of the terminal that standard error is; none where it is none, or none that says so.
pub fn columns() -> Option<u16> {
    let err = io::stderr();
    let size = err.is_terminal().then(|| rustix::termios::tcgetwinsize(&err).ok()).flatten();
    size.map(|size| size.ws_col).filter(|columns| *columns > 0)
}

/// Text for standard error, whose long lines break at words where that is a terminal.
pub fn fitted(text: &str) -> String {
    columns().map_or_else(|| text.to_owned(), |columns| broken(text, columns))
}

/// Lines that are longer than so many columns break at words; what follows stands below what they began with.
fn broken(text: &str, width: u16) -> String {
    let style = Style { width: Some(width), ..Style::default() };
    let line = |line: &str| {
        if line.chars().count() <= usize::from(width) {
            return line.to_owned();
        }
        let indent = line.len() - line.trim_start().len();
        // What stands in columns goes on in its own, where that leaves half of the line, or behind further columns a
        // third, and room for every word.
        let longest = |text: &str| text.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0);
        let begins = |at: usize, c: char| at > indent && c != ' ' && line[..at].ends_with("  ");
        let columns = line.char_indices().filter(|(at, c)| begins(*at, *c)).map(|(at, _)| at).enumerate();
        let room = |(before, at): &(usize, usize)| {
            let most = if *before == 0 { usize::from(width) / 2 } else { usize::from(width) * 2 / 3 };
            *at <= most && at + longest(&line[*at..]) <= usize::from(width)
        };
        let wrapped = match columns.filter(room).last() {
            Some((_, at)) => wrap(style, &line[..at], &" ".repeat(line[..at].chars().count()), &line[at..]),
            None => wrap(style, &line[..indent], &" ".repeat(indent + 2), line),
        };
        wrapped.trim_end().to_owned()
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// A command to the CI system that reads the log; what is in it from outside is escaped already.
pub fn command(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Version of every document; a document that changes incompatibly gets a number of its own.
const VERSION: u32 = 1;

/// Whether a document is on standard output already: an error after it gets none of its own.
static PRINTED: AtomicBool = AtomicBool::new(false);

/// What every document begins with: docs/schema has a file of each name.
#[derive(Serialize)]
struct Headed<'a, T> {
    schema: &'static str,
    version: u32,
    #[serde(flatten)]
    rest: &'a T,
}

/// Prints the one JSON document of a command: the fields of `rest`, which has some, below its schema and version.
pub fn document<T: Serialize>(schema: &'static str, rest: &T) -> Result<(), Problem> {
    let document = document_text(schema, rest)?;
    PRINTED.store(true, Ordering::Relaxed);
    as_is(&tare_text::shown_json(&document))
}

pub fn document_text<T: Serialize>(schema: &'static str, rest: &T) -> Result<String, Problem> {
    pretty(&Headed { schema, version: VERSION, rest })
}

/// JSON as files and documents have it.
pub fn pretty(document: &impl Serialize) -> Result<String, Problem> {
    serde_json::to_string_pretty(document)
        .map(|document| document + "\n")
        .map_err(|e| Problem::new(Exit::Machine, format!("cannot write JSON: {e}")))
}

#[derive(Serialize)]
struct ErrorJson<'a> {
    error: &'a str,
    #[serde(rename = "where")]
    place: Option<&'a str>,
    expected: Option<&'a str>,
    advice: Option<&'a str>,
    exit: u8,
}

/// Prints an error where the command line asks for JSON and no document is there yet. It stands on standard error too.
pub fn error(problem: &Problem) {
    if !asked(std::env::args_os().skip(1)) || PRINTED.load(Ordering::Relaxed) {
        return;
    }
    // A reader that has gone away reads no error either.
    let _ = document(
        "tare-error",
        &ErrorJson {
            error: &problem.what,
            place: problem.place.as_deref(),
            expected: problem.expected.as_deref(),
            advice: problem.advice.as_deref(),
            exit: problem.exit as u8,
        },
    );
}

/// Whether these words of a command line ask for JSON.
fn asked(words: impl Iterator<Item = OsString>) -> bool {
    words.take_while(|word| word != "--").any(|word| word == "--json")
}

/// `30min`, `90s`, `2h`, `500ms` or a bare number of seconds.
pub fn seconds(text: &str) -> Option<f64> {
    let units = [("min", 60.0), ("h", 3600.0), ("m", 60.0), ("ms", 1e-3), ("s", 1.0), ("", 1.0)];
    let (number, factor) = units.into_iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    number.trim().parse().ok().map(|number: f64| number * factor).filter(|seconds| seconds.is_finite())
}

/// A time in which something can be done.
pub fn time(text: &str) -> Result<f64, String> {
    seconds(text).filter(|s| *s > 0.0).ok_or_else(|| "expected a time such as 30min, 90s or 2h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_break_at_words_and_keep_their_indent() {
        let text = "one two three four five\n  six seven eight nine";
        assert_eq!(broken(text, 20), "one two three four\n  five\n  six seven eight\n    nine");
        assert_eq!(broken("  nodes   1, 2, 4, 8, 16", 20), "  nodes   1, 2, 4,\n          8, 16");
        assert_eq!(broken("claim  holds  4096 (4 to 5); 4", 23), "claim  holds  4096 (4\n              to 5); 4");
        assert_eq!(broken("report:  /a/long/path/of/it", 40), "report:  /a/long/path/of/it");
    }
}
