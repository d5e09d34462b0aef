//! The argument table: every command and option, with the help a user reads.

use clap::{Parser, Subcommand};
use std::process::ExitCode;

use super::Problem;

/// NUMA-aware, noise-controlled benchmarking of databases. Zero the scale before you weigh.
#[derive(Debug, Parser)]
#[command(name = "tare", version, propagate_version = true)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The server process of the embedded engine
    #[command(hide = true)]
    SqliteServer(crate::engine::sqlite::ServeArgs),
}

/// Parses the command line, runs the command, renders its error.
pub fn main() -> ExitCode {
    let args = Args::parse();
    match run(args) {
        Ok(exit) => ExitCode::from(exit as u8),
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::from(problem.exit as u8)
        }
    }
}

fn run(args: Args) -> Result<super::Exit, Problem> {
    match args.command {
        Command::SqliteServer(args) => match crate::engine::sqlite::serve(&args) {
            Ok(()) => Ok(super::Exit::Done),
            Err(error) => Err(Problem::new(super::Exit::Machine, error.to_string())),
        },
    }
}
