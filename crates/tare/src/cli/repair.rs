//! `tare repair`: removes damaged lines from the records of a results directory.

use super::{Exit, Problem, output};
use clap::Args;
use std::path::PathBuf;
use tare_files::Trust;
use tare_results::shards::{self, Sharded};
use tare_results::store::Directory;
use tare_text::{count, object};

/// Move damaged lines of a results directory's records to files next to them
#[derive(Debug, Args)]
pub(crate) struct Repair {
    /// A results directory, or a study cut into shards, that nothing is writing to
    results: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Moves damaged lines to other files under the locks of their directories, and prints them.
pub(crate) fn run(args: &Repair) -> Result<Exit, Problem> {
    let damaged = match Sharded::open(&args.results, Trust::Anyone)? {
        Some(sharded) => shards::repair(&sharded)?,
        None => tare_results::repair(Directory::resume(&args.results, Trust::Anyone)?.folder())?,
    };
    if args.json {
        let lines = damaged.iter().map(|d| object! { file: d.path.display().to_string(), line: d.line, what: &d.what });
        output::document("tare-repair", &object! { set_aside: lines.collect::<Vec<_>>() })?;
        return Ok(Exit::Done);
    }
    let mut text: String =
        damaged.iter().map(|d| format!("{}, line {}: {}\n", d.path.display(), d.line, d.what)).collect();
    text.push_str(&match damaged.len() {
        0 => "every line is valid; nothing was changed\n".to_owned(),
        n => format!("moved {} to *.jsonl.damaged next to their file\n", count(n, "damaged line")),
    });
    output::text(&text)?;
    Ok(Exit::Done)
}
