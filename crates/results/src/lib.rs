//! The format of results on disk, with writing and reading.

// Only crates of this workspace use this crate: an item has a comment only where its name and type are not enough.
#![allow(missing_docs)]

mod blocks;
pub mod cache_lines;
pub mod captures;
pub mod claim;
pub mod covariate;
mod csv;
mod csv_trials;
mod directory;
pub mod disturbed;
mod earlier;
mod error;
pub mod events;
pub mod factor;
pub mod laps;
pub mod latencies;
mod limits;
mod lines;
mod list_limits;
pub mod looks;
pub mod metric;
mod named;
mod names;
pub mod pairs;
mod place;
mod plain;
mod plan;
pub mod probe;
pub mod question;
mod reader;
pub mod rounding;
mod samples;
pub mod schema;
pub mod search;
pub mod server;
pub mod server_cost;
pub mod shards;
pub mod steps;
pub mod store;
pub mod unit;
pub mod waits;
pub use directory::{CERTIFIED, LARGEST_CERTIFIED, Results, Source, StudyToml, now};
pub use limits::{LONGEST_LINE, Limited, MOST_CONDITIONS, MOST_SAMPLES, MOST_TRIALS, OutOfRange};

pub use error::{DirectoryError, ReadError};
pub use lines::{DamagedLine, repair};
pub use names::levels_of;
pub use place::{Place, folder};
pub use plain::Plain;
pub use reader::{open, open_folder};
