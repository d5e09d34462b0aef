//! Another host: the same program there, reached through ssh, and what the two say to each other.
//!
//! | file | holds |
//! | --- | --- |
//! | `link` | messages and signs of life over two pipes |
//! | `message` | what a trial and its clients on another host say |
//! | `served` | what the host where a study was started and the one where it is run say |
//! | `doors` | the way from a trial there back to the clients here |
//! | `remote` | the program there: started, heard, its clock compared, ended |
//! | `error` | why another host cannot be worked with |

pub mod doors;
mod error;
mod link;
pub mod message;
pub mod remote;
pub mod served;

pub use error::HostError;
pub use link::{Link, LinkEnd, Mouth};
pub use remote::{ClockOffset, Remote};
