//! Compares two sets of results, or two conditions: B / A of every metric, and the decision of a gate.

mod conclusion;
pub mod groups;
mod matching;
mod model;
mod pairs;
mod run;
mod sessions;
mod verdicts;

pub use conclusion::{Comparison, DisturbedSide, Gate, JoinedBy, MostDisturbing, Note, Sessions};
pub use groups::{AgainstFirst, Grouped, InGroups, ManyComparison};
pub(crate) use matching::{Matched, matched, run_of};
pub use model::{
    Adjusted, Beyond, Change, CompareError, ConditionPair, Losses, Lost, MetricComparison, Options, ProbeChange, Side,
};
pub(crate) use pairs::Origin;
pub(crate) use run::joined_by;
pub use run::{compare, compare_many};
pub use sessions::compare_sessions;
pub use tare_stats::ratio::Verdict;
