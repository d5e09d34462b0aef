//! How fast clients go: as fast as they can, at a rate, or at the highest rate that meets an objective.

use super::objective::Slo;
use tare_load::Curve;

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
