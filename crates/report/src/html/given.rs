//! The input of every section of the page.

use crate::charts::machine_view::{self, MachineBox};
use crate::charts::marks;
use maud::{Markup, html};
use std::collections::HashMap;
use tare_findings::collect::{self, ConditionTrials};
use tare_findings::condition::MetricSummary;
use tare_findings::summary::Summary;
use tare_results::Results;

pub(super) struct Page<'a> {
    pub results: &'a Results,
    pub summary: &'a Summary,
    /// Trials by condition, in the order of `summary.conditions`.
    pub conditions: Vec<ConditionTrials<'a>>,
    pub machine: Option<MachineBox>,
    places: HashMap<&'a str, usize>,
}

impl<'a> Page<'a> {
    pub(crate) fn new(results: &'a Results, summary: &'a Summary) -> Self {
        let conditions = collect::conditions(results);
        let places = conditions.iter().enumerate().map(|(place, condition)| (condition.name, place)).collect();
        let machine = results.environment.as_ref().and_then(|environment| machine_view::view(&environment.machine));
        Self { results, summary, conditions, machine, places }
    }

    /// Whether conditions are distinguished by marks. With more conditions than marks only names are used, because no
    /// reader would remember the marks.
    pub(crate) fn has_marks(&self) -> bool {
        self.conditions.len() <= marks::MEANT
    }

    /// Number of a condition's mark: its position in the plan, the same in every chart; 0 for all if there are too
    /// many.
    pub(crate) fn mark(&self, condition: &str) -> usize {
        self.places.get(condition).copied().filter(|_| self.has_marks()).unwrap_or(0)
    }

    /// The mark of a condition next to its name, if conditions have marks.
    pub(crate) fn swatch(&self, condition: &str) -> Markup {
        html! { @if self.has_marks() { (marks::swatch(self.mark(condition))) } }
    }

    pub(crate) fn own_threads(&self, condition: &str) -> Option<&'a str> {
        self.summary.own_threads(self.summary.conditions.get(*self.places.get(condition)?)?)
    }

    pub(crate) fn metric(&self, place: usize, metric: &str) -> Option<&'a MetricSummary> {
        let condition = self.summary.conditions.get(place)?;
        condition.metrics.iter().find(|candidate| candidate.name == metric)
    }
}
