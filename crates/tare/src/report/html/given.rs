//! What every section of the page draws from.

use crate::analysis::collect::ConditionTrials;
use crate::analysis::machine_view::MachineBox;
use crate::analysis::summary::Summary;
use tare_results::Results;

/// What every section draws from.
pub(super) struct Page<'a> {
    pub results: &'a Results,
    pub summary: &'a Summary,
    /// Trials by condition, in the order of `summary.conditions`.
    pub conditions: Vec<ConditionTrials<'a>>,
    pub machine: Option<MachineBox>,
}

impl Page<'_> {
    /// Number of a condition's mark: its place in the plan, the same in every chart.
    pub fn mark(&self, condition: &str) -> usize {
        self.conditions.iter().position(|candidate| candidate.name == condition).unwrap_or(0)
    }
}
