//! A step of a grid of ladders, over all ladders of one load: what more nodes, caches or threads give on average.

use super::ends;
use serde::Serialize;
use tare_results::schema::Levels;
use tare_stats::Interval;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PooledStep {
    /// `nodes`, `caches` or `threads`.
    pub over: String,
    /// The load, if several were measured.
    pub load: Option<String>,
    pub from: f64,
    pub to: f64,
    /// Geometric mean of after / before, over the ladders that are no exception.
    pub ratio: f64,
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
    pub ladders: usize,
    /// Whether a larger number is shown to give less.
    pub less: bool,
    /// Ladders on which the step is shown to differ.
    pub exceptions: Vec<StepExceptions>,
}

/// Ladders on which a step differs from the other ladders.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepExceptions {
    /// Levels that these ladders share and at least one other ladder lacks.
    pub levels: Levels,
    /// The number of threads from which on the exception holds; none for single numbers, which `levels` contains.
    pub from_threads: Option<f64>,
    /// Number of ladders with these levels.
    pub ladders: usize,
    /// The smallest and the largest after / before on these ladders.
    pub ratio: (f64, f64),
}

impl PooledStep {
    /// The claim without its figures.
    pub(super) fn claim(&self) -> (Option<&str>, f64, f64, bool, usize) {
        let exceptions = self.exceptions.iter().map(|found| found.ladders).sum();
        (self.load.as_deref(), self.from, self.to, self.less, exceptions)
    }

    pub fn is_claim(&self) -> bool {
        self.less || !self.exceptions.is_empty()
    }

    /// The ratio of perfect scaling; none for threads, of which there may be more than CPUs.
    pub fn possible(&self) -> Option<f64> {
        (self.over != "threads").then(|| self.to / self.from)
    }
}
