//! The time of a transaction in full: where a client's wall-clock time goes, as an identity that holds in every trial.

mod condition;
mod part;
mod strangers;
mod trial;
mod waited;

pub use condition::{ConditionTime, PartTime};
pub(crate) use condition::{join_small, of_condition, of_conditions, of_trials};
pub use part::{Missing, Part};
pub use trial::TrialTime;
