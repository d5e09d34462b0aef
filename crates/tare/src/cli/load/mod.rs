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

pub use command::{LoadCommand, run};

/// The section and the key of a study that an option of `tare load` sets, by any of its names without `--`.
pub fn key_of(option: &str) -> Option<(&'static str, &'static str)> {
    use options::KeyOptions as _;
    let all = [run_args::RunKeys::OPTIONS, oltp_args::MakeUpKeys::OPTIONS, server_args::ServerKeys::OPTIONS];
    all.into_iter().flatten().find(|known| known.is_named(option)).map(|known| known.key)
}
