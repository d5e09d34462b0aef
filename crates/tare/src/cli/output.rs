//! Writes to standard output and standard error without a panic if the reader has gone (`tare show | head`).

use super::{Exit, Problem};
use serde::Serialize;
use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tare_report::terminal::{Style, wrap};
/// Formats the duration of a plan; minutes are rounded up.
pub use tare_text::duration_at_most as duration;
use tare_text::object;

/// Prints text on standard output; control characters in names of processes, files and servers are made harmless.
pub(crate) fn text(text: &str) -> Result<(), Problem> {
    as_is(&tare_text::shown(text))
}

/// Prints text unchanged: for programs, or already escaped and with colours. A closed pipe is not an error.
pub(crate) fn as_is(text: &str) -> Result<(), Problem> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Problem::new(Exit::Machine, format!("cannot write to standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// Prints lines for people on standard output; on a terminal they wrap at words.
pub(crate) fn lines(lines: &str) -> Result<(), Problem> {
    let width = Style::of_stdout(None).width;
    text(&width.map_or_else(|| lines.to_owned(), |width| broken(lines, width)))
}

/// Prints a message for people on standard error. A write error must not stop a run.
pub(crate) fn note(line: &str) {
    // The line may contain output of servers, log lines and names.
    let _ = writeln!(io::stderr().lock(), "{}", fitted(&tare_text::shown(line)));
}

/// Columns of the terminal on standard error; `None` if it is not a terminal or does not report a width.
pub(crate) fn columns() -> Option<u16> {
    let err = io::stderr();
    let size = err.is_terminal().then(|| rustix::termios::tcgetwinsize(&err).ok()).flatten();
    size.map(|size| size.ws_col).filter(|columns| *columns > 0)
}

/// Text for standard error; on a terminal, long lines wrap at words.
pub(crate) fn fitted(text: &str) -> String {
    columns().map_or_else(|| text.to_owned(), |columns| broken(text, columns))
}

/// Wraps lines that are longer than `width` at words; continuation lines are indented.
fn broken(text: &str, width: u16) -> String {
    let style = Style { width: Some(width), ..Style::default() };
    let line = |line: &str| {
        if line.chars().count() <= usize::from(width) {
            return line.to_owned();
        }
        let indent = line.len() - line.trim_start().len();
        // In a table, the text continues in its column if that begins in the first half of the line, for a further
        // column in the first two thirds, and if the longest word fits.
        let longest = |text: &str| text.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0);
        let begins = |at: usize, c: char| at > indent && c != ' ' && line[..at].ends_with("  ");
        let columns = || line.char_indices().filter(|(at, c)| begins(*at, *c)).map(|(at, _)| at).enumerate();
        let room = |(before, at): &(usize, usize)| {
            let most = if *before == 0 { usize::from(width) / 2 } else { usize::from(width) * 2 / 3 };
            *at <= most && at + longest(&line[*at..]) <= usize::from(width)
        };
        let under = |text: &str, by: usize, more: usize| wrap(style, &" ".repeat(by), &" ".repeat(by + more), text);
        let wrapped = match (columns().filter(room).last(), columns().next()) {
            (Some((_, at)), _) => wrap(style, &line[..at], &" ".repeat(line[..at].chars().count()), &line[at..]),
            // No column has room: without alignment, or else what follows the first column is on lines of its own.
            (None, first) => match (under(line, indent, 2), first) {
                (whole, Some((_, at))) if whole.lines().count() > 1 => {
                    under(&line[..at], indent, 2) + &under(&line[at..], indent + 4, 0)
                }
                (whole, _) => whole,
            },
        };
        wrapped.trim_end().to_owned()
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Prints a command to the CI system that reads the log; the caller has escaped foreign text in it.
pub(crate) fn command(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Version of every document; a document that changes incompatibly will get a number of its own.
const VERSION: u32 = 1;

/// The document of this command, printed at its end: only then it is known whether an error belongs to it.
static DOCUMENT: Mutex<Option<String>> = Mutex::new(None);

/// The first fields of every document: docs/schema has a file for each name.
#[derive(Serialize)]
struct Headed<'a, T> {
    schema: &'static str,
    version: u32,
    #[serde(flatten)]
    rest: &'a T,
}

/// A path as a word of a command to paste.
pub(crate) fn quoted_path(path: &Path) -> String {
    tare_text::quoted(&path.to_string_lossy())
}

/// Keeps the one JSON document of a command for [`end`]: schema and version, then the fields of `rest`, which must have
/// some.
pub(crate) fn document<T: Serialize>(schema: &'static str, rest: &T) -> Result<(), Problem> {
    *kept() = Some(document_text(schema, rest)?);
    Ok(())
}

fn kept() -> MutexGuard<'static, Option<String>> {
    DOCUMENT.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn document_text<T: Serialize>(schema: &'static str, rest: &T) -> Result<String, Problem> {
    pretty(&Headed { schema, version: VERSION, rest })
}

/// The JSON format of files and documents.
pub(crate) fn pretty(document: &impl Serialize) -> Result<String, Problem> {
    serde_json::to_string_pretty(document)
        .map(|document| document + "\n")
        .map_err(|e| Problem::new(Exit::Machine, format!("cannot write JSON: {e}")))
}

/// Prints the document of a command that has ended. An error is its last field, or a document of its own if there is no
/// other and the command line requests JSON.
pub(crate) fn end(problem: Option<&Problem>) -> Result<(), Problem> {
    let error = problem.map(|problem| {
        object! {
            error: &problem.what,
            #[serde(rename = "where")]
            place: problem.place.as_deref(),
            expected: problem.expected.as_deref(),
            advice: problem.advice.as_deref(),
            exit: problem.exit as u8,
        }
    });
    let document = match (kept().take(), error) {
        (Some(document), None) => document,
        (Some(document), Some(error)) => with_error(&document, &pretty(&error)?),
        (None, Some(error)) if json_is_requested(std::env::args_os().skip(1)) => document_text("tare-error", &error)?,
        (None, _) => return Ok(()),
    };
    as_is(&tare_text::shown_json(&document))
}

/// A document with an error as its last field.
fn with_error(document: &str, error: &str) -> String {
    let fields = document.trim_end().strip_suffix('}').unwrap_or(document).trim_end();
    format!("{fields},\n  \"error\": {}\n}}\n", error.trim_end().replace('\n', "\n  "))
}

/// Whether these arguments of a command line request JSON.
fn json_is_requested(words: impl Iterator<Item = OsString>) -> bool {
    words.take_while(|word| word != "--").any(|word| word == "--json")
}

/// Parses a time in seconds: `30min`, `90s`, `2h`, `500ms` or a number without a unit.
pub(crate) fn seconds(text: &str) -> Option<f64> {
    let units = [("min", 60.0), ("h", 3600.0), ("m", 60.0), ("ms", 1e-3), ("s", 1.0), ("", 1.0)];
    let (number, factor) = units.into_iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    number.trim().parse().ok().map(|number: f64| number * factor).filter(|seconds| seconds.is_finite())
}

/// Parses a time above 0.
pub(crate) fn time(text: &str) -> Result<f64, String> {
    seconds(text).filter(|s| *s > 0.0).ok_or_else(|| "expected a time such as 30min, 90s or 2h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_the_last_field_of_a_document() {
        let document = document_text("tare-x", &object! { text: "}" }).unwrap();
        let error = pretty(&object! { error: "a\n}", exit: 4 }).unwrap();
        let whole: serde_json::Value = serde_json::from_str(&with_error(&document, &error)).unwrap();
        assert_eq!(
            (&whole["text"], &whole["error"]["error"], &whole["error"]["exit"]),
            (&"}".into(), &"a\n}".into(), &4.into())
        );
    }

    #[test]
    fn notes_wrap_at_words_and_keep_their_indentation() {
        let text = "one two three four five\n  six seven eight nine";
        assert_eq!(broken(text, 20), "one two three four\n  five\n  six seven eight\n    nine");
        assert_eq!(broken("  nodes   1, 2, 4, 8, 16", 20), "  nodes   1, 2, 4,\n          8, 16");
        assert_eq!(broken("  client 0-1,12  a=node:near b=on", 24), "  client 0-1,12\n      a=node:near b=on");
        assert_eq!(broken("run again            0  1", 20), "run again 0 1");
        assert_eq!(broken("claim  holds  4096 (4 to 5); 4", 23), "claim  holds  4096 (4\n              to 5); 4");
        assert_eq!(broken("report:  /a/long/path/of/it", 40), "report:  /a/long/path/of/it");
    }
}
