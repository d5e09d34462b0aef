//! `tare why`: where the time of a transaction goes, and what makes up the difference.

use super::compare::Opened;
use super::{Exit, Problem};
use crate::config;
use clap::Args;
use tare_findings::why::{self, WhyError};
use tare_report::terminal::{self, Style};
use tare_report::why_json::WhyJson;

/// Where the time of a transaction goes, and what makes up the difference between two conditions
#[derive(Debug, Args)]
pub struct WhyArgs {
    /// A: a results directory, or one condition of it as `DIR:condition`
    a: String,
    /// B, written the same way; without it the time of every condition of A is shown
    b: Option<String>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
}

/// Prints a waterfall from A's time of a transaction to B's with the suspects, or the time of each condition.
///
/// # Errors
/// [`Problem`] when the results cannot be read, or hold no time of a transaction.
pub fn run(args: WhyArgs) -> Result<Exit, Problem> {
    let names: Vec<String> = std::iter::once(args.a).chain(args.b).collect();
    let opened = Opened::of(&names)?;
    let style = Style::of_stdout(config::get().colour);
    match opened.sides().as_slice() {
        [(_, a), (_, b)] => {
            let found = why::why(*a, *b)?;
            match args.json {
                true => super::output::document("tare-why", &WhyJson::of(&found))?,
                false => super::output::text(&terminal::why(&found, style))?,
            }
        }
        sides => {
            let mut times = Vec::new();
            for (_, side) in sides {
                times.extend(why::times(*side)?);
            }
            match args.json {
                true => super::output::document("tare-why", &WhyJson::of_times(&times))?,
                false => super::output::text(&terminal::times(&times, style))?,
            }
        }
    }
    Ok(Exit::Done)
}

impl From<WhyError> for Problem {
    fn from(error: WhyError) -> Self {
        let problem = Self::new(Exit::Usage, error.to_string());
        match error {
            WhyError::Compare(error) => error.into(),
            WhyError::Several { names } => problem
                .expected("one condition a side")
                .advice(format!("name one condition a side, as DIR:condition, of: {}", names.join(", "))),
            WhyError::NoTime { .. } => problem
                .expected("results of a load that reports tps, with its client threads watched")
                .advice("tare compare A B says what differs without it"),
        }
    }
}
