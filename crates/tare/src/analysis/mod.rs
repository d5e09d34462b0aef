//! From trial records to what they say: one summary that the terminal, the HTML report and --json share.

mod builds;
mod captures;
pub mod collect;
pub mod compare;
mod culprits;
pub mod curves;
mod differences;
mod effects;
mod ends;
pub mod figures;
pub mod first_screen;
mod ladders;
pub mod machine_view;
mod modes;
mod nodes;
pub mod odd;
pub mod reading;
mod residuals;
mod scaling;
pub mod spread;
mod steadiness;
pub mod summarize;
pub mod summary;
pub mod threads;

pub use summarize::summarize;
