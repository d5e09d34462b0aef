//! The pace of clients: as fast as possible, at a given rate, or at the highest rate that meets an objective. How
//! clients go on after a lost server: they reconnect, and what they observed of the outage is kept.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tare_engine::{EngineError, Session};
use tare_load::{Curve, Latencies, Sample};

const EITHER: &str = "either rate, or objective, which searches for the rate";

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Pace {
    /// As fast as possible: each client begins a transaction when its last one has ended (closed loop).
    #[default]
    Closed,
    /// Transactions per second over all clients, independent of the end of earlier ones (open loop): a constant rate,
    /// or a curve over each sample.
    Rate(Curve),
    Search(Slo),
}

impl Pace {
    pub(crate) fn rate(self) -> Option<Curve> {
        if let Self::Rate(rate) = self { Some(rate) } else { None }
    }

    /// The objective of a search; None without a search.
    pub(crate) fn objective(self) -> Option<Slo> {
        if let Self::Search(objective) = self { Some(objective) } else { None }
    }

    pub(crate) fn set_rate(&mut self, rate: Curve) -> Result<(), String> {
        match self {
            Self::Search(_) => Err(EITHER.to_owned()),
            _ => {
                *self = Self::Rate(rate);
                Ok(())
            }
        }
    }

    pub(crate) fn set_objective(&mut self, objective: Option<Slo>) -> Result<(), String> {
        *self = match (*self, objective) {
            (Self::Rate(_), Some(_)) => return Err(EITHER.to_owned()),
            (_, Some(objective)) => Self::Search(objective),
            (Self::Search(_), None) => Self::Closed,
            (as_it_is, None) => as_it_is,
        };
        Ok(())
    }

    /// Whether clients on another host can run at this pace: a search needs their lateness at each step.
    pub(crate) fn may_be_elsewhere(self) -> Result<(), String> {
        match self {
            Self::Search(_) => Err("an SLO (objective) needs clients on this host: leave out client.host".into()),
            Self::Closed | Self::Rate(_) => Ok(()),
        }
    }
}

pub(crate) trait Paced {
    fn pace_mut(&mut self) -> &mut Pace;
}

/// Share of the requested rate that must be reached: below it the clients or the server could not follow.
const RATE_MET: f64 = 0.9;

/// Why a sample or a request is not a valid measurement.
#[derive(Debug, thiserror::Error)]
pub enum InvalidSample {
    #[error(
        "no transaction was finished in {elapsed_s:.1} s of a sample: make samples longer (sampling.sample_s; on the \
         command line --time), or see the server's log"
    )]
    Nothing { elapsed_s: f64 },
    #[error(
        "a probe needs an idle server around each sample, which {rate} transactions per second do not allow: set \
         sampling.probe = \"off\", or no rate"
    )]
    ProbeUnderRate { rate: Curve },
    /// An open loop did not reach the requested rate: its latencies are those of a growing queue.
    #[error(
        "the rate was not met: {done:.0} of {requested:.0} requested transactions per second, {backlog} due and not \
         started at the end; request a lower rate, or use more client threads"
    )]
    RateNotMet { requested: f64, done: f64, backlog: u64 },
}

/// Checks a sample against the requested rate, if any. For a rate that changes, each slice records the requested and
/// the reached rate instead: it may exceed what the server can do.
pub fn judge(pace: Pace, sample: &Sample) -> Result<(), InvalidSample> {
    if sample.transactions == 0 {
        return Err(InvalidSample::Nothing { elapsed_s: sample.elapsed_s });
    }
    match (pace.rate(), sample.backlog) {
        (Some(Curve::Constant(requested)), Some(backlog)) if backlog > 0 && sample.tps() < RATE_MET * requested => {
            Err(InvalidSample::RateNotMet { requested, done: sample.tps(), backlog })
        }
        _ => Ok(()),
    }
}

/// A latency figure and its upper limit: `latency_ms_p99 <= 5`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slo {
    figure: Figure,
    limit_ms: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Figure {
    Mean,
    Percentile(f64),
}

const FIGURES: [(&str, Figure); 7] = [
    ("latency_ms_mean", Figure::Mean),
    ("latency_ms_p50", Figure::Percentile(50.0)),
    ("latency_ms_p90", Figure::Percentile(90.0)),
    ("latency_ms_p95", Figure::Percentile(95.0)),
    ("latency_ms_p99", Figure::Percentile(99.0)),
    ("latency_ms_p99_9", Figure::Percentile(99.9)),
    ("latency_ms_max", Figure::Percentile(100.0)),
];

/// Help text of the key `objective`, for every load with an open loop.
pub(crate) const OBJECTIVE_HELP: &str = "a latency (mean, p50, p90, p95, p99, p99_9 or max) and its limit, such as p99 <= 5ms \
    or latency_ms_p99 <= 5: each sample searches for the highest rate that meets it (open loop), which is the metric \
    max_tps_under_objective; a step of the search takes sample_s; not with rate; none: no such search";

impl Slo {
    /// Parses the value of a study's key; None for the word none.
    pub(crate) fn of_words(words: &str) -> Result<Option<Self>, String> {
        if words.trim() == "none" { Ok(None) } else { words.parse().map(Some) }
    }

    pub(crate) fn record(&self) -> tare_results::search::Slo {
        tare_results::search::Slo { metric: self.metric().to_owned(), limit_ms: self.limit_ms }
    }

    pub(crate) fn metric(&self) -> &'static str {
        FIGURES.into_iter().find(|(_, figure)| *figure == self.figure).map_or("", |(name, _)| name)
    }

    /// Its figure for these latencies, milliseconds; None without latencies.
    pub(crate) fn figure_of(&self, latencies: &Latencies) -> Option<f64> {
        match self.figure {
            Figure::Mean => latencies.mean_ms(),
            Figure::Percentile(percentile) => latencies.percentile_ms(percentile),
        }
    }

    /// Expected number of transactions beyond its percentile, its sample size. None for a mean and a maximum.
    pub(crate) fn beyond(&self, transactions: u64) -> Option<f64> {
        match self.figure {
            Figure::Percentile(percentile) if percentile < 100.0 => {
                Some(transactions as f64 * (1.0 - percentile / 100.0))
            }
            Figure::Mean | Figure::Percentile(_) => None,
        }
    }

    pub(crate) fn is_met_by(&self, value_ms: f64) -> bool {
        value_ms <= self.limit_ms
    }
}

impl FromStr for Slo {
    type Err = String;

    fn from_str(words: &str) -> Result<Self, String> {
        let known = || FIGURES.map(|(name, _)| name).join(", ");
        let expected =
            || format!("a latency, <= and milliseconds, such as p99 <= 5ms or latency_ms_p99 <= 5; one of {}", known());
        let (name, limit) = words.split_once("<=").ok_or_else(expected)?;
        let short = |known: &str| known.strip_prefix("latency_ms_") == Some(name.trim());
        let found = FIGURES.into_iter().find(|(known, _)| *known == name.trim() || short(known));
        let Some((_, figure)) = found else {
            let near = tare_text::nearest(name.trim(), FIGURES.map(|(name, _)| name));
            return Err(format!("{}{}", expected(), tare_text::did_you_mean(near)));
        };
        let limit = milliseconds(limit.trim()).filter(|limit| limit.is_finite() && *limit > 0.0);
        let limit_ms = limit.ok_or_else(|| format!("{}; the limit is a number of milliseconds above 0", expected()))?;
        Ok(Self { figure, limit_ms })
    }
}

/// A number of milliseconds, or of the unit after it.
fn milliseconds(words: &str) -> Option<f64> {
    let units = [("ms", 1.0), ("us", 1e-3), ("s", 1e3)];
    let (number, factor) =
        units.into_iter().find_map(|(unit, factor)| Some((words.strip_suffix(unit)?, factor))).unwrap_or((words, 1.0));
    number.trim_end().parse().ok().map(|number: f64| number * factor)
}

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} <= {}", self.metric(), self.limit_ms)
    }
}

/// Opens a connection, on any thread; may take any time.
type Open = Arc<dyn Fn() -> Result<Box<dyn Session>, EngineError> + Send + Sync>;

pub struct Reconnect {
    pub(in crate::workload) open: Open,
    seen: Mutex<Outages>,
}

#[derive(Default)]
pub(in crate::workload) struct Outages {
    pub lost: u64,
    pub back: u64,
    pub away: Vec<(Instant, Instant)>,
    pub still_away: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Outage {
    /// Transactions in progress when their connection was lost; each was run again.
    pub lost: u64,
    pub reconnected: u64,
    /// Seconds in which at least one client had no server; overlapping times count once.
    pub away_s: f64,
    pub still_away: usize,
}

impl Reconnect {
    pub fn new(open: impl Fn() -> Result<Box<dyn Session>, EngineError> + Send + Sync + 'static) -> Self {
        Self { open: Arc::new(open), seen: Mutex::default() }
    }

    /// Sum over the clients that have ended.
    pub fn outage(&self) -> Outage {
        let seen = self.seen();
        let mut away = seen.away.clone();
        away.sort();
        let (mut total, mut end) = (Duration::ZERO, None::<Instant>);
        for (from, to) in away {
            let from = end.map_or(from, |end| from.max(end));
            total += to.saturating_duration_since(from);
            end = Some(end.map_or(to, |end| end.max(to)));
        }
        Outage { lost: seen.lost, reconnected: seen.back, away_s: total.as_secs_f64(), still_away: seen.still_away }
    }

    pub(in crate::workload) fn seen(&self) -> MutexGuard<'_, Outages> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::metric;

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

    #[test]
    fn an_objective_is_read_as_it_is_written_and_refused_with_what_was_expected() {
        for (name, _) in FIGURES {
            assert!(metric::DECLARED.iter().any(|declared| declared.name() == name), "{name} is no metric");
            let words = format!("{name} <= 2.5");
            assert_eq!(words.parse::<Slo>().unwrap().to_string(), words);
        }
        assert_eq!("latency_ms_p99<=5".parse::<Slo>().unwrap().to_string(), "latency_ms_p99 <= 5");
        assert_eq!(Slo::of_words("none"), Ok(None));
        let refused = |words: &str| words.parse::<Slo>().unwrap_err();
        assert!(refused("latency_ms_p98 <= 5").contains("did you mean \"latency_ms_p9"));
        assert!(refused("latency_ms_p99 < 5").starts_with("a latency, <= and milliseconds"));
        assert!(refused("latency_ms_p99 <= 5 m").contains("a number of milliseconds above 0"));
        for words in ["p99 <= 5ms", "p99<=5000 us", "latency_ms_p99 <= 0.005s", "p99 <= 5"] {
            assert_eq!(words.parse::<Slo>().unwrap().to_string(), "latency_ms_p99 <= 5", "{words}");
        }
        assert!(refused("latency_ms_p99 <= 0").contains("above 0") && refused("").contains("such as"));
    }

    #[test]
    fn the_figure_of_an_objective_is_that_of_its_metric() {
        let mut latencies = Latencies::new();
        (1..=100).for_each(|ms| latencies.record(ms * 1_000_000));
        let of = |words: &str| words.parse::<Slo>().unwrap().figure_of(&latencies);
        assert_eq!(of("latency_ms_mean <= 1"), Some(50.5));
        assert!((of("latency_ms_p95 <= 1").unwrap() / 95.0 - 1.0).abs() < 1e-3);
        assert_eq!(of("latency_ms_max <= 1"), Some(100.0));
        let beyond = |words: &str| words.parse::<Slo>().unwrap().beyond(5000);
        assert!((beyond("latency_ms_p99 <= 1").unwrap() - 50.0).abs() < 1e-6);
        assert_eq!([beyond("latency_ms_max <= 1"), beyond("latency_ms_mean <= 1")], [None, None]);
        assert!("latency_ms_p99 <= 5".parse::<Slo>().unwrap().is_met_by(5.0));
        assert_eq!("latency_ms_p99 <= 5".parse::<Slo>().unwrap().figure_of(&Latencies::default()), None);
    }
}
