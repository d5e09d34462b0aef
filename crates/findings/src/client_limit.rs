//! Whether the client was the limit, waited for CPUs, or stalled: figures of such trials may not describe the server.

use crate::collect::is_usable;
use crate::state::{self, State};
use std::collections::BTreeMap;
use tare_cpuset::CpuSet;
use tare_results::Results;
use tare_results::covariate::FOREIGN_FRACTION;
use tare_results::schema::{SampleRecord, ThreadClass, TrialRecord};
use tare_results::search::{ClientLimit, Limit, Slo};

/// Minimum share of the time that clients wait for a CPU, on CPUs that no server thread uses.
const WAITED: f64 = 0.25;
/// Above this share of the benchmark's CPUs (docs/noise.md), clients may have waited because of other processes.
const OTHERS: f64 = 0.05;
/// A stall is attributed to the client if the client itself stalled for at least this share of it.
const CLIENTS_OWN: f64 = 0.5;
const LISTED: usize = 3;

/// Findings about the clients of all analysed trials that have a server.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClientFindings<'r> {
    pub limited: Vec<InTrials<'r, (ClientLimit, f64)>>,
    /// Further conditions in which clients waited for CPUs that no server thread may use, with the share of their
    /// time.
    pub waited: Vec<InTrials<'r, f64>>,
    pub stalls: Vec<(&'r TrialRecord, &'r SampleRecord, LongestStall)>,
    pub more_stalls: usize,
    /// Seconds with less than half of their sample's usual throughput, of samples without a stall.
    pub slow_s: f64,
    /// Conditions whose rate searches reached the limit of the client, with the SLO.
    pub searches: Vec<InTrials<'r, (&'r Slo, ClientLimit)>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct InTrials<'r, T> {
    pub condition: &'r str,
    pub trials: usize,
    pub all: usize,
    pub first: T,
}

/// The longest period of a sample in which no transaction completed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LongestStall {
    /// Start, seconds into the sample.
    pub from_s: f64,
    pub length_s: f64,
    /// Whether the client itself stalled; else the client ran, and the server or the connection to it stalled.
    pub is_clients: bool,
}

impl LongestStall {
    /// Read from the covariates of a sample; none if there was no stall.
    pub fn of(covariates: &BTreeMap<String, f64>) -> Option<Self> {
        let of = |name: &str| covariates.get(name).copied();
        let (from_s, length_s) = (of("longest_stall_from_s")?, of("longest_stall_s")?);
        let all_s = of("stalled_s").unwrap_or(0.0).max(f64::MIN_POSITIVE);
        let is_clients = of("client_stalled_s").unwrap_or(0.0) / all_s >= CLIENTS_OWN;
        Some(Self { from_s, length_s, is_clients })
    }
}

impl<'r> ClientFindings<'r> {
    /// Analyses the usable trials that have a server.
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
                Some(Limit::Client(why)) => Some((&search.slo, why)),
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

/// Groups trials with a finding by condition.
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

/// The share of their time that clients waited for each other, on CPUs that no server thread may use. None if it is
/// small, or if other processes used the CPUs too.
fn waited(sample: &SampleRecord) -> Option<f64> {
    let share = sample.covariates.get("client_waited_for_cpu_fraction").copied().filter(|share| *share >= WAITED)?;
    if sample.covariates.get(FOREIGN_FRACTION).is_some_and(|share| *share > OTHERS) {
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
        let message = |trials: Vec<TrialRecord>| {
            let results = Results { trials, ..Results::default() };
            ClientFindings::of(&results).waited.iter().map(|found| (found.trials, found.all)).collect::<Vec<_>>()
        };
        assert_eq!(message(vec![waiting(0.0, None), waiting(0.3, Some("rustc took 30%"))]), [(1, 2)]);
        assert_eq!(message(vec![waiting(0.0, Some("the hypervisor took 9%"))]), []);
        assert_eq!(message(vec![waiting(0.3, None)]), [], "a study that sets no limit to others");
    }

    #[test]
    fn a_stall_is_the_servers_unless_the_client_stalled_too() {
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
