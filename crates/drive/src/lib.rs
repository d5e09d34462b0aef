//! What a trial drives and looks at: loads, the system under test and its threads, and what is captured of both.

pub mod capture;
pub mod sut;
pub mod workload;
