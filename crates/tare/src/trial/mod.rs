//! One trial: set, start, bind, load, verify, stop, put back, append one record.

pub mod allocator;
pub mod contamination;
pub mod counters_trial;
pub mod dataset;
pub mod dbt3_load;
pub mod loaded;
pub mod machine;
pub mod measure;
pub mod process;
pub mod server_start;
pub mod session_load;
pub mod session_threads;
