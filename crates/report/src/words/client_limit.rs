//! Whether the client was the limit of a sample, and when nothing went on: what has to be known before a figure is
//! taken for the server's.

use std::collections::BTreeMap;
use tare_findings::collect::is_usable;
use tare_findings::figures::{figure, percent};
use tare_results::Results;
use tare_results::client_limit::ClientLimit;
use tare_results::schema::{SampleRecord, ThreadClass, TrialRecord};
use tare_results::search::Limit;

/// Waiting for a CPU for such a share of the time, on CPUs that the server has no part in.
const WAITED: f64 = 0.25;
/// Stalls that are told one by one.
const LISTED: usize = 3;

/// Why the client was the limit, in words; none where it was not. `elapsed_s` is the length of the sample.
pub fn reason(covariates: &BTreeMap<String, f64>, elapsed_s: f64) -> Option<String> {
    let found = ClientLimit::of(covariates, elapsed_s)?;
    let of = match found {
        ClientLimit::StoodStillS(_) => format!(" of {}", figure(elapsed_s, "s")),
        _ => String::new(),
    };
    Some(format!("{found}{of}"))
}

/// Where nothing was completed for longest; none where something always was.
pub fn stall(covariates: &BTreeMap<String, f64>) -> Option<(f64, f64)> {
    Some((*covariates.get("longest_stall_from_s")?, *covariates.get("longest_stall_s")?))
}

/// The words for it, and whose it was as far as is known.
pub fn stall_words(covariates: &BTreeMap<String, f64>) -> Option<String> {
    let (from_s, length_s) = stall(covariates)?;
    let of = |name: &str| covariates.get(name).copied().unwrap_or(0.0);
    let whose = match (of("client_stalled_s") / of("stalled_s").max(f64::MIN_POSITIVE), length_s) {
        (share, _) if share >= 0.5 => "the client itself stood still",
        _ => "the client was there, so the server or the way to it stood still",
    };
    Some(format!("nothing was completed for {length_s:.2} s from second {from_s:.1} on: {whose}"))
}

/// Notes on all trials that are analysed.
pub(super) fn notes(results: &Results) -> Vec<String> {
    let trials: Vec<&TrialRecord> =
        results.trials.iter().filter(|trial| is_usable(trial) && has_server(trial)).collect();
    let mut notes = Vec::new();
    let limited = first_reasons(&trials, |sample| reason(&sample.covariates, sample.elapsed_s));
    for (condition, (count, why)) in &limited {
        let all = trials.iter().filter(|trial| trial.condition == *condition).count();
        notes.push(format!(
            "the client was the limit in {count} of {all} trials of {condition}, and what is measured is the client: {why}"
        ));
    }
    let waited = first_reasons(&trials, waited);
    notes.extend(waited.iter().filter(|(condition, _)| !limited.contains_key(*condition)).map(
        |(condition, (count, why))| format!("in {count} trials of {condition} client threads waited for a CPU {why}"),
    ));
    notes.extend(stalls(&trials));
    notes.extend(searches(&trials));
    notes
}

/// Searches for the highest rate that came up against the client, and not the server.
fn searches(trials: &[&TrialRecord]) -> Vec<String> {
    let client = |trial: &TrialRecord| {
        trial.searches.iter().find_map(|search| match search.limit {
            Some(Limit::Client(why)) => Some(format!("{}: {why}", search.objective)),
            _ => None,
        })
    };
    let mut found: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    for trial in trials {
        if let Some(words) = client(trial) {
            found.entry(trial.condition.as_str()).or_insert((0, words)).0 += 1;
        }
    }
    let line = |(condition, (count, why)): (&str, (usize, String))| {
        let all = trials.iter().filter(|trial| trial.condition == condition).count();
        format!(
            "the client was the limit of the search in {count} of {all} trials of {condition}, so that the server may do \
             more under {why}"
        )
    };
    found.into_iter().map(line).collect()
}

fn has_server(trial: &TrialRecord) -> bool {
    trial.server_version.is_some()
}

/// By condition: how many of its trials have such a sample, and the words of the first.
fn first_reasons<'t>(
    trials: &[&'t TrialRecord],
    why: impl Fn(&SampleRecord) -> Option<String>,
) -> BTreeMap<&'t str, (usize, String)> {
    let mut found = BTreeMap::new();
    for trial in trials {
        if let Some(words) = trial.samples.iter().find_map(&why) {
            found.entry(trial.condition.as_str()).or_insert((0, words)).0 += 1;
        }
    }
    found
}

/// Clients that waited for CPUs which no server thread may use: for each other, or for strangers.
fn waited(sample: &SampleRecord) -> Option<String> {
    let share = sample.covariates.get("client_waited_for_cpu_fraction").copied().filter(|share| *share >= WAITED)?;
    let of = |class: ThreadClass| {
        let threads = sample.threads.iter().filter(move |thread| thread.class == class);
        threads.filter_map(|thread| thread.allowed_cpus.parse::<tare_cpuset::CpuSet>().ok()).collect::<Vec<_>>()
    };
    let (clients, servers) = (of(ThreadClass::Client), of(ThreadClass::Connection));
    let shares = |client: &tare_cpuset::CpuSet| servers.iter().any(|server| !client.intersection(server).is_empty());
    (!servers.is_empty() && !clients.iter().any(shares))
        .then(|| format!("for {} of the time, on CPUs that are theirs alone: give them more", percent(share)))
}

fn stalls(trials: &[&TrialRecord]) -> Vec<String> {
    let mut all: Vec<(&TrialRecord, &SampleRecord, f64)> = trials
        .iter()
        .flat_map(|trial| trial.samples.iter().map(move |sample| (*trial, sample)))
        .filter_map(|(trial, sample)| Some((trial, sample, stall(&sample.covariates)?.1)))
        .collect();
    all.sort_by(|a, b| b.2.total_cmp(&a.2));
    let words = |(trial, sample, _): &(&TrialRecord, &SampleRecord, f64)| {
        let place = format!("trial {} ({}), sample {}", trial.trial, trial.condition, sample.sample + 1);
        stall_words(&sample.covariates).map(|words| format!("{place}: {words}"))
    };
    let mut notes: Vec<String> = all.iter().take(LISTED).filter_map(words).collect();
    if all.len() > LISTED {
        notes.push(format!("{} more samples have such a standstill, each shorter", all.len() - LISTED));
    }
    let slow: f64 = trials
        .iter()
        .flat_map(|trial| &trial.samples)
        .filter(|sample| stall(&sample.covariates).is_none())
        .filter_map(|sample| sample.covariates.get("slow_seconds"))
        .sum();
    if slow > 0.0 {
        notes.push(format!("{slow} seconds of samples had less than half of their sample's usual throughput"));
    }
    notes
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
        assert!(why(&[("client_stalled_s", 2.0)]).starts_with("it stood still for 2"));
        let idle = [
            ("client_throttled_fraction", 0.01),
            ("client_busy_fraction", 0.4),
            ("client_stalled_s", 0.1),
            ("client_waited_for_cpu_fraction", 0.9),
        ];
        assert_eq!(why(&idle), "");
        let still = |length_s| reason(&of(&[("client_stalled_s", length_s)]), 2.0);
        assert!(still(0.14).is_none() && still(0.3).is_some(), "a moment of a short sample is an accident");
    }

    #[test]
    fn a_stall_is_the_servers_where_the_client_was_there() {
        let words = |client: f64| {
            let pairs = [
                ("longest_stall_s", 1.5),
                ("longest_stall_from_s", 3.25),
                ("stalled_s", 1.5),
                ("client_stalled_s", client),
            ];
            stall_words(&of(&pairs)).unwrap()
        };
        assert!(words(1.4).ends_with("the client itself stood still"), "{}", words(1.4));
        assert!(
            words(0.0).contains("1.50 s from second 3.2 on") && words(0.0).contains("so the server"),
            "{}",
            words(0.0)
        );
        assert_eq!(stall_words(&of(&[("stalled_s", 0.0)])), None);
    }
}
