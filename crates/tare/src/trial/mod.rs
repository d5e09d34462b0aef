//! One trial: apply settings, start, bind, load, verify, stop, restore, append one record.
//!
//! | file | content |
//! | --- | --- |
//! | `job` | the input of a trial |
//! | `measure` | the sequence of a trial, and its record |
//! | `lifetime` | trials that share a server, the rungs of a ladder |
//! | `parts` | a load whose parts need a server each |
//! | `host` | what the load reports to its trial: progress, captures |
//! | `dataset`, `server_start` | the restored data, and the server on it |
//! | `restart`, `running` | a running server, instead of one on a copy of the data |
//! | `machine`, `process` | settings of the machine and of the server process: applied, verified |
//! | `memory_nodes` | a control group that keeps the server's memory on its nodes |
//! | `pool_memory` | the memory policy of a server's buffer pool |
//! | `options` | options and the character set, as the server reports them |
//! | `two_hosts`, `agent` | a trial whose clients are on another host: the server's half and the clients' half |
//! | `death` | whether a failure is the end of the server, or of a process for lack of memory |
//! | `figures` | which figures of a sample are valid |
//! | `disturbance` | which samples were disturbed |
//! | `error` | why a trial has no result |

pub(crate) mod agent;
mod dataset;
mod death;
pub(crate) mod disturbance;
mod error;
mod figures;
mod host;
mod job;
mod lifetime;
mod machine;
mod measure;
mod memory_nodes;
mod options;
mod parts;
mod pool_memory;
mod process;
mod restart;
pub(crate) mod running;
mod server_start;
mod two_hosts;

pub(crate) use error::TrialError;
pub(crate) use job::Trial;
