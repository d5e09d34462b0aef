//! Results for other tools: one tidy data model ([`tables`], `columns`), and the formats that it is written in.

mod columns;
pub mod documents;
mod junit;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "png")]
pub mod png;
pub mod sides;
pub mod source;
pub mod svg;
pub mod tables;
mod trackers;
pub mod write;
