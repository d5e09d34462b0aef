//! `tare completions`: what a shell needs to complete commands and options.

use super::{Exit, Problem, output};
use clap::{Args, Command};
use clap_complete::Shell;

/// Options of `tare completions`.
#[derive(Debug, Args)]
#[command(after_help = "For bash: tare completions bash > ~/.local/share/bash-completion/completions/tare")]
pub struct CompletionsArgs {
    /// The shell to print them for
    shell: Shell,
}

/// Prints the completions of the program that `table` describes.
pub fn run(args: &CompletionsArgs, mut table: Command) -> Result<Exit, Problem> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut table, "tare", &mut script);
    output::text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
