//! Output of findings for people and programs: terminal, page, charts and exports. Reads only results and findings.

// Only crates of this workspace use it, so names and types that explain themselves have no comment.
#![allow(missing_docs)]

pub mod charts;
pub mod export;
pub mod figures;
pub mod html;
pub mod json;
mod tables;
pub mod terminal;
pub mod words;

pub use html::{WriteError, write_report_in, write_report_to};
