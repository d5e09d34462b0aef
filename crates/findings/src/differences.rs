//! Differences between how two sets of results were made, and whether two sides measured the same program with the
//! same settings and data.

use super::collect::{self, ConditionTrials, host};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use tare_results::Results;
use tare_results::schema::{Environment, Levels};

/// The setting that records how busy a machine was.
const LOAD: &str = "/proc/loadavg";

/// Where a private server listens, which differs in each trial.
const ADDRESS: [&str; 4] = ["port", "socket", "pid_file", "unix_socket_directories"];
const BUILD_ID: &str = "build id";

/// How sockets are divided into NUMA nodes: SNC, NPS, L3 as NUMA.
pub(super) const NODE_LAYOUT: What = What::Machine(Cow::Borrowed("NUMA nodes"));

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    Factor(String),
    ServerVersion,
    /// How the server was built: `build id`, `CFLAGS` ...
    ServerBuild(String),
    /// A setting of the server that differs from its default.
    ServerSetting(String),
    /// A property of the machine: `CPU`, `kernel` ...
    Machine(Cow<'static, str>),
    Tare,
    Setting(String),
    /// A key of the study: `sampling.trials` ...
    Study(String),
}

impl What {
    /// The setting of the server that this key of a study requests.
    fn option(&self) -> Option<String> {
        let Self::Study(key) = self else { return None };
        let (_, name) = key.split_once("options.")?;
        Some(name.replace('-', "_").to_lowercase())
    }

    pub(super) fn is_load(&self) -> bool {
        matches!(self, Self::Setting(path) if path == LOAD)
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Factor(name) => write!(f, "factor {name}"),
            Self::ServerVersion => f.write_str("server version"),
            Self::ServerBuild(what) => write!(f, "server build: {what}"),
            Self::ServerSetting(name) => write!(f, "server setting {name}"),
            Self::Machine(what) => f.write_str(what),
            Self::Tare => f.write_str("tare"),
            Self::Setting(path) => f.write_str(path),
            Self::Study(key) => write!(f, "study: {key}"),
        }
    }
}

impl Serialize for What {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// A factor, a setting, a key of the study ...
    pub what: What,
    /// Value in A; empty if A has none.
    pub a: String,
    /// Value in B; empty if B has none.
    pub b: String,
}

/// The names of the machines on which trials ran.
pub(super) const HOST: What = What::Machine(Cow::Borrowed("host"));

/// Differences of host, server, machine, settings and study, in this order. The machine's load average is left out,
/// because it differs each time.
pub(super) fn between(a: &Results, b: &Results) -> Vec<Difference> {
    let mut found = of_facts(&facts(a), &facts(b));
    found.retain(|difference| !difference.what.is_load());
    let [a, b] = [a, b].map(|results| joined(results.trials.iter().map(host).collect::<BTreeSet<_>>()));
    let hosts = (!a.is_empty() && !b.is_empty() && a != b).then_some(Difference { what: HOST, a, b });
    hosts.into_iter().chain(found).collect()
}

/// Differences between two lists of recorded facts. A setting of the server that the studies request differently is a
/// difference of the studies alone.
pub(super) fn of_facts(facts_a: &[(What, String)], facts_b: &[(What, String)]) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for (what, _) in facts_a.iter().chain(facts_b) {
        if !seen.insert(what) {
            continue;
        }
        let value = |facts: &[(What, String)]| {
            facts.iter().find(|(name, _)| name == what).map_or(String::new(), |(_, value)| value.clone())
        };
        let (a, b) = (value(facts_a), value(facts_b));
        if a != b {
            found.push(Difference { what: what.clone(), a, b });
        }
    }
    let requested: BTreeSet<String> = found.iter().filter_map(|difference| difference.what.option()).collect();
    found.retain(|difference| !matches!(&difference.what, What::ServerSetting(name) if requested.contains(name)));
    found
}

pub(super) fn of_levels(a: &Levels, b: &Levels) -> Vec<Difference> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let value = |levels: &Levels, name: &String| levels.get(name).cloned().unwrap_or_default();
    names
        .into_iter()
        .filter(|name| a.get(*name) != b.get(*name))
        .map(|name| Difference { what: What::Factor(name.clone()), a: value(a, name), b: value(b, name) })
        .collect()
}

/// The levels in which compared conditions differ, each difference once.
pub(super) fn of_conditions(pairs: &[(&ConditionTrials<'_>, &ConditionTrials<'_>)]) -> Vec<Difference> {
    let mut found = Vec::new();
    for difference in pairs.iter().flat_map(|(one, other)| of_levels(one.levels, other.levels)) {
        if !found.contains(&difference) {
            found.push(difference);
        }
    }
    found
}

/// All recorded facts about how results were made.
pub(super) fn facts(results: &Results) -> Vec<(What, String)> {
    let versions: BTreeSet<&str> = results.trials.iter().filter_map(|t| t.server_version.as_deref()).collect();
    let mut facts = vec![(What::ServerVersion, joined(versions))];
    let [builds, settings] = of_servers(results);
    facts.extend(builds);
    if let Some(environment) = &results.environment {
        facts.extend(of_environment(environment));
    }
    facts.extend(settings);
    let mut leaves = BTreeMap::new();
    if let Some(table) = collect::study(results) {
        flatten("", table, &mut leaves);
    }
    facts.extend(leaves.into_iter().map(|(key, value)| (What::Study(key), value)));
    facts
}

/// How the servers were built, and their settings; each value of several trials once.
fn of_servers(results: &Results) -> [Vec<(What, String)>; 2] {
    let (mut builds, mut settings) = (BTreeMap::new(), BTreeMap::new());
    for server in results.trials.iter().filter_map(|trial| trial.server.as_ref()) {
        let build_id = server.build_id.iter().map(|id| (BUILD_ID, id));
        for (key, value) in build_id.chain(server.build.iter().map(|(key, value)| (key.as_str(), value))) {
            builds.entry(key).or_insert_with(BTreeSet::new).insert(value.as_str());
        }
        for (name, setting) in server.changed.iter().filter(|(name, _)| !ADDRESS.contains(&name.as_str())) {
            settings.entry(name.as_str()).or_insert_with(BTreeSet::new).insert(setting.value.as_str());
        }
    }
    let facts = |values: BTreeMap<&str, BTreeSet<&str>>, what: fn(String) -> What| {
        values.into_iter().map(|(name, values)| (what(name.to_owned()), joined(values))).collect()
    };
    [facts(builds, What::ServerBuild), facts(settings, What::ServerSetting)]
}

fn joined<'a>(values: impl IntoIterator<Item = &'a str>) -> String {
    values.into_iter().collect::<Vec<_>>().join(", ")
}

fn of_environment(environment: &Environment) -> Vec<(What, String)> {
    let machine = |what| What::Machine(Cow::Borrowed(what));
    let mut facts = vec![
        (machine("CPU"), environment.cpu_model.clone()),
        (machine("hypervisor"), environment.hypervisor.clone().unwrap_or_default()),
        (machine("operating system"), environment.os.clone()),
        (machine("kernel"), environment.kernel.clone()),
        (What::Tare, environment.tare_version.clone()),
        (machine("PUs"), environment.machine.pu_count().to_string()),
        (machine("nodes"), environment.machine.node_count().to_string()),
        (NODE_LAYOUT, environment.machine.node_layout().to_string()),
    ];
    facts.extend(environment.settings.iter().map(|(name, value)| (What::Setting(name.clone()), value.clone())));
    facts
}

/// `sampling.trials -> 10` for every leaf of a TOML document.
fn flatten(prefix: &str, table: &toml::Table, leaves: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        let key = if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
        match value {
            toml::Value::Table(table) => flatten(&key, table, leaves),
            toml::Value::String(text) => drop(leaves.insert(key, text.clone())),
            other => drop(leaves.insert(key, other.to_string())),
        }
    }
}

/// Whether two measurements of the same thing may differ in this: names, sample sizes, hosts, and the load average.
fn says_nothing(what: &What) -> bool {
    const KEYS: [&str; 4] = ["name", "title", "description", "question"];
    // The path of a build is not a property of it: its content is compared.
    const BUILDS: [&str; 2] = ["engine.binary", "factors.binary"];
    match what {
        What::Factor(name) => name == "binary",
        What::Study(key) => {
            KEYS.contains(&key.as_str()) || BUILDS.contains(&key.as_str()) || key.starts_with("sampling.")
        }
        What::Setting(_) => what.is_load(),
        // The same programs, settings and data on another machine of this kind.
        What::Machine(_) => *what == HOST,
        What::ServerVersion | What::ServerBuild(_) | What::ServerSetting(_) | What::Tare => false,
    }
}

/// The server programs of some trials; none if a trial lacks it.
fn programs<'a>(side: &ConditionTrials<'a>) -> Option<BTreeSet<&'a str>> {
    side.ok.iter().map(|trial| trial.server_program.as_deref()).collect()
}

/// The client programs that are not part of tare.
fn client_programs<'a>(side: &ConditionTrials<'a>) -> BTreeSet<&'a BTreeSet<String>> {
    side.ok.iter().map(|trial| &trial.client_programs).collect()
}

/// Whether all metrics of two conditions have the same values in the same order, although they vary from trial to
/// trial. A copy of a CSV file is recognised only by this, because its trials have no start times.
pub(crate) fn same_values(a: &ConditionTrials<'_>, b: &ConditionTrials<'_>) -> bool {
    let of = |name: &String| (a.values(name), b.values(name));
    // A file has a percentile once per trial, and a results directory once per sample.
    let samples = |trials: &[Vec<f64>]| trials.iter().map(Vec::len).collect::<Vec<_>>();
    let is_shared = |(a, b): &(Vec<Vec<f64>>, Vec<Vec<f64>>)| !a.is_empty() && samples(a) == samples(b);
    let shared: Vec<_> = a.metrics().iter().map(of).filter(is_shared).collect();
    let varies = |values: &[Vec<f64>]| values.windows(2).any(|two| two[0] != two[1]);
    shared.iter().all(|(a, b)| a == b) && shared.iter().any(|(a, _)| varies(a))
}

/// Whether a pair of conditions used two server programs, or may have, because the program of a server is not known.
pub(crate) fn have_other_servers(pairs: &[(&ConditionTrials<'_>, &ConditionTrials<'_>)]) -> bool {
    let has_server = |side: &ConditionTrials<'_>| side.ok.iter().any(|trial| trial.server_version.is_some());
    let differ = |a, b| programs(a).zip(programs(b)).is_none_or(|(a, b)| a != b);
    pairs.iter().any(|(a, b)| (has_server(a) || has_server(b)) && differ(a, b))
}

/// Whether the studies differ in more than the address of a running server.
pub(crate) fn have_other_studies(differences: &[Difference]) -> bool {
    const ADDRESS: [&str; 4] = ["engine.socket", "engine.host", "engine.port", "engine.service"];
    differences.iter().any(|difference| match &difference.what {
        What::Study(key) => !says_nothing(&difference.what) && !ADDRESS.contains(&key.as_str()),
        _ => false,
    })
}

/// The server programs if every pair of conditions is the same on both sides; else none.
pub(crate) fn programs_of(
    pairs: &[(&ConditionTrials<'_>, &ConditionTrials<'_>)],
    differences: &[Difference],
) -> Option<Vec<String>> {
    if differences.iter().any(|difference| !says_nothing(&difference.what)) {
        return None;
    }
    let mut all = BTreeSet::new();
    for (a, b) in pairs {
        let (of_a, of_b) = (programs(a)?, programs(b)?);
        if of_a != of_b || of_a.is_empty() || client_programs(a) != client_programs(b) {
            return None;
        }
        all.extend(of_a);
    }
    Some(all.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_the_studies_request_differently_is_a_difference_of_the_studies_alone() {
        let facts = |requested: &str, own: &str| {
            vec![
                (What::Study("engine.options.Sort-Buffer_Size".to_owned()), requested.to_owned()),
                (What::ServerSetting("sort_buffer_size".to_owned()), requested.to_owned()),
                (What::ServerSetting("net_buffer_length".to_owned()), own.to_owned()),
            ]
        };
        let found = of_facts(&facts("1M", "16384"), &facts("2M", "8192"));
        let whats: Vec<String> = found.iter().map(|difference| difference.what.to_string()).collect();
        assert_eq!(whats, ["study: engine.options.Sort-Buffer_Size", "server setting net_buffer_length"]);
        let found = of_facts(&facts("1M", "16384"), &[]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!((found[1].a.as_str(), found[1].b.as_str()), ("16384", ""));
    }
}
