//! What is different in how two sets of results were made.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use tare_results::Results;
use tare_results::schema::{Environment, Levels};

/// One thing that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// `kernel`, `server version`, `study: sampling.trials`, a setting's path ...
    pub what: String,
    /// Value in A; empty where A has none.
    pub a: String,
    /// Value in B; empty where B has none.
    pub b: String,
}

/// Differences of server, machine, settings and study, in this order.
pub(super) fn between(a: &Results, b: &Results) -> Vec<Difference> {
    let (facts_a, facts_b) = (facts(a), facts(b));
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for (what, _) in facts_a.iter().chain(&facts_b) {
        if !seen.insert(what) {
            continue;
        }
        let value = |facts: &[(String, String)]| {
            facts.iter().find(|(name, _)| name == what).map_or(String::new(), |(_, value)| value.clone())
        };
        let (a, b) = (value(&facts_a), value(&facts_b));
        if a != b {
            found.push(Difference { what: what.clone(), a, b });
        }
    }
    found
}

/// Differences of two conditions' levels.
pub(super) fn of_levels(a: &Levels, b: &Levels) -> Vec<Difference> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let value = |levels: &Levels, name: &String| levels.get(name).cloned().unwrap_or_default();
    names
        .into_iter()
        .filter(|name| a.get(*name) != b.get(*name))
        .map(|name| Difference { what: format!("factor {name}"), a: value(a, name), b: value(b, name) })
        .collect()
}

fn facts(results: &Results) -> Vec<(String, String)> {
    let versions: BTreeSet<&str> = results.trials.iter().filter_map(|t| t.server_version.as_deref()).collect();
    let mut facts = vec![("server version".to_owned(), versions.into_iter().collect::<Vec<_>>().join(", "))];
    if let Some(environment) = &results.environment {
        facts.extend(of_environment(environment));
    }
    if let Some(text) = &results.study_toml {
        let mut leaves = BTreeMap::new();
        if let Ok(table) = text.parse::<toml::Table>() {
            flatten("", &toml::Value::Table(table), &mut leaves);
        }
        facts.extend(leaves.into_iter().map(|(key, value)| (format!("study: {key}"), value)));
    }
    facts
}

fn of_environment(environment: &Environment) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> = [
        ("CPU", environment.cpu_model.clone()),
        ("hypervisor", environment.hypervisor.clone().unwrap_or_default()),
        ("operating system", environment.os.clone()),
        ("kernel", environment.kernel.clone()),
        ("tare", environment.tare_version.clone()),
        ("PUs", environment.machine.pu_count().to_string()),
        ("nodes", environment.machine.node_count().to_string()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    facts.extend(environment.settings.iter().map(|(name, value)| (name.clone(), value.clone())));
    facts
}

/// `sampling.trials -> 10` for every leaf of a TOML document.
fn flatten(prefix: &str, value: &toml::Value, leaves: &mut BTreeMap<String, String>) {
    let join = |key: &str| if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
    match value {
        toml::Value::Table(table) => table.iter().for_each(|(key, value)| flatten(&join(key), value, leaves)),
        toml::Value::String(text) => {
            leaves.insert(prefix.to_owned(), text.clone());
        }
        other => {
            leaves.insert(prefix.to_owned(), other.to_string());
        }
    }
}
