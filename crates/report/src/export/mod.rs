//! Results for other tools: one tidy data model ([`tables`], [`columns`]), and one file per format.

pub mod benchstat;
pub mod bmf;
pub mod cell;
pub mod changes;
pub mod columns;
pub mod csv;
pub mod format;
pub mod junit;
pub mod latex;
pub mod markdown;
pub mod openmetrics;
pub mod otava;
#[cfg(feature = "parquet")]
pub mod parquet;
#[cfg(feature = "png")]
pub mod png;
pub mod source;
pub mod svg;
pub mod tables;
pub mod write;
