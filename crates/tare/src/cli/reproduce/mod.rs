//! `tare reproduce`: tests published claims on this machine.
//!
//! | file | content |
//! | --- | --- |
//! | `command` | the options, and the experiments that they select |
//! | `predict` | what will be run and how long it takes, written before the first trial |
//! | `carry_out` | runs the experiments, and the verdict on each claim |
//! | `view` | claims and verdicts as text and as JSON |

mod carry_out;
mod command;
mod predict;
mod view;

pub(crate) use command::ReproduceArgs;
pub(crate) use command::run;
