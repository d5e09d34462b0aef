//! Compares two sets of results, or two conditions: B / A of every metric, and the decision of a gate.

pub mod groups;
mod model;
mod pairs;
mod run;
mod sessions;
mod verdicts;

pub use groups::{AgainstFirst, Grouped, InGroups, ManyComparison};
pub use model::{
    Adjusted, Beyond, Change, CompareError, Comparison, ConditionPair, DisturbedSide, Gate, JoinedBy, Losses, Lost,
    MetricComparison, MostDisturbing, Note, Options, ProbeChange, Sessions, Side,
};
pub(crate) use pairs::{Matched, Origin, matched, run_of};
pub(crate) use run::joined_by;
pub use run::{compare, compare_many};
pub use sessions::compare_sessions;
pub use tare_stats::ratio::Verdict;
