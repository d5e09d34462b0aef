//! Explains the difference in transaction time between two conditions: part by part, below that function by function,
//! and suspects with the experiments that would decide about them.

mod causes;
mod explain;
mod functions;
mod model;
mod proof;
mod prove;
mod suspect;
mod trials;
mod unnamed;

pub use explain::{of_conditions, times, why};
pub use functions::chains;
pub use model::{Cause, PartChange, SUSPECTS_SHOWN, TimeChange, Times, Why, WhyError};
pub use proof::{Proof, ProofVerdict, Trial, WaitsChange, experiments};
pub use prove::{Again, Change, Expected, Experiment};
pub use suspect::Suspect;
pub use trials::{ChainTime, Changes, EventChange, NamedChange};
