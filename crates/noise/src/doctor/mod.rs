//! The doctor lists the noise sources of this machine: what they are, what they may cost, and how to remove them.

mod activity;
mod drift;
mod examine;
mod finding;
mod jitter;
mod limits;
mod settings;

pub use activity::CpuUser;
pub use drift::{Drift, Left};
pub use examine::{Diagnosis, Options, examine};
pub use finding::{Finding, Severity};
pub use jitter::{Bucket, Jitter};
