//! The command line: one file a command. The only place that renders errors and chooses exit codes.

mod args;
mod compare;
mod completions;
mod convert;
mod doctor;
mod engines;
mod exit;
mod export;
mod host;
mod interrupt;
mod load;
mod load_view;
mod man;
mod output;
mod plan_view;
mod problem;
mod read_topology;
mod repair;
mod report;
mod restore;
mod results_problem;
mod run;
mod run_command;
mod run_listener;
mod show;
mod sqlite_server;
mod studies;
mod topo;
mod trial;
mod trust;

pub use args::main;
pub use exit::Exit;
pub use problem::Problem;
