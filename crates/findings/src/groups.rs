//! Kinds of loads by which results are published: from the names of sysbench's workloads, or, for a file of
//! statements, from the file.

use super::collect;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tare_results::Results;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all(serialize = "snake_case", deserialize = "kebab-case"))]
pub enum Group {
    Point,
    /// Ranges whose rows are read unchanged.
    Range,
    /// Ranges whose sums, counts or sorted rows are read.
    AggregatedRange,
    Write,
    /// Everything else, including mixtures.
    #[serde(rename(deserialize = "mixed"))]
    Other,
}

impl Group {
    fn of_workload(load: &str) -> Self {
        match load {
            "point_select" | "select_random_points" => Self::Point,
            "select_random_ranges" => Self::AggregatedRange,
            "write_only" | "update_index" | "update_non_index" | "insert" | "delete" | "bulk_insert" => Self::Write,
            _ => Self::Other,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Point => "point",
            Self::Range => "range",
            Self::AggregatedRange => "aggregated range",
            Self::Write => "write",
            Self::Other => "mixed",
        }
    }
}

pub(super) struct Groups(BTreeMap<String, Group>);

/// The parts of a study's file of statements that define groups.
#[derive(Deserialize)]
struct Statements {
    transaction: Vec<Transaction>,
}

#[derive(Deserialize)]
struct Transaction {
    name: String,
    group: Option<Group>,
}

impl Groups {
    pub(crate) fn of_study(results: &Results) -> Self {
        let table = collect::study(results);
        let statements = table.as_ref().and_then(|table| table.get("workload")?.get("statements")?.as_str());
        let statements: Option<Statements> = statements.and_then(|text| toml::from_str(text).ok());
        let named = statements.into_iter().flat_map(|file| file.transaction);
        Self(named.filter_map(|one| Some((one.name, one.group?))).collect())
    }

    pub(crate) fn of(&self, load: &str) -> Group {
        self.0.get(load).copied().unwrap_or_else(|| Group::of_workload(load))
    }
}
