//! The breakdown of transaction time: where a client's wall-clock time goes, as an identity that holds in every trial.

mod chains;
mod condition;
mod events;
mod extremes;
mod part;
mod quota;
mod remote;
mod strangers;
mod trial;
mod waited;

pub use condition::{ConditionTime, PartTime};
pub(crate) use condition::{join_small, leave_out_unrecorded, of_condition, of_conditions, of_trials};
pub use events::{Counted, Event, EventMean, EventSide};
pub(crate) use events::{in_all as events_in_all, of_trial as events_of_trial};
pub use extremes::{Extremes, extremes};
pub use part::{Missing, Part};
pub use trial::TrialTime;
pub use waited::BY_CALLER;
pub(crate) use waited::PAGE_LOCKS;
