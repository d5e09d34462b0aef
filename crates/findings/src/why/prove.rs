//! The experiment that decides about a suspect: what is changed, and what then happens if the suspect is the reason.

use super::suspect::Suspect;
use crate::collect::ConditionTrials;
use serde::Serialize;
use std::path::Path;
use tare_results::Results;
use tare_text::Value;

/// What is to be seen when a suspect is the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// The time of a transaction falls.
    Faster,
    /// The time of a transaction stays as it is: what was given more of was not what it waits for.
    Unchanged,
    /// Functions are named that make it up.
    Named,
}

/// A run of the same study with something changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Experiment {
    /// Words behind `tare run`, the study first: each an argument.
    pub arguments: Vec<String>,
    /// What is to be seen then in the slower of the two, if the suspect is the reason.
    pub expected: Expected,
    /// Seconds that it takes, about; none where the plan does not say.
    pub estimated_s: Option<u32>,
}

/// Rows among which hot ones are lost.
const MANY_ROWS: i64 = 100_000;
/// Times as many tables, so that a lock of each table is shared by fewer.
const MORE_TABLES: i64 = 8;

/// The experiment for a suspect, on the study that this side is of.
pub(super) fn experiment(suspect: &Suspect, side: &ConditionTrials<'_>, results: &Results) -> Experiment {
    let known = Known { side, results };
    let (changes, expected) = match suspect {
        Suspect::RowLock => {
            (known.set("workload.rows", &known.number("workload.rows", 1).max(MANY_ROWS).to_string()), Expected::Faster)
        }
        Suspect::GlobalLock(_) => {
            let tables = known.number("workload.tables", 1) * MORE_TABLES;
            (known.set("workload.tables", &tables.to_string()), Expected::Unchanged)
        }
        Suspect::WakeUps => {
            let keys = [("client", "all"), ("server", "all"), ("bind", "thread"), ("pairing", "same-pu")];
            let set = keys.iter().flat_map(|(key, value)| known.set(&format!("placement.{key}"), value));
            (set.collect(), Expected::Faster)
        }
        Suspect::CpuShortage => {
            let fewer = known.number("workload.threads", 2) / 2;
            (known.set("workload.threads", &fewer.max(1).to_string()), Expected::Faster)
        }
        Suspect::ClientBound => (known.set("client.host", "HOST"), Expected::Faster),
        Suspect::KernelTime | Suspect::ServerWork => (known.set("capture.profile", "on"), Expected::Named),
        Suspect::Commit => (known.commit(), Expected::Faster),
    };
    let study = match results.study_toml.is_some() && results.path.is_dir() {
        true => results.path.join("study.toml"),
        false => Path::new("STUDY").to_owned(),
    };
    let arguments = std::iter::once(study.display().to_string()).chain(changes).collect();
    let estimated_s = results.plan.as_ref().map(|plan| plan.estimated_s.max(0.0) as u32);
    Experiment { arguments, expected, estimated_s }
}

/// What the plan says of the condition.
struct Known<'k, 'r> {
    side: &'k ConditionTrials<'r>,
    results: &'k Results,
}

impl Known<'_, '_> {
    fn setting(&self, key: &str) -> Option<&Value> {
        let conditions = self.results.plan.iter().flat_map(|plan| &plan.conditions);
        conditions.filter(|planned| planned.name == self.side.name).find_map(|planned| planned.settings.get(key))
    }

    fn number(&self, key: &str, otherwise: i64) -> i64 {
        self.setting(key).and_then(|value| value.to_string().parse().ok()).unwrap_or(otherwise)
    }

    /// `--set` of a key: of the factor, where the study varies it.
    fn set(&self, key: &str, value: &str) -> Vec<String> {
        let (section, last) = key.split_once('.').unwrap_or(("", key));
        let factor = if section == "placement" { "placement" } else { last };
        let varies = self.side.levels.contains_key(factor) && section != "placement";
        let key = if varies { format!("factors.{factor}") } else { key.to_owned() };
        vec!["--set".to_owned(), format!("{key}={value}")]
    }

    fn commit(&self) -> Vec<String> {
        let engine = self.setting("engine.name").map(ToString::to_string).unwrap_or_default();
        let option = match engine.as_str() {
            "postgresql" => "synchronous_commit=off",
            "sqlite" => "synchronous=OFF",
            _ => "innodb_flush_log_at_trx_commit=0",
        };
        vec!["--option".to_owned(), option.to_owned()]
    }
}
