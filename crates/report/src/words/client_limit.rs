//! Sentences on whether the client was the limit of a sample, and on standstills: a reader must know this before
//! attributing a figure to the server.

use std::collections::BTreeMap;
use tare_findings::client_limit::{ClientFindings, LongestStall};
use tare_results::Results;
use tare_results::search::ClientLimit;
use tare_text::{count, decimal, percent};

/// Why the client was the limit; `None` if it was not. `elapsed_s` is the length of the sample.
pub fn reason(covariates: &BTreeMap<String, f64>, elapsed_s: f64) -> Option<String> {
    ClientLimit::of(covariates, elapsed_s).map(|found| limit_words(found, elapsed_s))
}

fn limit_words(found: ClientLimit, elapsed_s: f64) -> String {
    let of = match found {
        ClientLimit::StoodStillS(_) => format!(" of {} s", decimal(elapsed_s, 2)),
        _ => String::new(),
    };
    format!("{found}{of}")
}

/// A standstill, and whether the client or the server caused it, as far as known.
pub fn stall_words(LongestStall { from_s, length_s, is_clients }: &LongestStall) -> String {
    let whose = match is_clients {
        true => "the client itself stalled",
        false => "the client ran, so the server or the connection to it stalled",
    };
    let (length_s, from_s) = (decimal(*length_s, 2), decimal(*from_s, 1));
    format!("no transaction completed for {length_s} s from second {from_s} on: {whose}")
}

pub(super) fn notes(results: &Results) -> Vec<String> {
    let found = ClientFindings::of(results);
    let limited = found.limited.iter().map(|found| {
        let why = limit_words(found.first.0, found.first.1);
        let (trials, all, condition) = (found.trials, found.all, found.condition);
        format!(
            "the client was the limit in {trials} of {} of {condition}, so the figures describe the client: {why}",
            count(all, "trial")
        )
    });
    let waited = found.waited.iter().map(|found| {
        let (trials, condition, share) = (found.trials, found.condition, percent(found.first));
        format!(
            "in {} of {condition} client threads waited for a CPU for {share} of the time, on CPUs reserved for them: \
             give them more",
            count(trials, "trial")
        )
    });
    let stalls = found.stalls.iter().map(|(trial, sample, stall)| {
        let (number, condition) = (trial.trial, &trial.condition);
        format!("trial {number} ({condition}), sample {}: {}", sample.sample, stall_words(stall))
    });
    let more = (found.more_stalls > 0)
        .then(|| format!("{} with such a stall, each shorter", count(found.more_stalls, "more sample")));
    let slow_s = found.slow_s;
    let slow = (slow_s > 0.0).then(|| {
        format!("{} of samples had less than half of their sample's usual throughput", count(slow_s as usize, "second"))
    });
    let searches = found.searches.iter().map(|found| {
        let (trials, all, condition, (slo, why)) = (found.trials, found.all, found.condition, found.first);
        format!(
            "the client was the limit of the search in {trials} of {all} trials of {condition}, so the server may \
             reach more under {slo}: {why}"
        )
    });
    limited.chain(waited).chain(stalls).chain(more).chain(slow).chain(searches).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, f64)]) -> BTreeMap<String, f64> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn a_client_is_the_limit_by_its_quota_its_cpus_or_its_own_standstill() {
        let why = |pairs: &[(&str, f64)]| reason(&of(pairs), 10.0).unwrap_or_default();
        assert!(why(&[("client_throttled_fraction", 0.8)]).contains("used up in 80"));
        assert!(why(&[("client_busy_fraction", 0.95)]).contains("95"));
        assert_eq!(why(&[("client_stalled_s", 2.0)]), "it stalled for 2.00 s of 10.00 s");
        let idle = [
            ("client_throttled_fraction", 0.01),
            ("client_busy_fraction", 0.4),
            ("client_stalled_s", 0.1),
            ("client_waited_for_cpu_fraction", 0.9),
        ];
        assert_eq!(why(&idle), "");
        let still = |length_s| reason(&of(&[("client_stalled_s", length_s)]), 2.0);
        assert!(still(0.14).is_none() && still(0.3).is_some(), "a moment of a short sample is an accident");
        let short = reason(&of(&[("client_stalled_s", 0.6)]), 0.847);
        assert_eq!(short.as_deref(), Some("it stalled for 0.60 s of 0.85 s"), "one unit for both");
        let absurd = reason(&of(&[("client_stalled_s", 1e308)]), 1e300);
        assert_eq!(absurd.as_deref(), Some("it stalled for 1.00e308 s of 1.00e300 s"));
    }

    #[test]
    fn a_stall_is_reported_with_its_place_and_its_cause() {
        let words = |is_clients| stall_words(&LongestStall { from_s: 3.25, length_s: 1.5, is_clients });
        assert!(words(true).ends_with("the client itself stalled"), "{}", words(true));
        assert!(
            words(false).contains("1.50 s from second 3.2 on") && words(false).contains("so the server"),
            "{}",
            words(false)
        );
    }
}
