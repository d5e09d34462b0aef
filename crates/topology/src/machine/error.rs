//! Errors of reading the description of a machine.

use std::path::PathBuf;

/// Why the description of a machine could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum MachineError {
    /// hwloc failed to discover this machine.
    #[error("hwloc could not discover this machine: {0}")]
    Discovery(String),
    /// Environment variables make hwloc describe another machine.
    #[error(
        "hwloc describes another machine than this one; unset HWLOC_SYNTHETIC, HWLOC_XMLFILE, HWLOC_FSROOT and \
         HWLOC_THISSYSTEM"
    )]
    NotThisMachine,
    /// The CPUs of this process could not be read.
    #[error("could not read the CPU affinity of this process: {0}")]
    Affinity(#[source] std::io::Error),
    /// hwloc knows none of the CPUs that this process may run on.
    #[error("hwloc knows none of the CPUs this process may run on ({allowed})")]
    NoCpus { allowed: tare_cpuset::CpuSet },
    /// hwloc does not accept the text as a synthetic description.
    #[error(
        "{description:?} is neither an existing file nor an hwloc synthetic description, such as \"node:4 core:32 pu:1\""
    )]
    Synthetic { description: String },
    /// A described machine is larger than any real one.
    #[error("the machine {what} has more than {most} PUs (logical CPUs), the limit of a described machine")]
    TooManyPus { what: String, most: usize },
    /// The XML file could not be read.
    #[error("could not read the hwloc XML file {}: {source}", path.display())]
    XmlUnreadable { path: PathBuf, source: std::io::Error },
    /// The format of the file is newer than version 2 of hwloc.
    #[error(
        "{} was written by hwloc {version} or later, and only files of version 2 can be read; on that machine write it \
         with: lstopo --export-xml-flags V2 machine.xml",
        path.display()
    )]
    XmlTooNew { path: PathBuf, version: String },
    /// The child process that reads descriptions failed.
    #[error("cannot read the machine {what}: {reason}")]
    Reader { what: String, reason: String },
    /// hwloc does not accept the file as its XML.
    #[error("{} is not an hwloc XML file (as written by `lstopo machine.xml`)", path.display())]
    XmlInvalid { path: PathBuf },
}
