//! `tare load`: the load generator alone, against any running server.

mod asked;
mod command;
mod lines;
mod oltp;
mod oltp_args;
mod options;
mod run_args;
mod server_args;
mod stage;
mod threads;
mod tpcc;
mod tpcc_args;
mod tpcc_view;
mod view;

pub use command::{LoadCommand, run};
