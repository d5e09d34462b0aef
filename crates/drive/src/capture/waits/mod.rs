//! Where the server's threads spend wall-clock time: what they do is looked at many times a second.
//!
//! | file | holds |
//! | --- | --- |
//! | `looker` | the thread that looks, and what it has seen |
//! | `followed` | one thread of the server: its file, and what the kernel counts of it |
//! | `sleep` | in what a thread sleeps, by the system call that it is in |
//! | `stacks` | call chains of threads that sleep, from their stacks |
//! | `frame_pointer` | where a function's frame pointer is, when no one saved it |
//! | `programs` | programs and libraries of processes, with what unwinding needs of them |
//! | `tables` | what a program's tables say of how a caller is found, and whether that ends |
//! | `functions` | the functions that addresses of a program lie in |
//! | `tally` | how often what was seen, by class of thread |
//! | `addresses` | the symbol or mapping that an address lies in |
//! | `parts` | shares of the time, which add up to 1, also as folded chains of wall-clock time |

mod addresses;
mod followed;
#[cfg(target_arch = "x86_64")]
mod frame_pointer;
mod functions;
mod looker;
mod parts;
mod programs;
mod sleep;
mod stacks;
mod tables;
mod tally;

pub(super) use addresses::Addresses;
pub(super) use looker::Waits;
pub(super) use parts::write as write_wall;
