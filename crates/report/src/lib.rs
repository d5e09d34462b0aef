//! Findings as people and programs read them: terminal, page, charts and exports. Reads results and findings only.

// Only crates of this workspace use it: where a name and a type say all, no comment does.
#![allow(missing_docs)]

pub mod charts;
pub mod export;
pub mod find_json;
pub mod history_json;
pub mod html;
pub mod json;
mod tables;
pub mod terminal;
pub mod why_json;
pub mod words;
mod write;

pub use write::{WriteError, write_report_in, write_report_to};
