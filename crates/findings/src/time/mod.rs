//! The breakdown of transaction time: where a client's wall-clock time goes, as an identity that holds in every trial.

mod condition;
mod part;
mod trial;
mod waited;

pub use condition::{ConditionTime, Counted, Event, EventMean, EventSide, Extremes, PartTime, extremes};
pub(crate) use condition::{
    events_in_all, events_of_trial, join_small, leave_out_unrecorded, of_condition, of_conditions, of_trials,
};
pub use part::{Missing, Part};
pub use trial::TrialTime;
pub use waited::BY_CALLER;
pub(crate) use waited::{METADATA_LOCKS, PAGE_LOCKS, TABLE_LOCKS};
