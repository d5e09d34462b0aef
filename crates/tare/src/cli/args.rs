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
    Show(super::show::Show),
    Compare(super::compare::Compare),
    Report(super::report::Report),
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
        Command::Show(args) => super::show::run(args),
        Command::Compare(args) => super::compare::run(args),
        Command::Report(args) => super::report::run(args),
    }
}
