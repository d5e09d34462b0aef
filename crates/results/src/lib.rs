//! What a run leaves on disk, and how it is read back.

mod append;
pub mod captures;
pub mod covariate;
mod csv;
mod directory;
mod lines;
pub mod metric;
pub mod question;
pub mod reader;
mod repair;
pub mod schema;
pub mod store;

mod time;
pub use time::now;

pub use lines::DamagedLine;
pub use reader::{ReadError, Results, Source, open};
pub use repair::repair;
