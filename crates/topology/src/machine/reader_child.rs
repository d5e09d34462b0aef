//! The child process of a [`TopologyReader`](super::TopologyReader): limits itself, reads a description, answers.

use super::model::Machine;
use super::xml::{Refused, parse};
use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
use std::io::{self, Read, Write};

/// The answer of the child, written as JSON.
pub(super) type Answer = Result<Machine, Refused>;

/// Limit of the child's address space.
pub(super) const MEMORY_BYTES: u64 = 1 << 30;

/// Largest answer: a malicious file of a few kilobytes can describe very many objects.
pub(super) const ANSWER_BYTES: u64 = 64 << 20;

/// CPU time limit of the child, seconds, in case its parent cannot kill it.
const CPU_S: u64 = 10;

/// Limits this process permanently, reads the description and writes the answer to standard output.
pub(super) fn answer(description: Option<&str>) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    limit(Resource::As, MEMORY_BYTES)?;
    limit(Resource::Cpu, CPU_S)?;
    limit(Resource::Fsize, ANSWER_BYTES)?;
    limit(Resource::Core, 0)?;
    let answer: Answer = match description {
        Some(description) => Machine::synthetic(description).map_err(|_| Refused::Invalid),
        None => {
            let mut xml = Vec::new();
            io::stdin().lock().read_to_end(&mut xml)?;
            String::from_utf8(xml).map_err(|_| Refused::Invalid).and_then(|xml| parse(&xml))
        }
    };
    let text = serde_json::to_vec(&answer)?;
    let mut output = io::stdout().lock();
    output.write_all(&text)?;
    output.flush()
}

fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let maximum = rustix::process::getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
    Ok(setrlimit(resource, Rlimit { current: Some(maximum), maximum: Some(maximum) })?)
}
