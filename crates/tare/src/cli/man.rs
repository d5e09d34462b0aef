//! `tare man`: the manual pages, made of the same table as `--help`.

use super::{Exit, Problem};
use clap::{Args, Command};
use std::path::PathBuf;

/// Options of `tare man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// An existing directory for tare.1, tare-run.1 and so on
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Writes one page for the program that `table` describes and one for each of its commands.
pub fn run(args: &ManArgs, table: Command) -> Result<Exit, Problem> {
    clap_mangen::generate_to(table, &args.directory).map_err(|error| {
        Problem::new(Exit::Machine, format!("cannot write manual pages into {}: {error}", args.directory.display()))
            .expected("a directory that exists and can be written")
    })?;
    Ok(Exit::Done)
}
