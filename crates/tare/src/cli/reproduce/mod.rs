//! `tare reproduce`: published claims against this machine.
//!
//! | file | holds |
//! | --- | --- |
//! | `command` | the options, and what they choose |
//! | `predict` | what is going to be run, in how much time, written down before the first trial |
//! | `carry_out` | experiment by experiment, and the verdict on each claim |
//! | `view` | claims and verdicts for people and as JSON |

mod carry_out;
mod command;
mod predict;
mod view;

pub use command::{ReproduceArgs, run};
