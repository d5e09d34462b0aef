//! The command line: one file a command. The only place that renders errors and chooses exit codes.

mod args;
pub mod compare;
mod exit;
mod output;
mod problem;
pub mod report;
mod results_problem;
pub mod show;

pub use args::main;
pub use exit::Exit;
pub use problem::Problem;
