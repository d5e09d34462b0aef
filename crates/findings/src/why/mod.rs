//! Explains the difference in transaction time between two conditions: part by part, below that function by function,
//! and suspects with the experiments that would decide about them.

mod accused;
mod allocator;
mod callers;
mod causes;
mod chains;
mod changes;
mod events;
mod explain;
mod memory;
mod model;
mod named;
mod proof;
mod prove;
mod separate;
mod sleeps;
mod suspect;
mod trials;
mod unnamed;

pub use chains::chains;
pub use changes::{ChainTime, Changes, NamedChange};
pub use events::EventChange;
pub use explain::{of_conditions, times, why};
pub use model::{Cause, PartChange, SUSPECTS_SHOWN, TimeChange, Times, Why, WhyError};
pub use proof::{Proof, ProofVerdict, Trial, WaitsChange, experiments};
pub use prove::{Change, Expected, Experiment};
pub use suspect::Suspect;
