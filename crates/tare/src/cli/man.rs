//! `tare man` and `tare completions`: manual pages and shell completions, from the same definitions as `--help`.

use super::{Exit, Problem, output};
use clap::{Args, Command};
use clap_complete::Shell;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// An existing directory for tare.1, tare-run.1 and so on
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Writes one page for the program that `table` describes and one for each of its commands.
pub(crate) fn run(args: &ManArgs, table: Command) -> Result<Exit, Problem> {
    clap_mangen::generate_to(table, &args.directory).map_err(|error| {
        Problem::new(Exit::Machine, format!("cannot write manual pages into {}: {error}", args.directory.display()))
            .expected("a directory that exists and can be written")
    })?;
    Ok(Exit::Done)
}

#[derive(Debug, Args)]
#[command(after_help = "For bash:\n  tare completions bash > ~/.local/share/bash-completion/completions/tare")]
pub(crate) struct CompletionsArgs {
    /// The shell to print them for
    shell: Shell,
}

/// Prints the completions of the program that `table` describes.
pub(crate) fn complete(args: &CompletionsArgs, mut table: Command) -> Result<Exit, Problem> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut table, "tare", &mut script);
    output::as_is(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
