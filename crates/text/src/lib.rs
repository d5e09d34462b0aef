//! Words that people write and read.

mod nearest;

pub use nearest::nearest;
