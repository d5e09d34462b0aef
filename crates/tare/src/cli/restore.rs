//! `tare restore`: restores machine settings from the journal and removes what a killed run left.

use super::{Exit, Problem, output};
use clap::Args;
use std::path::PathBuf;
use tare_noise::RestoreReport;
use tare_text::count;

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Restores the settings in the journal and prints what was done.
///
/// # Errors
/// When another run works on this machine, or something could not be restored.
pub(crate) fn run(args: &RestoreArgs) -> Result<Exit, Problem> {
    let host = super::execution::take_host()?;
    if args.json {
        output::document("tare-restore", &host.restored)?;
    } else {
        output::text(&rendered(&host.restored, host.reaped.len(), &host.half_made))?;
    }
    match host.restored.failed().count() {
        0 => Ok(Exit::Done),
        failed => Err(Problem::new(Exit::Machine, format!("{} could not be restored", count(failed, "setting")))
            .advice("run `sudo tare restore`; the journal is kept until it succeeds")),
    }
}

fn rendered(report: &RestoreReport, servers: usize, half_made: &[PathBuf]) -> String {
    let mut text = String::new();
    if servers > 0 {
        text.push_str(&format!("removed files and processes of {servers} killed servers or programs\n"));
    }
    for path in half_made {
        text.push_str(&format!("removed {}, whose preparation was interrupted\n", path.display()));
    }
    for file in &report.files {
        text.push_str(&format!("{} ({}) {}\n", file.setting, file.path, file.outcome));
    }
    if text.is_empty() { "nothing to restore\n".to_owned() } else { text }
}
