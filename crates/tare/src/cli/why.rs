//! `tare why`: shows where the time of a transaction goes, and what makes up the difference between two conditions.

use super::compare::Opened;
use super::execution::RunOptions;
use super::why_prove::ProofRequest;
use super::{Exit, Problem};
use crate::config;
use clap::Args;
use std::path::{Path, PathBuf};
use tare_files::Audience;
use tare_findings::why::{self, ChainTime, Times, WhyError};
use tare_report::json;
use tare_report::terminal::{self, Style};

/// Show where the time of a transaction goes, and what makes up the difference between two conditions
#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// A: a results directory, or one condition of it as `DIR:condition`
    a: String,
    /// B, written the same way; without B, shows the time and the captures of every condition of A
    b: Option<String>,
    /// Test the suspects by experiment: for the two or three largest, pairs of trials of the slower condition with and
    /// without the change of each one's experiment
    #[arg(long, requires = "b")]
    prove: bool,
    /// With --prove: the time for all experiments together, such as 30min, 90s or 2h
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = super::output::time, requires = "prove")]
    within: f64,
    /// With --prove: show the experiments and their time, and run none
    #[arg(long, requires = "prove")]
    dry_run: bool,
    /// With --prove: where the experiments and why.json go [default: tare-results/why-DATE]
    #[arg(long, value_name = "DIR", requires = "prove")]
    out: Option<PathBuf>,
    /// With --prove: use results that other users own or may write to: programs named in them run as you
    #[arg(long, requires = "prove")]
    trust: bool,
    /// With --prove: start experiments of more than an hour together without asking
    #[arg(long, requires = "prove")]
    yes: bool,
    /// With --prove: wait while another run uses this machine, instead of ending
    #[arg(long, requires = "prove")]
    wait: bool,
    /// Write the wall-clock time of both by call chain: one line `chain A B` each, nanoseconds per transaction, as
    /// difffolded.pl writes it for flame graphs (needs capture.waits)
    #[arg(long, value_name = "FILE", requires = "b", conflicts_with = "prove")]
    folded: Option<PathBuf>,
    /// Also show parts without a visible difference, with the smallest difference that would have been seen
    #[arg(long, requires = "b")]
    all: bool,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
}

/// Prints a waterfall from A's time per transaction to B's with the suspects, or the time of each condition.
pub(crate) fn run(args: WhyArgs) -> Result<Exit, Problem> {
    let names: Vec<String> = std::iter::once(args.a.clone()).chain(args.b.clone()).collect();
    let opened = Opened::of(&names)?;
    let style = Style { all: args.all, ..Style::of_stdout(config::get().colour) };
    match opened.sides().as_slice() {
        [(_, a), (_, b)] => {
            let found = why::why(*a, *b)?;
            if args.prove {
                let of = if found.own().us < 0.0 { a.results } else { b.results };
                let requested = ProofRequest {
                    found: &found,
                    results: &of.path,
                    within_s: args.within,
                    out: args.out.as_deref(),
                    options: RunOptions { wait: args.wait, yes: args.yes, ..RunOptions::of(args.json, args.trust) },
                };
                return if args.dry_run { requested.print_plan() } else { requested.prove() };
            }
            if let Some(path) = &args.folded {
                write_folded(&why::chains(*a, *b)?, path, a.results.audience.max(b.results.audience))?;
            }
            match args.json {
                true => super::output::document("tare-why", &json::why(&found, &[(); 0]))?,
                false => super::output::as_is(&terminal::why(&found, style))?,
            }
        }
        sides => {
            let mut times = Times::default();
            for (_, side) in sides {
                let Times { conditions, lost, captures } = why::times(*side)?;
                times.conditions.extend(conditions);
                times.lost.extend(lost);
                times.captures.extend(captures);
            }
            match args.json {
                true => super::output::document("tare-why", &json::times(&times))?,
                false => super::output::as_is(&terminal::times(&times, &args.a, style))?,
            }
        }
    }
    Ok(Exit::Done)
}

/// Writes call chains of both sides for tools that draw differential flame graphs.
fn write_folded(chains: &[ChainTime], path: &Path, audience: Audience) -> Result<(), Problem> {
    if chains.is_empty() {
        return Err(Problem::new(Exit::Usage, "a side has no record of its wall-clock time")
            .expected("trials with the capture `waits`")
            .advice("tare run STUDY --set capture.waits=on --set capture.profile=on"));
    }
    let ns = |us: f64| (1e3 * us).round();
    let lines = chains.iter().map(|one| format!("{} {} {}\n", one.chain, ns(one.a_us), ns(one.b_us)));
    Ok(tare_files::write_named(audience, path, |file| file.write_all(lines.collect::<String>().as_bytes()))?)
}

impl From<WhyError> for Problem {
    fn from(error: WhyError) -> Self {
        let problem = Self::new(Exit::Usage, error.to_string());
        match error {
            WhyError::Compare(error) => error.into(),
            WhyError::Several { names } => problem
                .expected("one condition per side")
                .advice(format!("name one condition per side, as DIR:condition, of: {}", names.join(", "))),
            WhyError::NoResult { .. } => problem.advice("read the reasons with: tare show RESULTS"),
            WhyError::NoTime { .. } => problem
                .expected("results of a load that reports tps, with its client threads watched")
                .advice("without one, tare compare A B shows the differences"),
        }
    }
}
