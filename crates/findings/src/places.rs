//! Where a condition ran: the CPUs of threads with features that may explain a mode, the nodes of the server's
//! memory, and both in the form that external tools take.

use super::collect::ConditionTrials;
use super::plans;
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use tare_cpuset::CpuSet;
use tare_results::covariate::{self, Covariate, NUMA_HIT, NUMA_MISS, NUMA_OTHER, SERVER_MEMORY};
use tare_results::metric;
use tare_results::schema::{PlannedCondition, SampleRecord, ThreadClass, ThreadRecord, TrialRecord};
use tare_topology::{Machine, MemoryPolicy, Pairing};

/// What the two threads of a pair share, the nearest first; a nearer relation is included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shared {
    Pu,
    Core,
    Cache,
    Node,
}

impl Shared {
    pub(super) const ALL: [Self; 4] = [Self::Pu, Self::Core, Self::Cache, Self::Node];
}

/// One thread of a condition, over all samples of the given trials.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadSummary {
    pub class: ThreadClass,
    pub pair: Option<usize>,
    pub name: String,
    /// The distinct sets of CPUs it was allowed.
    pub allowed: BTreeSet<CpuSet>,
    /// CPU -> share of observations, with equal weight per sample.
    pub seen: BTreeMap<usize, f64>,
    pub samples: usize,
    pub migrations: f64,
    /// Voluntary context switches, mean per sample.
    pub voluntary_switches: f64,
    /// Involuntary context switches, mean per sample.
    pub involuntary_switches: f64,
    /// CPU time per sample, seconds, user and system.
    pub cpu_s: f64,
    /// Shares of its time: on a CPU, waiting for one, asleep; none if the kernel does not report them.
    pub schedule: Option<[f64; 3]>,
}

/// The threads of some trials of one condition: clients, servers, background; each by pair and name.
pub fn threads_table(trials: &[&TrialRecord]) -> Vec<ThreadSummary> {
    let mut rows: BTreeMap<(ThreadClass, Option<usize>, &str), ThreadSummary> = BTreeMap::new();
    for thread in trials.iter().flat_map(|trial| &trial.samples).flat_map(|sample| &sample.threads) {
        // Names of paired threads may contain a connection number, which changes with every trial.
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
        // Not as integers: a record of others may have any numbers.
        let sightings: f64 = thread.seen_cpus.values().map(|seen| *seen as f64).sum();
        for (cpu, seen) in &thread.seen_cpus {
            *row.seen.entry(*cpu).or_default() += *seen as f64 / sightings.max(1.0);
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

/// A property of a trial that may explain its result; of properties that explain it equally well, the first says most.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    /// The relation of the client and server thread of a single pair.
    Pair,
    /// The share of pairs with this relation or a nearer one. With many pairs, hardly two trials are identical, but the
    /// shares still form groups.
    Pairs(Shared),
    /// The share of the clients' and connections' threads on the node that has most of them.
    FullestNode,
    /// The CPU on which a thread of a pair ran mostly.
    MainCpu(ThreadClass, usize),
    /// The plan of the query of this metric.
    Plan(String),
    /// Per sample, of clients' and connections' threads.
    InvoluntarySwitches,
    Migrations,
    /// A recorded covariate.
    Covariate(String),
}

impl Property {
    /// Whether the CPUs of paired threads alone determine it.
    pub(super) fn is_of_seats(&self) -> bool {
        matches!(self, Self::Pair | Self::Pairs(_) | Self::FullestNode | Self::MainCpu(..))
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pair => f.write_str("pairs"),
            Self::Pairs(Shared::Pu) => f.write_str("share of pairs on one PU"),
            Self::Pairs(Shared::Core) => f.write_str("share of pairs on one core"),
            Self::Pairs(Shared::Cache) => f.write_str("share of pairs under one cache"),
            Self::Pairs(Shared::Node) => f.write_str("share of pairs on one node"),
            Self::FullestNode => f.write_str("share of threads on the fullest node"),
            Self::MainCpu(class, pair) => write!(f, "{} thread {pair}", class.side()),
            Self::Plan(metric) => write!(f, "plan of {}", metric::short(metric)),
            Self::InvoluntarySwitches => f.write_str("involuntary switches per sample"),
            Self::Migrations => f.write_str("migrations per sample"),
            Self::Covariate(name) => f.write_str(name),
        }
    }
}

impl Serialize for Property {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Feature {
    Category(Category),
    Number(f64),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Category {
    /// Of the CPUs of a client and its server thread.
    Relation(Pairing),
    Cpu(usize),
    /// The short name of a plan.
    Plan(String),
}

/// Number of pairs whose CPUs are features: with hundreds, none would be significant after adjustment for their number.
const PAIRS_NAMED: usize = 8;

/// Possible causes of a trial's result, without anything that is a consequence of it. If the machine is known, pairs
/// are described by the relation of their CPUs.
pub fn features(trial: &TrialRecord, machine: Option<&Machine>) -> BTreeMap<Property, Feature> {
    let mut features = BTreeMap::new();
    let cpus = main_cpus(trial);
    // CPUs of two hosts have no relation.
    if trial.client_host.is_none() {
        let relations = relations(&cpus, machine);
        match relations.as_slice() {
            [] => {}
            [relation] => {
                features.insert(Property::Pair, Feature::Category(Category::Relation(*relation)));
            }
            several => features.extend(shares(several)),
        }
        let fullest = machine.and_then(|machine| fullest_node(&cpus, machine));
        features.extend(fullest.map(|share| (Property::FullestNode, Feature::Number(share))));
    }
    for ((class, pair), cpu) in cpus.iter().filter(|((_, pair), _)| *pair < PAIRS_NAMED) {
        features.insert(Property::MainCpu(*class, *pair), Feature::Category(Category::Cpu(*cpu)));
    }
    let plan = |plan: &String| Feature::Category(Category::Plan(plans::short(plan)));
    features.extend(trial.plans.iter().map(|(metric, text)| (Property::Plan(metric.clone()), plan(text))));
    let threads = || trial.samples.iter().flat_map(|sample| &sample.threads);
    let of_pairs: Vec<&ThreadRecord> = threads().filter(|t| t.class != ThreadClass::Background).collect();
    if !of_pairs.is_empty() {
        let per_sample = |count: fn(&ThreadRecord) -> u64| {
            let sum: f64 = of_pairs.iter().map(|thread| count(thread) as f64).sum();
            Feature::Number(sum / trial.sample_count().max(1) as f64)
        };
        features.insert(Property::InvoluntarySwitches, per_sample(|thread| thread.involuntary_switches));
        features.insert(Property::Migrations, per_sample(|thread| thread.migrations));
    }
    let means = covariate_means(&trial.samples).into_iter();
    features.extend(means.map(|(name, mean)| (Property::Covariate(name), Feature::Number(mean))));
    features
}

/// The most frequent CPU of each paired thread during a trial.
fn main_cpus(trial: &TrialRecord) -> BTreeMap<(ThreadClass, usize), usize> {
    let mut seen: BTreeMap<(ThreadClass, usize), BTreeMap<usize, f64>> = BTreeMap::new();
    for thread in trial.samples.iter().flat_map(|sample| &sample.threads) {
        let ThreadRecord { class, pair: Some(pair), seen_cpus, .. } = thread else { continue };
        let counts = seen.entry((*class, *pair)).or_default();
        for (cpu, sightings) in seen_cpus {
            *counts.entry(*cpu).or_default() += *sightings as f64;
        }
    }
    seen.into_iter().filter_map(|(thread, counts)| Some((thread, main_cpu(counts.into_iter())?))).collect()
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

fn relations(cpus: &BTreeMap<(ThreadClass, usize), usize>, machine: Option<&Machine>) -> Vec<Pairing> {
    let relation = |client: usize, server: usize| {
        machine
            .and_then(|machine| machine.relation(u32::try_from(client).ok()?, u32::try_from(server).ok()?))
            .unwrap_or(if client == server { Pairing::SamePu } else { Pairing::None })
    };
    let clients = cpus.iter().filter(|((class, _), _)| *class == ThreadClass::Client);
    clients
        .filter_map(|((_, pair), client)| Some(relation(*client, *cpus.get(&(ThreadClass::Connection, *pair))?)))
        .collect()
}

/// Shares of the pairs with each relation or a nearer one. If the machine is unknown, only those on one PU can be
/// determined.
fn shares(relations: &[Pairing]) -> impl Iterator<Item = (Property, Feature)> {
    let nearest = |relation: &Pairing| match relation {
        Pairing::SamePu => Some(Shared::Pu),
        Pairing::SmtSibling | Pairing::SameCore => Some(Shared::Core),
        Pairing::SameCache => Some(Shared::Cache),
        Pairing::OtherCache | Pairing::SameNode => Some(Shared::Node),
        Pairing::OtherNode | Pairing::None => None,
    };
    let known = if relations.contains(&Pairing::None) { 1 } else { Shared::ALL.len() };
    Shared::ALL.into_iter().take(known).map(move |shared| {
        let near = relations.iter().filter(|relation| nearest(relation).is_some_and(|own| own <= shared)).count();
        (Property::Pairs(shared), Feature::Number(near as f64 / relations.len().max(1) as f64))
    })
}

/// Share of the paired threads whose CPUs are on the node with most of them; none on a machine with one node.
fn fullest_node(cpus: &BTreeMap<(ThreadClass, usize), usize>, machine: &Machine) -> Option<f64> {
    if machine.nodes.iter().filter(|node| !node.cpus.is_empty()).count() < 2 || cpus.is_empty() {
        return None;
    }
    let on = |cpu: usize| {
        let cpu = u32::try_from(cpu).ok()?;
        machine.nodes.iter().position(|node| node.cpus.contains(cpu))
    };
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    cpus.values().filter_map(|cpu| on(*cpu)).for_each(|node| *counts.entry(node).or_default() += 1);
    let most = counts.values().max()?;
    Some(*most as f64 / cpus.len() as f64)
}

/// Means of the covariates that may explain a trial's value, over the samples that have them.
pub(crate) fn covariate_means(samples: &[SampleRecord]) -> BTreeMap<String, f64> {
    let mut sums: BTreeMap<String, (f64, usize)> = BTreeMap::new();
    let recorded = samples.iter().flat_map(|sample| &sample.covariates).filter(|(_, value)| value.is_finite());
    for (name, value) in recorded.filter(|(name, _)| covariate::may_explain(name)) {
        let entry = sums.entry(name.clone()).or_default();
        entry.0 += value;
        entry.1 += 1;
    }
    sums.into_iter().map(|(name, (sum, n))| (name, sum / n as f64)).collect()
}

/// Memory of one node under one condition, means over samples.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeSummary {
    pub condition: String,
    pub node: u32,
    pub server_bytes: f64,
    /// Pages allocated on this node as intended, whole machine (numa_hit).
    pub hit_pages: f64,
    /// Pages allocated on this node because another node was full, whole machine (numa_miss).
    pub miss_pages: f64,
    /// Pages allocated on this node for a thread that ran on another node, whole machine (other_node).
    pub other_pages: f64,
}

/// One entry per condition and node; empty on a machine with a single node.
pub(super) fn nodes(conditions: &[ConditionTrials<'_>]) -> Vec<NodeSummary> {
    let found: Vec<NodeSummary> = conditions.iter().flat_map(nodes_of).collect();
    let numbers: BTreeSet<u32> = found.iter().map(|node| node.node).collect();
    if numbers.len() < 2 { Vec::new() } else { found }
}

fn nodes_of(condition: &ConditionTrials<'_>) -> Vec<NodeSummary> {
    let samples: Vec<&BTreeMap<String, f64>> =
        condition.ok.iter().flat_map(|trial| &trial.samples).map(|sample| &sample.covariates).collect();
    let of_node = |name: &String| SERVER_MEMORY.node(name).or_else(|| NUMA_HIT.node(name));
    let numbers: BTreeSet<u32> = samples.iter().flat_map(|sample| sample.keys()).filter_map(of_node).collect();
    // A node without memory of the server does not appear in its numa_maps.
    let mean = |covariate: Covariate, node: u32| {
        let name = covariate.name_at(node);
        let values = samples.iter().map(|sample| sample.get(&name).copied().unwrap_or(0.0));
        values.sum::<f64>() / samples.len().max(1) as f64
    };
    let summary = |node| NodeSummary {
        condition: condition.name.to_owned(),
        node,
        server_bytes: mean(SERVER_MEMORY, node),
        hit_pages: mean(NUMA_HIT, node),
        miss_pages: mean(NUMA_MISS, node),
        other_pages: mean(NUMA_OTHER, node),
    };
    numbers.into_iter().map(summary).collect()
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Used {
    /// CPUs of all client threads; empty if left to the OS.
    pub clients: CpuSet,
    /// CPUs of all server threads; empty if left to the OS.
    pub server: CpuSet,
    pub memory: MemoryPolicy,
}

impl Used {
    pub fn of(condition: &PlannedCondition) -> Self {
        let placement = condition.placement.clone().unwrap_or_default();
        let set = |sets: &[CpuSet]| sets.iter().flat_map(CpuSet::iter).collect::<CpuSet>();
        let server = set(&placement.server).union(&placement.background.unwrap_or_default());
        Self { clients: set(&placement.client), server, memory: placement.memory.unwrap_or_default() }
    }
}
