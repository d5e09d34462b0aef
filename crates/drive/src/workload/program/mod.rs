//! Programs of others as clients: what the loads `command`, `sysbench` and `pgbench` share.
//!
//! | file | holds |
//! | --- | --- |
//! | `line` | command lines with placeholders |
//! | `process`, `output` | a program as a process: what it used, what it wrote, ended with all that it started |
//! | `measure` | one run of it: threads found, bound, paired, watched |
//! | `content` | what the program holds, as it ran |
//! | `held` | held for a moment while its server is looked at |
//! | `timed` | one run of it a sample, where it runs for a given time |
//! | `values` | what placeholders become on this server; a password for a program that takes the path of a file |
//! | `parse/` | results in the words of the programs that measured them |
//! | `error` | why it gave no result |

mod content;
mod error;
mod held;
mod line;
mod measure;
mod output;
pub mod parse;
mod process;
pub mod timed;
mod values;

pub use error::ProgramError;
pub use line::{CommandLine, PLACEHOLDERS, Values, installed, is_there, joined, may_run, option_words};
pub use measure::{Begins, Client, Ran, run};
pub use parse::{Interval, Parser, Report};
pub use process::{Ended, Job, Usage, run_quietly, to_its_end};
pub use timed::{NO_CAPTURES, client_sample};
pub use values::{ServerValues, of_stage};
