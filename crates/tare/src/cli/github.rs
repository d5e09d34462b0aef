//! A comparison in GitHub Actions: annotations and the step's summary; for other CI systems, Markdown as a file.

use super::{Exit, Problem, output};
use rustix::fs::OFlags;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tare_files::Audience;
use tare_findings::compare::{Gate, Losses};
use tare_report::export::documents::{Judged, annotations, markdown};

pub(crate) struct GithubSummary<'a> {
    pub base: &'a str,
    pub judged: Vec<Judged<'a>>,
    pub losses: &'a [Losses],
    /// The verdict of the gate, if there is one.
    pub gate: Option<Gate>,
    pub notes: &'a [String],
    /// Who may read the results that were compared.
    pub audience: Audience,
}

/// Appends the Markdown to `file` and, in a step of GitHub Actions, to the step's summary; annotates what is slower.
///
/// # Errors
/// [`Problem`] when the file cannot be written. A summary that cannot be written only prints a note.
pub(crate) fn report(summary: &GithubSummary<'_>, file: Option<&Path>) -> Result<(), Problem> {
    let in_step = std::env::var("GITHUB_ACTIONS").is_ok_and(|value| value == "true");
    let text = markdown(summary.base, &summary.judged, summary.losses, summary.gate, summary.notes);
    if let Some(path) = file {
        tare_files::append_named(summary.audience, path, text.as_bytes()).map_err(|error| {
            Problem::new(Exit::Machine, error.to_string())
                .expected("a file that can be written, in a directory that exists")
        })?;
    }
    if in_step {
        annotations(&summary.judged, summary.losses, summary.gate).iter().for_each(|line| output::command(line));
        if let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").map(PathBuf::from)
            && let Err(error) = append(&path, &text)
        {
            output::note(&format!("note: the step's summary cannot be written: {error}"));
        }
    }
    Ok(())
}

/// The user who runs the step chooses the file, so it is opened without further checks; a pipe without a reader is not
/// waited for.
fn append(path: &Path, text: &str) -> std::io::Result<()> {
    let at_once = OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().create(true).append(true).custom_flags(at_once).open(path)?.write_all(text.as_bytes())
}
