//! What makes up the difference between the transactions of two conditions: part by part, below it function by
//! function, and the suspects with what would decide.

mod causes;
mod explain;
mod functions;
mod model;
mod prove;
mod suspect;
mod trials;

pub use explain::{times, why};
pub use model::{Cause, FunctionChange, PartChange, SUSPECTS_SHOWN, TimeChange, Why, WhyError};
pub use prove::{Expected, Experiment};
pub use suspect::Suspect;
