//! Compares two sets of results, or two conditions: B / A of every metric, and the decision of a gate.

pub mod groups;
mod identical;
mod losses;
mod model;
mod pairs;
pub mod rows;
mod run;
mod sessions;
mod verdicts;

pub use model::{
    Adjusted, AgainstFirst, Beyond, Change, CompareError, Comparison, ConditionPair, DisturbedSide, Gate, Grouped,
    InGroups, JoinedBy, Losses, Lost, ManyComparison, MetricComparison, MostDisturbing, Note, Options, ProbeChange,
    Sessions, Side,
};
pub(crate) use pairs::{Matched, Origin, matched, run_of};
pub(crate) use run::joined_by;
pub use run::{compare, compare_many};
pub use sessions::compare_sessions;
pub use tare_stats::ratio::Verdict;
