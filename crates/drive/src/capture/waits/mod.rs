//! Where the server's threads spend wall-clock time: their state is sampled many times per second.
//!
//! | file | holds |
//! | --- | --- |
//! | `looker` | the sampling thread and its results |
//! | `stacks` | call chains of sleeping threads, from their stacks |
//! | `frame_pointer` | reconstruction of a frame pointer that no function saved |
//! | `programs` | programs and libraries of processes, with their unwind tables, evaluated in bounded time |
//! | `functions` | the functions that contain addresses of a program |
//! | `tally` | the observed threads, why they sleep, and counts of samples by class of thread |
//! | `addresses` | the symbol or mapping that contains an address |
//! | `parts` | shares of the time, which add up to 1, also as folded chains of wall-clock time |

mod addresses;
#[cfg(target_arch = "x86_64")]
mod frame_pointer;
mod functions;
mod looker;
mod parts;
mod programs;
mod stacks;
mod tally;

pub(super) use addresses::Addresses;
pub(super) use looker::Waits;
pub(super) use parts::write as write_wall;
