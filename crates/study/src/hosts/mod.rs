//! Another host: the same program there, reached through ssh, and what the two say to each other.
//!
//! | file | holds |
//! | --- | --- |
//! | `link` | messages and signs of life over two pipes |
//! | `message` | what a trial and its clients on another host say |
//! | `remote` | the program there: started, heard, its clock compared, ended |
mod link;
pub mod message;
pub mod remote;

pub use link::{HostError, Link, LinkEnd, TunnelWriter};
pub use remote::{ClockOffset, Remote};
