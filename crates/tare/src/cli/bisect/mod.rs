//! `tare bisect`: which commit of a line is the first slower one.

mod asked;
mod builds;
mod command;
mod git;
mod measure;
mod outlook;
mod search;
mod view;

pub use command::{BisectArgs, run};
