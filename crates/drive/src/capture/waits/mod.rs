//! Where the server's threads spend wall-clock time: their state is sampled many times per second.
//!
//! | file | holds |
//! | --- | --- |
//! | `looker` | the sampling thread and its results |
//! | `followed` | one thread of the server: its file under /proc, and the kernel's counters for it |
//! | `sleep` | the reason why a thread sleeps, from its system call |
//! | `stacks` | call chains of sleeping threads, from their stacks |
//! | `frame_pointer` | reconstruction of a frame pointer that no function saved |
//! | `bounded` | whether a function's unwind tables can be evaluated in bounded time |
//! | `programs` | programs and libraries of processes, with their unwind tables |
//! | `functions` | the functions that contain addresses of a program |
//! | `tally` | counts of samples, by class of thread |
//! | `addresses` | the symbol or mapping that contains an address |
//! | `parts` | shares of the time, which add up to 1, also as folded chains of wall-clock time |

mod addresses;
mod bounded;
mod followed;
#[cfg(target_arch = "x86_64")]
mod frame_pointer;
mod functions;
mod looker;
mod parts;
mod programs;
mod sleep;
mod stacks;
mod tally;

pub(super) use addresses::Addresses;
pub(super) use looker::Waits;
pub(super) use parts::write as write_wall;
