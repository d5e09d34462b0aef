//! The run: trials one after another, each in a process of its own.
//!
//! | file | holds |
//! | --- | --- |
//! | `execute` | the loop over trials: which comes next, and what became of it |
//! | `runner` | who runs a trial, and what is known of it then |
//! | `book` | where plan and records are kept |
//! | `child`, `children` | trials as child processes, one at a time |
//! | `handed` | what a trial is handed by its run, and believes no file for |
//! | `failure` | an error of a child process, whole |
//! | `error` | why a run could not go on |
//! | `deadline` | the time that a run was given |
//! | `listener` | who is told what happens |
//! | `repeats` | when trials that were disturbed are no longer run again |

mod alike;
mod book;
mod child;
mod children;
mod deadline;
mod error;
mod execute;
mod failure;
mod handed;
mod listener;
#[cfg(test)]
mod recorded;
mod repeats;
mod runner;
#[cfg(test)]
mod schedules;

pub use book::Book;
pub use child::{Message, Stop};
pub use children::Children;
pub use error::RunError;
pub use execute::{Run, RunEnd};
pub use failure::Failure;
pub use handed::Handed;
pub use listener::Listener;
pub use repeats::IN_VAIN;
pub use runner::{Attempt, Ended, Prepared, Runner};
