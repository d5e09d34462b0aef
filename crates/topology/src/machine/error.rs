//! What can go wrong when a machine is described.

use std::path::PathBuf;

/// Why a machine could not be described.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// hwloc failed to look at this machine.
    #[error("hwloc could not discover this machine: {0}")]
    Discovery(String),
    /// The environment makes hwloc describe another machine.
    #[error(
        "hwloc describes another machine than this one; unset HWLOC_SYNTHETIC, HWLOC_XMLFILE, HWLOC_FSROOT and \
         HWLOC_THISSYSTEM"
    )]
    NotThisMachine,
    /// The CPUs of this process could not be read.
    #[error("could not read the CPU affinity of this process: {0}")]
    Affinity(#[source] std::io::Error),
    /// The process may run on no CPU that hwloc knows.
    #[error("hwloc knows none of the CPUs this process may run on ({allowed})")]
    NoCpus {
        /// CPUs of the process's affinity mask.
        allowed: tare_cpuset::CpuSet,
    },
    /// A text that hwloc does not take as a synthetic description.
    #[error(
        "{description:?} is neither an existing file nor an hwloc synthetic description, such as \"node:4 core:32 pu:1\""
    )]
    Synthetic {
        /// The text that was given.
        description: String,
    },
    /// An XML file that could not be read.
    #[error("could not read the hwloc XML file {}: {source}", path.display())]
    XmlUnreadable {
        /// The file that was named.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A file of a format that hwloc 2 does not know.
    #[error(
        "{} was written by hwloc {version} or later, and only files of version 2 can be read; on that machine write it \
         with: lstopo --export-xml-flags V2 machine.xml",
        path.display()
    )]
    XmlTooNew {
        /// The file that was named.
        path: PathBuf,
        /// The version that it says it has.
        version: String,
    },
    /// The process that reads descriptions gave no answer.
    #[error("cannot read the machine {what}: {reason}")]
    Reader {
        /// The file or the description.
        what: String,
        /// What became of the process.
        reason: String,
    },
    /// A file that hwloc does not take as XML.
    #[error("{} is not an hwloc XML file (as written by `lstopo machine.xml`)", path.display())]
    XmlInvalid {
        /// The file that was named.
        path: PathBuf,
    },
}
