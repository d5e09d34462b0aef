//! What a run leaves on disk, and how it is read back.

pub mod schema;
pub mod store;

mod time;
pub use time::now;
