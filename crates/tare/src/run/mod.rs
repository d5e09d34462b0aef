//! The run: trials one after another, each in a process of its own.
//!
//! | file | content |
//! | --- | --- |
//! | `execute` | the loop over trials: which is next, and how it ended |
//! | `runner` | the interfaces of a run: who runs a trial, what it gets, who is notified, who stores plan and records |
//! | `child`, `children` | trials as child processes, one at a time |
//! | `meeting` | where the two trials of a pair wait for each other |
//! | `early` | what ends a run early: all fail alike, repeats in vain, the time limit |

mod child;
mod children;
mod early;
mod execute;
#[cfg(test)]
mod looked;
mod meeting;
mod runner;
#[cfg(test)]
mod schedules;

pub(crate) use child::{Message, Stop};
pub(crate) use children::Children;
pub(crate) use early::IN_VAIN;
pub(crate) use execute::{Run, RunEnd};
pub use execute::{settled, settled_loads};
pub(crate) use runner::{Attempt, Book, Ended, Failure, Handed, Listener, Prepared, RunError, Runner};
