//! External programs as clients: code shared by the loads `command`, `sysbench` and `pgbench`.
//!
//! | file | holds |
//! | --- | --- |
//! | `line` | command lines with placeholders; their values, and a password file for programs that need one |
//! | `process`, `output` | a program as a process: its resource usage, its output, its end with all its children; errors |
//! | `measure` | one run: threads found, bound, paired, watched; stopping it briefly; the content of its files |
//! | `timed` | one run per sample, for programs that run for a given time |
//! | `parse/` | parsers of the programs' results |

mod line;
mod measure;
mod output;
pub mod parse;
mod process;
pub(crate) mod timed;

pub use line::CommandLine;
pub(crate) use line::{ServerValues, Values, is_there, joined, may_run, of_stage, option_words};
pub(crate) use measure::{Begins, Client, Ran, run};
pub use output::ProgramError;
pub(crate) use parse::{Interval, Parser, Report};
pub use process::{Ended, Job, Usage, to_its_end};
pub(crate) use process::{OF_SESSIONS, run_quietly};
pub(crate) use timed::NO_CAPTURES;
