//! `tare show`: prints the tables of results.

use super::output::note;
use super::{Exit, Problem};
use crate::config;
use clap::Args;
use std::path::PathBuf;
use tare_files::Trust;
use tare_report::json;
use tare_report::terminal::{self, Statistic, Style};
use tare_results::Results;
use tare_results::shards::{self, Sharded};

/// Show the tables of a finished or interrupted run
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// A results directory, a study cut into shards, or a CSV file with the columns condition,trial,sample,metric,value
    results: PathBuf,
    /// Show every row of every table, however many conditions there are
    #[arg(long)]
    all: bool,
    /// Show another statistic next to the mean, and what it hides
    #[arg(long)]
    statistic: Option<Statistic>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Show) -> Result<Exit, Problem> {
    if let Some(sharded) = Sharded::open(&args.results, Trust::Anyone)? {
        progress(&sharded)?;
    }
    print(&super::results_problem::open(&args.results)?, args.json, args.all, args.statistic)?;
    Ok(Exit::Done)
}

/// Prints the progress of each shard of a study on standard error.
fn progress(sharded: &Sharded) -> Result<(), Problem> {
    for state in shards::states(sharded)? {
        let hosts = if state.hosts.is_empty() {
            "not started".to_owned()
        } else {
            format!("on {}", Vec::from_iter(state.hosts).join(", "))
        };
        note(&format!("shard {:<4} {:>5} of {} trials   {hosts}", state.shard, state.done, state.trials));
    }
    Ok(())
}

/// Prints the summary of results: tables, or one JSON document.
pub(crate) fn print(results: &Results, json: bool, all: bool, statistic: Option<Statistic>) -> Result<(), Problem> {
    let summary = tare_findings::summarize(results);
    if json {
        super::output::document("tare-show", &json::summary(&summary, results))
    } else {
        let style = Style { all, statistic, ..Style::of_stdout(config::get().colour) };
        super::output::as_is(&terminal::show(results, &summary, style))
    }
}
