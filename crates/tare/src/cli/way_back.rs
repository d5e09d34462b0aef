//! `tare way-back` (hidden): on a server's host, the way from a trial to the clients on the host where its study was
//! started. It stands where ssh stands in a study whose clients are elsewhere.

use super::{Exit, Problem};
use clap::Args;
use tare_study::hosts::doors;
use tare_study::hosts::served::{WAY, Wanted};

/// Options of the hidden `tare way-back`.
#[derive(Debug, Args)]
pub struct WayBackArgs {
    /// The host, and the command to run there
    words: Vec<String>,
}

/// Carries standard input and output until what was asked for has ended on the other host.
///
/// # Errors
/// When nobody is there any more.
pub fn run(args: &WayBackArgs) -> Result<Exit, Problem> {
    let gone = |what: String| {
        Problem::new(Exit::Machine, what)
            .advice("start or resume the study where it was started, with server.host: its clients are on that host")
    };
    let name = std::env::var(WAY).map_err(|_| gone("no run for another host is under way here".into()))?;
    let wanted = args.words.last().and_then(|command| Wanted::of(command));
    let wanted = wanted.ok_or_else(|| Problem::new(Exit::Usage, "the other host does not do that"))?;
    match doors::carry(&name, wanted) {
        Ok(0) => Ok(Exit::Done),
        Ok(code) => Err(Problem::new(Exit::Machine, format!("it ended there with exit code {code}"))),
        Err(error) => Err(gone(format!("the host where the study was started is gone: {error}"))),
    }
}
