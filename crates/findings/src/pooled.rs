//! A step of a grid of ladders, over all ladders of one load: what more nodes, caches or threads give on average.

use super::ends;
use serde::Serialize;
use tare_results::schema::Levels;
use tare_stats::Interval;

/// A step over all ladders of one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PooledStep {
    /// `nodes`, `caches` or `threads`.
    pub over: String,
    /// The load, where several were measured.
    pub load: Option<String>,
    /// The number before the step.
    pub from: f64,
    /// The number after it.
    pub to: f64,
    /// Geometric mean of after / before, over the ladders that are no exception.
    pub ratio: f64,
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
    pub ladders: usize,
    /// Whether more is shown to give less.
    pub less: bool,
    /// Where it is shown to be something else.
    pub exceptions: Vec<StepExceptions>,
}

/// Ladders on which a step is another one than on the rest.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepExceptions {
    /// Levels that they have in common and not all others have.
    pub levels: Levels,
    /// The number of threads from which on they are; none where they are at single numbers, which `levels` has.
    pub from_threads: Option<f64>,
    /// Ladders that these levels stand for.
    pub ladders: usize,
    /// The smallest and the largest after / before on them.
    pub ratio: (f64, f64),
}

impl PooledStep {
    /// What it claims, without figures.
    pub(super) fn claim(&self) -> (Option<&str>, f64, f64, bool, usize) {
        let exceptions = self.exceptions.iter().map(|found| found.ladders).sum();
        (self.load.as_deref(), self.from, self.to, self.less, exceptions)
    }

    /// Whether it says that something differs.
    pub fn is_claim(&self) -> bool {
        self.less || !self.exceptions.is_empty()
    }

    /// What as many times as much could give; none of threads, which may be more than there are CPUs.
    pub fn possible(&self) -> Option<f64> {
        (self.over != "threads").then(|| self.to / self.from)
    }
}
