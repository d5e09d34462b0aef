//! `tare bisect`: finds the first slower commit of a line of commits.

mod builds;
mod command;
mod git;
mod measure;
mod request;
mod search;
mod view;

pub use command::{BisectArgs, run};
