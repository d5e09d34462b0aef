//! How fast clients go: as fast as they can, at a rate, or at the highest rate that meets an objective.

use super::objective::Slo;
use tare_load::{Curve, Sample};

const EITHER: &str = "either rate, or objective, which searches for the rate";

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Pace {
    /// As fast as they can: each begins a transaction when its last one has ended (closed loop).
    #[default]
    Closed,
    /// So many transactions a second over all clients, whenever those before end (open loop): one rate, or a curve over
    /// each sample.
    Rate(Curve),
    Search(Slo),
}

impl Pace {
    /// The rate that is given; none without one.
    pub fn rate(self) -> Option<Curve> {
        if let Self::Rate(rate) = self { Some(rate) } else { None }
    }

    /// What a rate is searched for under; none without a search.
    pub fn objective(self) -> Option<Slo> {
        if let Self::Search(objective) = self { Some(objective) } else { None }
    }

    /// Goes at so many transactions a second from now on.
    pub fn set_rate(&mut self, rate: Curve) -> Result<(), String> {
        match self {
            Self::Search(_) => Err(EITHER.to_owned()),
            _ => {
                *self = Self::Rate(rate);
                Ok(())
            }
        }
    }

    /// Searches for a rate under an objective, or for none.
    pub fn set_objective(&mut self, objective: Option<Slo>) -> Result<(), String> {
        *self = match (*self, objective) {
            (Self::Rate(_), Some(_)) => return Err(EITHER.to_owned()),
            (_, Some(objective)) => Self::Search(objective),
            (Self::Search(_), None) => Self::Closed,
            (as_it_is, None) => as_it_is,
        };
        Ok(())
    }

    /// Whether clients on another host can go so: a search wants to know at each step how late they were.
    pub fn may_be_elsewhere(self) -> Result<(), String> {
        match self {
            Self::Search(_) => {
                Err("an objective is searched for by clients on this host only: leave out client.host".into())
            }
            Self::Closed | Self::Rate(_) => Ok(()),
        }
    }
}

/// Settings of a load whose clients have a pace.
pub trait Paced {
    fn pace(&self) -> Pace;
    fn pace_mut(&mut self) -> &mut Pace;
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_and_a_search_for_one_exclude_each_other() {
        let objective: Slo = "latency_ms_p99 <= 5".parse().unwrap();
        let mut pace = Pace::Rate(10.0.into());
        assert_eq!(pace.set_objective(Some(objective)), Err(EITHER.to_owned()));
        assert_eq!((pace.set_objective(None), pace), (Ok(()), Pace::Rate(10.0.into())), "no search leaves the rate");
        let mut pace = Pace::Closed;
        assert_eq!((pace.set_objective(Some(objective)), pace), (Ok(()), Pace::Search(objective)));
        assert_eq!(pace.set_rate(10.0.into()), Err(EITHER.to_owned()));
        assert_eq!((pace.set_objective(None), pace), (Ok(()), Pace::Closed));
    }
}
