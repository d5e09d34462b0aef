//! The run: trials one after another, each in a process of its own.
//!
//! | file | holds |
//! | --- | --- |
//! | `execute` | the loop over trials: which comes next, and what became of it |
//! | `runner` | whom it works with: who runs a trial, who is told, who keeps plan and records |
//! | `child`, `children` | trials as child processes, one at a time |
//! | `handed` | what a trial is handed by its run, and believes no file for |
//! | `error` | why a run could not go on, and an error of a child process, whole |
//! | `deadline` | the time that a run was given |
//! | `repeats` | when trials that were disturbed are no longer run again |

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

pub use child::{Message, Stop};
pub use children::Children;
pub use error::{Failure, RunError};
pub use execute::{Run, RunEnd, settled};
pub use handed::Handed;
pub use repeats::IN_VAIN;
pub use runner::{Attempt, Book, Ended, Listener, Prepared, Runner};
