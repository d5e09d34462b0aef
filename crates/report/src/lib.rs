//! Findings as people and programs read them: terminal, page, charts and exports.

pub mod export;
pub mod report;
