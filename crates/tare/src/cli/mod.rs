//! The command line: one file a command. The only place that renders errors and chooses exit codes.

mod args;
mod exit;
mod problem;

pub use args::main;
pub use exit::Exit;
pub use problem::Problem;
