//! `tare load`: the load generator alone, against any running server.

mod command;
mod lines;
mod measure;
mod oltp_args;
mod options;
mod other_views;
mod request;
mod tpcc;
mod view;

pub(crate) use command::run;
pub(crate) use command::{LoadCommand, key_of};
