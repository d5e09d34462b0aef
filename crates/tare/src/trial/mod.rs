//! One trial: apply settings, start, bind, load, verify, stop, restore, append one record.
//!
//! | file | content |
//! | --- | --- |
//! | `job` | the input of a trial, and what its load reports to it: progress, captures |
//! | `measure` | the sequence of a trial, and its record |
//! | `load` | the load against the server: also of `tare load`, which is one trial |
//! | `lifetime` | the rungs of a ladder, which share a server, and a load whose parts need a server each |
//! | `server_start` | the restored data, and the server on it, with the memory policies of its placement |
//! | `running` | a running server, instead of one on a copy of the data |
//! | `settings` | settings of the machine, the server process, the server and its connections: applied, verified |
//! | `two_hosts`, `agent` | a trial whose clients are on another host: the server's half and the clients' half |
//! | `samples` | which samples are valid, and which were disturbed |
//! | `error` | why a trial has no result: also the end of its server, or of a process for lack of memory |

pub(crate) mod agent;
mod error;
mod job;
mod lifetime;
pub(crate) mod load;
mod measure;
pub(crate) mod running;
pub(crate) mod samples;
pub(crate) mod server_start;
mod settings;
mod two_hosts;

pub(crate) use error::TrialError;
pub(crate) use job::Trial;
pub(crate) use settings::verify_charset;
