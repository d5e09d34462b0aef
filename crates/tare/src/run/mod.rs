//! The run: trials one after another, each in a process of its own.
//!
//! | file | content |
//! | --- | --- |
//! | `execute` | the loop over trials: which is next, and how it ended |
//! | `runner` | the interfaces of a run: who runs a trial, who is notified, who stores plan and records |
//! | `child`, `children` | trials as child processes, one at a time |
//! | `meeting` | where the two trials of a pair wait for each other |
//! | `handed` | what a run passes to a trial, so that it need not trust files |
//! | `error` | why a run could not go on, and the complete error of a child process |
//! | `alike` | detects that every trial fails for the same reason |
//! | `deadline` | the time limit of a run |
//! | `repeats` | when disturbed trials are no longer repeated |

mod alike;
mod child;
mod children;
mod deadline;
mod error;
mod execute;
mod handed;
#[cfg(test)]
mod looked;
mod meeting;
#[cfg(test)]
mod recorded;
mod repeats;
mod runner;
#[cfg(test)]
mod schedules;

pub(crate) use child::{Message, Stop};
pub(crate) use children::Children;
pub(crate) use error::{Failure, RunError};
pub use execute::settled;
pub(crate) use execute::{Run, RunEnd};
pub(crate) use handed::Handed;
pub(crate) use repeats::IN_VAIN;
pub(crate) use runner::{Attempt, Book, Ended, Listener, Prepared, Runner};
