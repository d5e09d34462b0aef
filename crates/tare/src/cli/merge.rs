//! `tare merge`: joins the results of several machines in one results directory.

use super::output::{note, quoted_path};
use super::{Exit, Problem};
use clap::Args;
use std::path::PathBuf;
use tare_results::shards::{aside_words, merge};
use tare_text::count;

/// Most parts with damaged lines that are named.
const NAMED: usize = 5;

/// Merge the shards of a study into one results directory
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Folders that `tare shard` made, or results directories of some of a study's blocks
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Where the results go; an earlier merge of the same study is brought up to date
    #[arg(long, value_name = "RESULTS")]
    out: PathBuf,
}

pub(crate) fn run(args: &MergeArgs) -> Result<Exit, Problem> {
    let merged = merge(&args.folders, &args.out)?;
    let out = args.out.display();
    note(&format!(
        "{} of {} from {} ({}) in {out}",
        count(merged.records, "record"),
        count(merged.parts, "part"),
        count(merged.machines.len(), "machine"),
        merged.machines.join(", ")
    ));
    if let Some(words) = aside_words(merged.aside) {
        note(&format!("note: {words}"));
    }
    for (folder, lines) in merged.damaged.iter().take(NAMED) {
        note(&format!(
            "note: left out: {}; they are named by: tare show {}",
            count(*lines, "damaged or unfinished line"),
            quoted_path(folder)
        ));
    }
    if merged.damaged.len() > NAMED {
        note(&format!("note: left out: such lines of {}", count(merged.damaged.len() - NAMED, "further part")));
    }
    if merged.missing > 0 {
        let have = if merged.missing == 1 { "has" } else { "have" };
        note(&format!(
            "note: {} of the schedule {have} no usable result yet; merge again later",
            count(merged.missing, "trial")
        ));
    }
    note(&format!("look at them with: tare show {}", quoted_path(&args.out)));
    Ok(Exit::Done)
}
