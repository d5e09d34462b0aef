//! What a run leaves on disk, and how it is read back.

pub mod captures;
pub mod covariate;
mod csv;
mod directory;
pub mod metric;
pub mod reader;
pub mod schema;
pub mod store;

mod time;
pub use time::now;

pub use reader::{ReadError, Results, Source, open};
