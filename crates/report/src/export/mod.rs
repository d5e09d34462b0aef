//! Results for other tools: one tidy data model ([`tables`], `columns`), and one file per format.

mod benchstat;
mod bmf;
mod cell;
pub mod changes;
mod columns;
mod csv;
pub mod format;
mod junit;
mod latex;
mod markdown;
mod openmetrics;
mod otava;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "png")]
pub mod png;
pub mod source;
pub mod svg;
pub mod tables;
pub mod write;
