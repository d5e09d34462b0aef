//! Where threads really ran: from sightings to a table, and to features that may explain a mode.

use super::machine_view::relation_words;
use std::collections::{BTreeMap, BTreeSet};
use tare_cpuset::CpuSet;
use tare_results::covariate;
use tare_results::schema::{SampleRecord, ThreadClass, ThreadRecord, TrialRecord};
use tare_topology::{Machine, Pairing};

/// One thread of a condition, over all samples of the trials given.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadSummary {
    /// Client, server or background.
    pub class: ThreadClass,
    pub pair: Option<usize>,
    /// Its name as the kernel knows it.
    pub name: String,
    /// The distinct sets of CPUs it was allowed.
    pub allowed: BTreeSet<CpuSet>,
    /// CPU -> share of sightings, each sample weighing the same.
    pub seen: BTreeMap<usize, f64>,
    /// Samples it was found in.
    pub samples: usize,
    /// Moves between CPUs, mean of a sample.
    pub migrations: f64,
    /// Times it gave up its CPU, mean of a sample.
    pub voluntary_switches: f64,
    /// Times its CPU was taken away, mean of a sample.
    pub involuntary_switches: f64,
    /// CPU time a sample, seconds, user and system.
    pub cpu_s: f64,
    /// Shares of its time: on a CPU, waiting for one, asleep; none where the kernel did not tell.
    pub schedule: Option<[f64; 3]>,
}

/// The threads of some trials of one condition: clients, servers, background; each by pair and name.
pub fn table(trials: &[&TrialRecord]) -> Vec<ThreadSummary> {
    let mut rows: BTreeMap<(ThreadClass, Option<usize>, &str), ThreadSummary> = BTreeMap::new();
    for thread in trials.iter().flat_map(|trial| &trial.samples).flat_map(|sample| &sample.threads) {
        // Names of paired threads may carry a number of the connection, which changes with every trial.
        let name = if thread.pair.is_some() { "" } else { thread.name.as_str() };
        let row = rows.entry((thread.class, thread.pair, name)).or_insert_with(|| ThreadSummary {
            class: thread.class,
            pair: thread.pair,
            name: thread.name.clone(),
            allowed: BTreeSet::new(),
            seen: BTreeMap::new(),
            samples: 0,
            migrations: 0.0,
            voluntary_switches: 0.0,
            involuntary_switches: 0.0,
            cpu_s: 0.0,
            schedule: None,
        });
        row.samples += 1;
        row.allowed.insert(thread.allowed_cpus.clone());
        let sightings: u64 = thread.seen_cpus.values().sum();
        for (cpu, seen) in &thread.seen_cpus {
            *row.seen.entry(*cpu).or_default() += *seen as f64 / sightings.max(1) as f64;
        }
        row.migrations += thread.migrations as f64;
        row.voluntary_switches += thread.voluntary_switches as f64;
        row.involuntary_switches += thread.involuntary_switches as f64;
        row.cpu_s += thread.user_s + thread.system_s;
        if let Some(spent) = &thread.schedule {
            let [ran, waited, slept] = row.schedule.unwrap_or_default();
            row.schedule = Some([ran + spent.ran_s, waited + spent.waited_s, slept + spent.slept_s]);
        }
    }
    rows.into_values().map(averaged).collect()
}

fn averaged(mut row: ThreadSummary) -> ThreadSummary {
    let samples = row.samples.max(1) as f64;
    let total: f64 = row.seen.values().sum();
    if total > 0.0 {
        row.seen.values_mut().for_each(|share| *share /= total);
    }
    row.migrations /= samples;
    row.voluntary_switches /= samples;
    row.involuntary_switches /= samples;
    row.cpu_s /= samples;
    row.schedule = row.schedule.and_then(|spent| {
        let all: f64 = spent.iter().sum();
        (all > 0.0).then(|| spent.map(|part| part / all))
    });
    row
}

/// Something about a trial that may explain which mode it fell into.
#[derive(Debug, Clone, PartialEq)]
pub enum Feature {
    /// A category, such as where a pair sat.
    Word(String),
    /// A number, such as migrations.
    Number(f64),
}

/// Pairs whose own CPUs are features: with hundreds, none could be shown after adjusting for their number.
const SEATS_NAMED: usize = 8;

/// What may be the reason of how a trial went, by name: nothing that follows from it. Where the machine is known, pairs
/// are described by how their CPUs relate.
pub fn features(trial: &TrialRecord, machine: Option<&Machine>) -> BTreeMap<String, Feature> {
    let mut features = BTreeMap::new();
    let seats = seats(trial);
    // CPUs of two hosts do not relate.
    let one_host = trial.client_host.is_none();
    if let Some(words) = pair_words(&seats, machine).filter(|_| one_host) {
        features.insert(PAIRS.to_owned(), Feature::Word(words));
    }
    for ((class, pair), cpu) in seats.iter().filter(|((_, pair), _)| *pair < SEATS_NAMED) {
        let side = if *class == ThreadClass::Client { "client" } else { "server" };
        features.insert(format!("{side} thread {pair}"), Feature::Word(format!("mostly on CPU {cpu}")));
    }
    features.extend(super::plans::features(trial).map(|(name, plan)| (name, Feature::Word(plan))));
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for thread in trial.samples.iter().flat_map(|sample| &sample.threads).filter(|t| t.class != ThreadClass::Background)
    {
        *sums.entry("migrations").or_default() += thread.migrations as f64;
        *sums.entry("involuntary switches").or_default() += thread.involuntary_switches as f64;
    }
    let samples = trial.sample_count().max(1) as f64;
    for (name, sum) in sums {
        features.insert(format!("{name} a sample"), Feature::Number(sum / samples));
    }
    for (name, mean) in covariate_means(&trial.samples) {
        features.insert(name, Feature::Number(mean));
    }
    features
}

/// Name of the feature that says how client and server threads of all pairs relate.
pub const PAIRS: &str = "pairs";

/// CPU on which each paired thread was seen most during a trial.
fn seats(trial: &TrialRecord) -> BTreeMap<(ThreadClass, usize), usize> {
    let mut seen: BTreeMap<(ThreadClass, usize), BTreeMap<usize, u64>> = BTreeMap::new();
    for thread in trial.samples.iter().flat_map(|sample| &sample.threads) {
        let ThreadRecord { class, pair: Some(pair), seen_cpus, .. } = thread else { continue };
        let counts = seen.entry((*class, *pair)).or_default();
        for (cpu, sightings) in seen_cpus {
            *counts.entry(*cpu).or_default() += sightings;
        }
    }
    seen.into_iter()
        .filter_map(|(thread, counts)| Some((thread, main_cpu(counts.iter().map(|(cpu, n)| (*cpu, *n as f64)))?)))
        .collect()
}

/// The CPU with the largest count, the lowest number among equals.
pub fn main_cpu(counts: impl Iterator<Item = (usize, f64)>) -> Option<usize> {
    counts
        .fold(None, |best: Option<(usize, f64)>, (cpu, n)| match best {
            Some((_, most)) if most >= n => best,
            _ => Some((cpu, n)),
        })
        .map(|(cpu, _)| cpu)
}

/// How pairs sat: "both threads of every pair on one PU", "1 of 2 pairs on one PU, 1 on different nodes".
fn pair_words(seats: &BTreeMap<(ThreadClass, usize), usize>, machine: Option<&Machine>) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut pairs = 0;
    for ((role, pair), client) in seats {
        let (ThreadClass::Client, Some(server)) = (role, seats.get(&(ThreadClass::Connection, *pair))) else {
            continue;
        };
        let relation = machine
            .and_then(|machine| machine.relation(u32::try_from(*client).ok()?, u32::try_from(*server).ok()?))
            .unwrap_or(if client == server { Pairing::SamePu } else { Pairing::None });
        *counts.entry(relation_words(relation)).or_default() += 1;
        pairs += 1;
    }
    match counts.len() {
        0 => None,
        1 => counts.keys().next().map(|words| match pairs {
            1 => format!("client and server thread {words}"),
            _ => format!("client and server thread of every pair {words}"),
        }),
        _ => {
            let parts: Vec<String> = counts.iter().map(|(words, n)| format!("{n} of {pairs} pairs {words}")).collect();
            Some(parts.join(", "))
        }
    }
}

fn covariate_means(samples: &[SampleRecord]) -> BTreeMap<String, f64> {
    let mut sums: BTreeMap<String, (f64, usize)> = BTreeMap::new();
    let recorded = samples.iter().flat_map(|sample| &sample.covariates).filter(|(_, value)| value.is_finite());
    for (name, value) in recorded.filter(|(name, _)| covariate::may_explain(name)) {
        let entry = sums.entry(name.clone()).or_default();
        entry.0 += value;
        entry.1 += 1;
    }
    sums.into_iter().map(|(name, (sum, n))| (name, sum / n as f64)).collect()
}
