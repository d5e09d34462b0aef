//! From trial records to what they say: one summary that the terminal, the HTML report and --json share.

pub mod collect;
pub mod figures;
pub mod machine_view;
pub mod odd;
pub mod reading;
pub mod summarize;
pub mod summary;
pub mod threads;

mod statistics;

pub use summarize::summarize;
