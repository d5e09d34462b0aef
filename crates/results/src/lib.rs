//! What a run leaves on disk, and how it is read back.

// Only crates of this workspace use it: where a name and a type say all, no comment does.
#![allow(missing_docs)]

mod append;
pub mod captures;
pub mod claim;
pub mod client_limit;
pub mod covariate;
mod csv;
mod csv_trials;
mod cut;
mod directory;
pub mod disturbed;
mod error;
mod everything;
pub mod hardware;
pub mod laps;
pub mod latencies;
mod levels;
mod limits;
mod lines;
mod machines;
pub mod metric;
mod named;
mod names;
mod outcome;
pub mod pairs;
mod place;
mod plain;
mod plan;
pub mod probe;
pub mod question;
mod race;
pub mod reader;
mod repair;
mod samples;
pub mod schema;
pub mod search;
pub mod server;
pub mod server_cost;
mod settle;
pub mod settled;
pub mod shards;
pub mod steps;
pub mod store;
pub mod waits;
pub mod wakes;

mod time;
pub use time::now;

pub use error::{DirectoryError, ReadError};
pub use everything::{Results, Source};
pub use levels::levels_of;
pub use limits::{LONGEST_LINE, MOST_CONDITIONS, MOST_TRIALS};
pub use lines::DamagedLine;
pub use place::{Place, folder};
pub use plain::Plain;
pub use reader::{open, open_folder};
pub use repair::repair;
