//! Another host: the same program there, started through ssh, and the messages between the two.
//!
//! | file | holds |
//! | --- | --- |
//! | `link` | messages and keep-alives over two pipes |
//! | `message` | the messages between a trial and its clients on another host |
//! | `remote` | the program on the other host: start, communication, clock comparison, end |
mod link;
pub mod message;
pub mod remote;

pub use link::{HostError, Link, LinkEnd, LinkWriter};
