//! Results as tables and as one HTML file. Reads results and analysis only.

pub mod charts;
pub mod html;
pub mod terminal;
mod write;

pub use write::{WriteError, write_report, write_report_to};
