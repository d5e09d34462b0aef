//! `tare report`: one self-contained HTML file.

use super::{Exit, Problem, results_problem};
use clap::Args;
use std::path::PathBuf;
use tare_files::Trust;
use tare_report::{write_report_in, write_report_to};

/// Write the results as one self-contained HTML file
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// A results directory, or a CSV file with the columns condition,trial,sample,metric,value
    results: PathBuf,
    /// Where to write [default: report.html in the directory, or next to the CSV file under its name]
    #[arg(short, long, alias = "output", value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON document: the path of the file that was written
    #[arg(long)]
    json: bool,
}

/// Writes the page and prints its path.
pub(crate) fn run(args: Report) -> Result<Exit, Problem> {
    let folder = tare_results::folder(&args.results, Trust::Anyone)?;
    let results = match &folder {
        Some(folder) => results_problem::open_folder(folder),
        None => results_problem::open(&args.results),
    }?;
    let output = match (args.out, &folder) {
        (None, Some(folder)) => write_report_in(folder, &results)?,
        (out, _) => {
            let out = out.unwrap_or_else(|| args.results.with_extension("html"));
            write_report_to(&results, &out)?;
            out
        }
    };
    if args.json {
        super::output::document("tare-report", &tare_text::object! { report: output })?;
    } else {
        super::output::text(&format!("{}\n", output.display()))?;
    }
    Ok(Exit::Done)
}
