//! Names of conditions in tables: one column per factor if names consist of levels, otherwise one column of names.

use super::text::plain;
use tare_findings::condition::ConditionSummary;
use tare_findings::summary::Summary;

pub(super) struct Names {
    /// Empty when conditions have their own names.
    factors: Vec<String>,
}

impl Names {
    /// One column per factor when the name of every condition consists of its levels, and all have the same factors.
    pub(crate) fn of(summary: &Summary) -> Self {
        let factors: Vec<String> =
            summary.conditions.first().map_or(Vec::new(), |c| c.levels.keys().cloned().collect());
        let plain = |condition: &ConditionSummary| {
            condition.levels.keys().eq(&factors) && tare_results::levels_of(&condition.name) == condition.levels
        };
        let factors = if summary.conditions.iter().all(plain) { factors } else { Vec::new() };
        Self { factors }
    }

    pub(crate) fn columns(&self) -> usize {
        self.factors.len().max(1)
    }

    pub(crate) fn heads(&self) -> Vec<String> {
        if self.factors.is_empty() {
            vec!["condition".to_owned()]
        } else {
            self.factors.iter().map(|f| plain(f)).collect()
        }
    }

    pub(crate) fn cells(&self, condition: &ConditionSummary) -> Vec<String> {
        if self.factors.is_empty() {
            return vec![plain(&condition.name)];
        }
        let level = |factor| condition.levels.get(factor).map_or(String::new(), |level| plain(level));
        self.factors.iter().map(level).collect()
    }
}
