//! Where the server's threads spend wall-clock time: what they do is looked at many times a second.
//!
//! | file | holds |
//! | --- | --- |
//! | `looker` | the thread that looks, and what it has seen |
//! | `followed` | one thread of the server: its file, and what the kernel counts of it |
//! | `sleep` | in what a thread sleeps, by the system call that it is in |
//! | `tally` | how often what was seen, by class of thread |
//! | `addresses` | the symbol or mapping that an address lies in |
//! | `parts` | shares of the time, which add up to 1, also as folded chains of wall-clock time |

mod addresses;
mod followed;
mod looker;
mod parts;
mod sleep;
mod tally;

pub(super) use addresses::Addresses;
pub(super) use looker::Waits;
pub(super) use parts::write as write_wall;
