//! The arguments of `tare load`: the loads that have options of their own, and the help text for all.

use super::oltp_args::{LoadArgs, MakeUpKeys};
use super::options::KeyOptions;
use super::run_args::RunKeys;
use super::server_args::ServerKeys;
use super::tpcc_args::TpccArgs;
use super::{oltp, tpcc};
use crate::cli::{Exit, Problem, output};
use clap::{Args, Subcommand};

/// What follows `tare load`: one of sysbench's workloads with its options, or another load with its own.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(next_line_help = true)]
#[command(disable_help_subcommand = true, subcommand_help_heading = "Another load", override_usage = USAGE)]
pub(crate) struct LoadCommand {
    #[command(subcommand)]
    pub other: Option<OtherLoad>,
    #[command(flatten)]
    pub oltp: LoadArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OtherLoad {
    Tpcc(Box<TpccArgs>),
}

const USAGE: &str = "tare load [OPTIONS] <WORKLOAD> [COMMAND]
       tare load tpcc [OPTIONS] [COMMAND]";

const AFTER_HELP: &str = "\
Defaults that differ from sysbench's, which are in brackets:
  ids are drawn uniformly (--rand-type=special)
  up to 10 s of warm-up are not measured (none)
  the measurement takes 60 s (10 s), with a line per second (no lines)
  the same numbers are drawn every time (--rand-seed=0: others)
  a transaction is rolled back before it is repeated (a new one begins,
  which commits half of the old one after a lock timeout)
The statements and their number per transaction are sysbench's own.

insert, delete and bulk_insert change the number of rows: on a running server only --cleanup and --prepare \
reset it.

Examples, on tables that sysbench prepared too:
  tare load point_select --engine mariadb --socket /run/mysqld/mysqld.sock \\
      --user me --tables 4 --rows 100000 --prepare
  tare load point_select --engine mariadb --socket /run/mysqld/mysqld.sock \\
      --user me --tables 4 --rows 100000 --threads 8
  tare load oltp_read_write --socket /run/mysqld/mysqld.sock \\
      --tables=4 --table-size=100000 --time=60 --db-ps-mode=disable
  tare load read_only --socket /run/mysqld/mysqld.sock --rows 100000 \\
      --out before --repeat 5";

/// The section and the key of a study that an option of `tare load` sets, by any of its names without `--`.
pub(crate) fn key_of(option: &str) -> Option<(&'static str, &'static str)> {
    let all = [RunKeys::OPTIONS, MakeUpKeys::OPTIONS, ServerKeys::OPTIONS];
    all.into_iter().flatten().find(|known| known.is_named(option)).map(|known| known.key)
}

pub(crate) fn run(command: &LoadCommand) -> Result<Exit, Problem> {
    let ended = match command {
        LoadCommand { other: Some(OtherLoad::Tpcc(args)), .. } => tpcc::run(args),
        LoadCommand { other: None, oltp } => oltp::run(oltp),
    };
    match ended {
        // Errors while everything is being stopped do not come from the server.
        Err(_) if tare_engine::interrupted() => {
            output::note(
                "interrupted without figures: no sample had begun, or its last transactions had no answer in time",
            );
            Ok(Exit::Interrupted)
        }
        ended => ended,
    }
}
