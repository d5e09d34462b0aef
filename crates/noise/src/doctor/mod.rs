//! Every noise source of this machine now: what it is, what it may cost, and what removes it.

mod drift;
mod examine;
mod finding;
mod host;
mod interrupts;
mod jitter;
mod limits;
mod processes;
mod settings;

pub use drift::{Drift, Left, measure_drift};
pub use examine::{Diagnosis, Options, examine};
pub use finding::{Finding, Severity};
pub use jitter::{Bucket, Jitter, measure_jitter};
pub use processes::CpuUser;
