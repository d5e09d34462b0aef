//! Whether the client was the limit, waited for CPUs, or stood still: what has to be known before a figure is taken for
//! the server's.

use crate::collect::is_usable;
use crate::state::{self, State};
use std::collections::BTreeMap;
use tare_cpuset::CpuSet;
use tare_results::Results;
use tare_results::client_limit::ClientLimit;
use tare_results::schema::{SampleRecord, ThreadClass, TrialRecord};
use tare_results::search::Limit;

/// Waiting for a CPU for such a share of the time, on CPUs that the server has no part in.
const WAITED: f64 = 0.25;
/// From this share of the benchmark's CPUs on (docs/noise.md), what others took may be what clients waited for.
const OTHERS: f64 = 0.05;
/// A standstill is the client's own where it stood still for such a share of it.
const CLIENTS_OWN: f64 = 0.5;
const LISTED: usize = 3;

/// What was found of the clients of all trials that are analysed and have a server.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClientFindings<'r> {
    pub limited: Vec<InTrials<'r, (ClientLimit, f64)>>,
    /// Others in which clients waited for CPUs which no server thread may use, with the share of their time.
    pub waited: Vec<InTrials<'r, f64>>,
    pub stalls: Vec<(&'r TrialRecord, &'r SampleRecord, LongestStall)>,
    pub more_stalls: usize,
    /// Seconds with less than half of their sample's usual throughput, of samples without a standstill.
    pub slow_s: f64,
    /// Conditions whose searches for a rate came up against the client, with the objective.
    pub searches: Vec<InTrials<'r, (&'r str, ClientLimit)>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct InTrials<'r, T> {
    pub condition: &'r str,
    pub trials: usize,
    pub all: usize,
    pub first: T,
}

/// The longest time of a sample in which nothing was completed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LongestStall {
    /// When it began, seconds into the sample.
    pub from_s: f64,
    pub length_s: f64,
    /// Whether the client itself stood still; else it was there, and the server or the way to it stood still.
    pub is_clients: bool,
}

impl LongestStall {
    /// From the covariates of a sample; none where something was always completed.
    pub fn of(covariates: &BTreeMap<String, f64>) -> Option<Self> {
        let of = |name: &str| covariates.get(name).copied();
        let (from_s, length_s) = (of("longest_stall_from_s")?, of("longest_stall_s")?);
        let all_s = of("stalled_s").unwrap_or(0.0).max(f64::MIN_POSITIVE);
        let is_clients = of("client_stalled_s").unwrap_or(0.0) / all_s >= CLIENTS_OWN;
        Some(Self { from_s, length_s, is_clients })
    }
}

impl<'r> ClientFindings<'r> {
    /// Of the trials that are analysed, where they drove a server.
    pub fn of(results: &'r Results) -> Self {
        let usable = results.trials.iter().filter(|trial| is_usable(trial) && trial.server_version.is_some());
        let trials: Vec<&TrialRecord> = usable.collect();
        let limited = in_trials(&trials, |trial| {
            trial.samples.iter().find_map(|s| Some((ClientLimit::of(&s.covariates, s.elapsed_s)?, s.elapsed_s)))
        });
        let mut waited = in_trials(&trials, |trial| match state::of(trial) {
            State::Clean => trial.samples.iter().find_map(waited),
            State::Disturbed(_) | State::Failed(_) => None,
        });
        waited.retain(|found| limited.iter().all(|limited| limited.condition != found.condition));
        let searches = in_trials(&trials, |trial| {
            trial.searches.iter().find_map(|search| match search.limit {
                Some(Limit::Client(why)) => Some((search.objective.as_str(), why)),
                _ => None,
            })
        });
        let samples = || trials.iter().flat_map(|trial| trial.samples.iter().map(move |sample| (*trial, sample)));
        let mut stalls: Vec<_> = samples()
            .filter_map(|(trial, sample)| Some((trial, sample, LongestStall::of(&sample.covariates)?)))
            .collect();
        stalls.sort_by(|(.., a), (.., b)| b.length_s.total_cmp(&a.length_s));
        let more_stalls = stalls.len().saturating_sub(LISTED);
        stalls.truncate(LISTED);
        let steady = samples().filter(|(_, sample)| LongestStall::of(&sample.covariates).is_none());
        let slow_s = steady.filter_map(|(_, sample)| sample.covariates.get("slow_seconds")).sum();
        Self { limited, waited, stalls, more_stalls, slow_s, searches }
    }
}

/// By condition, where something is found in its trials.
fn in_trials<'r, T>(trials: &[&'r TrialRecord], found: impl Fn(&'r TrialRecord) -> Option<T>) -> Vec<InTrials<'r, T>> {
    let mut by_condition: BTreeMap<&str, (usize, Option<InTrials<'r, T>>)> = BTreeMap::new();
    for trial in trials {
        let condition = trial.condition.as_str();
        let (all, seen) = by_condition.entry(condition).or_default();
        *all += 1;
        if let Some(first) = found(trial) {
            seen.get_or_insert(InTrials { condition, trials: 0, all: 0, first }).trials += 1;
        }
    }
    by_condition.into_values().filter_map(|(all, seen)| Some(InTrials { all, ..seen? })).collect()
}

/// The share of their time that clients waited for each other, on CPUs which no server thread may use. None where that
/// is little, or the CPUs are not theirs alone: others had them too.
fn waited(sample: &SampleRecord) -> Option<f64> {
    let share = sample.covariates.get("client_waited_for_cpu_fraction").copied().filter(|share| *share >= WAITED)?;
    if sample.covariates.get("foreign_cpu_fraction").is_some_and(|share| *share > OTHERS) {
        return None;
    }
    let of = |class: ThreadClass| {
        let threads = sample.threads.iter().filter(move |thread| thread.class == class);
        threads.map(|thread| &thread.allowed_cpus).collect::<Vec<&CpuSet>>()
    };
    let (clients, servers) = (of(ThreadClass::Client), of(ThreadClass::Connection));
    let shares = |client: &&CpuSet| servers.iter().any(|server| !client.intersection(server).is_empty());
    (!servers.is_empty() && !clients.iter().any(shares)).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::schema::{Levels, PlannedTrial, ThreadRecord};

    /// A trial whose clients waited for a CPU for 0.6 of the time, on CPUs that no server thread may use.
    fn waiting(foreign: f64, reason: Option<&str>) -> TrialRecord {
        let on = |class, cpus: &str| ThreadRecord { class, allowed_cpus: cpus.parse().unwrap(), ..Default::default() };
        let covariates = [("client_waited_for_cpu_fraction", 0.6), ("foreign_cpu_fraction", foreign)];
        let sample = SampleRecord {
            covariates: covariates.map(|(name, value)| (name.to_owned(), value)).into(),
            threads: vec![on(ThreadClass::Client, "0"), on(ThreadClass::Connection, "1")],
            ..Default::default()
        };
        let planned = PlannedTrial { trial: 0, block: 0, condition: "a".into(), lifetime: None };
        let mut record = TrialRecord::new(&planned, 1, Levels::new(), String::new());
        (record.server_version, record.reason) = (Some("1".into()), reason.map(str::to_owned));
        record.samples = vec![sample];
        record
    }

    #[test]
    fn clients_waited_for_each_other_only_where_no_one_else_had_their_cpus() {
        let said = |trials: Vec<TrialRecord>| {
            let results = Results { trials, ..Results::default() };
            ClientFindings::of(&results).waited.iter().map(|found| (found.trials, found.all)).collect::<Vec<_>>()
        };
        assert_eq!(said(vec![waiting(0.0, None), waiting(0.3, Some("rustc took 30%"))]), [(1, 2)]);
        assert_eq!(said(vec![waiting(0.0, Some("the hypervisor took 9%"))]), []);
        assert_eq!(said(vec![waiting(0.3, None)]), [], "a study that sets no limit to others");
    }

    #[test]
    fn a_stall_is_the_servers_where_the_client_was_there() {
        let of = |client_s: f64| {
            let pairs = [
                ("longest_stall_s", 1.5),
                ("longest_stall_from_s", 3.25),
                ("stalled_s", 1.5),
                ("client_stalled_s", client_s),
            ];
            LongestStall::of(&pairs.map(|(name, value)| (name.to_owned(), value)).into())
        };
        assert_eq!(of(1.4), Some(LongestStall { from_s: 3.25, length_s: 1.5, is_clients: true }));
        assert_eq!(of(0.0), Some(LongestStall { from_s: 3.25, length_s: 1.5, is_clients: false }));
        assert_eq!(LongestStall::of(&[("stalled_s".to_owned(), 0.0)].into()), None);
    }
}
