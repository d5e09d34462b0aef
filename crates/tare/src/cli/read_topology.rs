//! `tare read-topology` (hidden): reads a described machine in a process of its own, whose crash affects no other.

use super::{Exit, Problem};
use clap::Args;
use tare_study::plan::resolve::Where;
use tare_topology::{Machine, TopologyReader};

#[derive(Debug, Args)]
pub(crate) struct ReadTopologyArgs {
    /// A synthetic description; without it XML is read from standard input
    description: Option<String>,
}

/// Prints the described machine.
///
/// # Errors
/// When no answer can be given; the error of a wrong description is an answer.
pub(crate) fn run(args: &ReadTopologyArgs) -> Result<Exit, Problem> {
    TopologyReader::answer(args.description.as_deref())
        .map(|()| Exit::Done)
        .map_err(|e| Problem::new(Exit::Machine, format!("cannot read the description: {e}")))
}

/// Reads the description of `--topology` with this program in a process of its own.
pub(crate) fn describe(spec: &str) -> Result<Machine, Problem> {
    let program = tare_engine::own_program()
        .map_err(|e| Problem::new(Exit::Machine, format!("cannot find this program's own file: {e}")))?;
    Ok(Machine::describe(spec, &TopologyReader::new(program, ["read-topology"]))?)
}

/// The machine of a plan: the one that `--topology` describes, else this one.
pub(crate) fn machine(spec: Option<&str>) -> Result<(Machine, Where), Problem> {
    match spec {
        Some(spec) => Ok((describe(spec)?, Where::Described)),
        None => Ok((Machine::this()?, Where::Here)),
    }
}
