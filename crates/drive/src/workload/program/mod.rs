//! External programs as clients: code shared by the loads `command`, `sysbench` and `pgbench`.
//!
//! | file | holds |
//! | --- | --- |
//! | `line` | command lines with placeholders |
//! | `process`, `output` | a program as a process: its resource usage, its output, its end with all its children |
//! | `measure` | one run: threads found, bound, paired, watched |
//! | `content` | the content of the program files as they ran |
//! | `stop_guard` | stopping a client briefly while its server is observed |
//! | `timed` | one run per sample, for programs that run for a given time |
//! | `values` | values of placeholders on this server; a password file for programs that need one |
//! | `parse/` | parsers of the programs' results |
//! | `error` | errors of external programs |

mod content;
mod error;
mod line;
mod measure;
mod output;
pub mod parse;
mod process;
mod stop_guard;
pub(crate) mod timed;
mod values;

pub use error::ProgramError;
pub use line::CommandLine;
pub(crate) use line::{Values, is_there, joined, may_run, option_words};
pub(crate) use measure::{Begins, Client, Ran, run};
pub(crate) use parse::{Interval, Parser, Report};
pub use process::{Ended, Job, Usage, to_its_end};
pub(crate) use process::{OF_SESSIONS, run_quietly};
pub(crate) use timed::NO_CAPTURES;
pub(crate) use values::{ServerValues, of_stage};
