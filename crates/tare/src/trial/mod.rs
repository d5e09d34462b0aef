//! One trial: set, start, bind, load, verify, stop, put back, append one record.
//!
//! | file | holds |
//! | --- | --- |
//! | `job` | what a trial is given |
//! | `measure` | the sequence, and the record of it |
//! | `lifetime` | trials that share a server, the rungs of a ladder |
//! | `parts` | a load whose parts need a server of their own each |
//! | `host` | what the load of a trial tells it: progress, captures |
//! | `dataset`, `server_start` | the data, brought back to what was prepared, and the server on them |
//! | `restart`, `running` | a server that someone else runs, in place of one on a copy of the data |
//! | `machine`, `process` | settings of the machine and of the server process: set, verified |
//! | `memory_nodes` | a control group that keeps the server's memory on its nodes |
//! | `asked` | options and the character set, as the server answers them |
//! | `two_hosts`, `agent` | the server's half of a trial whose clients are on another host, and the clients' |
//! | `figures` | which figures are a result |
//! | `disturbance` | which samples were interfered with |
//! | `error` | why a trial has no result |

pub mod agent;
mod asked;
mod dataset;
pub mod disturbance;
mod error;
mod figures;
mod host;
mod job;
mod lifetime;
pub mod machine;
mod measure;
mod memory_nodes;
mod parts;
mod pool_memory;
mod process;
mod restart;
pub mod running;
mod server_start;
mod two_hosts;

pub use error::TrialError;
pub use job::Trial;
