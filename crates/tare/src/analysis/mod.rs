//! From trial records to what they say: one summary that the terminal, the HTML report and --json share.

pub mod answer;
mod best;
mod builds;
mod captures;
pub mod collect;
pub mod compare;
mod composite;
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
mod outliers;
mod question;
pub mod reading;
mod residuals;
mod run_order;
mod scaling;
mod scaling_answer;
pub mod spread;
pub mod state;
mod steadiness;
pub mod summarize;
pub mod summary;
pub mod term;
pub mod threads;

pub use summarize::summarize;
