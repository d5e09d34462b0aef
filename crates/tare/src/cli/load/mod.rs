//! `tare load`: the load generator alone, against any running server.

mod command;
mod lines;
mod measure;
mod measured_system;
mod oltp;
mod oltp_args;
mod options;
mod request;
mod rows;
mod run_args;
mod scripts;
mod search_view;
mod server_args;
mod sql_view;
mod stage;
mod threads;
mod tpcc;
mod tpcc_args;
mod tpcc_view;
mod view;

pub(crate) use command::run;
pub(crate) use command::{LoadCommand, key_of};
