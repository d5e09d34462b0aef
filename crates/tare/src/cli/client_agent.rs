//! `tare client-agent` (hidden): the clients of a trial whose server is on another host. The trial starts it through
//! ssh and uses its standard input and output; when either closes, the agent ends with everything that it started.

use super::{Exit, Problem, execution, interrupt};
use crate::state;
use crate::trial::agent;
use clap::Args;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tare_study::hosts::Link;

/// How long the other side may take to read the last message.
const FAREWELL: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
pub(crate) struct ClientAgentArgs {}

/// Runs the clients of a trial, which communicates over standard input and output, until the trial is over.
///
/// # Errors
/// When this machine cannot be read; later errors are sent to the trial.
pub(crate) fn run(_args: &ClientAgentArgs) -> Result<Exit, Problem> {
    let requested = interrupt::flag()?;
    let Some(_place) = state::place_for_agent()? else {
        return Err(Problem::new(Exit::Machine, "the most clients for trials of other hosts run here already")
            .advice("wait until they end, or stop the `tare client-agent` of a run that no longer exists"));
    };
    let failed = |e: std::io::Error| Problem::new(Exit::Machine, format!("cannot listen to the trial: {e}"));
    let link = Link::open(std::io::stdin(), std::io::stdout()).map_err(failed)?;
    let take = || execution::take_host().map_err(|problem| problem.to_string());
    let served = agent::serve(&link, &take, requested);
    link.finish(FAREWELL);
    served?;
    Ok(if requested.load(Ordering::Relaxed) { Exit::Interrupted } else { Exit::Done })
}
