//! What is asked of an open loop: a latency and its limit.

use std::fmt;
use std::str::FromStr;
use tare_load::Latencies;

/// A figure of latencies that must not be above a limit: `latency_ms_p99 <= 5`.
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

/// What a key of it says of itself in every load that has an open loop.
pub const OBJECTIVE_HELP: &str = "a latency and its limit, such as latency_ms_p99 <= 5 or p99 <= 5ms: each sample \
    searches for the \
    highest rate that meets it (open loop), and that is the metric max_tps_under_objective; sample_s is the length of \
    a step; mean, p50, p90, p95, p99, p99_9 or max; not with rate; none: no such search";

impl Slo {
    /// From what a study says; none where that is the word none.
    pub fn of_words(words: &str) -> Result<Option<Self>, String> {
        if words.trim() == "none" { Ok(None) } else { words.parse().map(Some) }
    }

    pub fn metric(&self) -> &'static str {
        FIGURES.into_iter().find(|(_, figure)| *figure == self.figure).map_or("", |(name, _)| name)
    }

    /// Its figure of these latencies, milliseconds; none without any.
    pub fn figure_of(&self, latencies: &Latencies) -> Option<f64> {
        match self.figure {
            Figure::Mean => latencies.mean_ms(),
            Figure::Percentile(percentile) => latencies.percentile_ms(percentile),
        }
    }

    /// How many of so many transactions lie beyond its percentile: what it is known by. None for a mean and a maximum.
    pub fn beyond(&self, transactions: u64) -> Option<f64> {
        match self.figure {
            Figure::Percentile(percentile) if percentile < 100.0 => {
                Some(transactions as f64 * (1.0 - percentile / 100.0))
            }
            Figure::Mean | Figure::Percentile(_) => None,
        }
    }

    pub fn is_met_by(&self, value_ms: f64) -> bool {
        value_ms <= self.limit_ms
    }
}

impl FromStr for Slo {
    type Err = String;

    fn from_str(words: &str) -> Result<Self, String> {
        let known = || FIGURES.map(|(name, _)| name).join(", ");
        let expected = || format!("a latency, <= and milliseconds, such as latency_ms_p99 <= 5; one of {}", known());
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

/// A number of milliseconds, or of the unit that stands behind it.
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

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::metric;

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
    fn its_figure_is_that_of_the_metric() {
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
