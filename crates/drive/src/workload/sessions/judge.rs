//! Whether a sample is what was requested.

use super::pace::Pace;
use tare_load::{Curve, Sample};

/// Share of the asked rate that must be done: below it the clients or the server could not follow.
const RATE_MET: f64 = 0.9;

/// Why a sample, or what was asked, is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum NotAsked {
    #[error("no transaction was finished in {elapsed_s:.1} s of a sample")]
    Nothing { elapsed_s: f64 },
    /// A probe needs an idle server around each sample, and transactions that are due meanwhile would queue up.
    #[error(
        "a probe alongside the samples needs a server that idles around them, which {rate} transactions a second do not \
         allow: set sampling.probe = \"off\", or no rate"
    )]
    ProbeUnderRate { rate: Curve },
    /// An open loop asked for more than was done: its latencies are those of a growing queue.
    #[error(
        "the rate was not met: {done:.0} transactions a second of {asked:.0} that were requested, {backlog} due and not \
         begun at the end"
    )]
    RateNotMet {
        asked: f64,
        done: f64,
        /// Transactions that were due and not begun when the sample ended.
        backlog: u64,
    },
}

/// Holds a sample against the rate that was requested, if one was. Of a rate that changes each slice says what was
/// asked and what was done: it may well lead beyond what the server can do.
pub fn judge(pace: Pace, sample: &Sample) -> Result<(), NotAsked> {
    if sample.transactions == 0 {
        return Err(NotAsked::Nothing { elapsed_s: sample.elapsed_s });
    }
    match (pace.rate(), sample.backlog) {
        (Some(Curve::Constant(asked)), Some(backlog)) if backlog > 0 && sample.tps() < RATE_MET * asked => {
            Err(NotAsked::RateNotMet { asked, done: sample.tps(), backlog })
        }
        _ => Ok(()),
    }
}
