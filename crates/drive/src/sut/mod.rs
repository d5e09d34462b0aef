//! The system under test: the processes and threads of a server, bound, watched, and checked for their placement.
//!
//! | file | holds |
//! | --- | --- |
//! | `processes` | the processes of a system under test and their owner; the purpose of a server's helper processes |
//! | `threads` | sightings and kernel counters of threads during one measurement |
//! | `waits`, `connections` | which threads of two programs communicate |
//! | `usage` | resources used during a measurement |
//! | `watch` | successive measurements: bind, watch, verify |
//! | `memory` | the server's memory at the end of a measurement: verified, recorded |
//! | `two_hosts` | the same on two hosts: clients here, server there |
//! | `surroundings` | the data recorded with a measurement in addition to its metrics |
//! | `window` | the time of a measurement, and which part of what was read belongs to it |
//! | `error` | errors of all of these |

mod connections;
mod error;
mod memory;
mod processes;
mod surroundings;
mod threads;
mod two_hosts;
mod usage;
mod waits;
mod watch;
mod window;

pub use connections::Connections;
pub use error::{SutError, Unpaired};
pub use processes::{Owner, SystemUnderTest};
pub use surroundings::{Partner, Surroundings};
pub(crate) use threads::{ThreadWatch, Watched, misplaced, waited_for_cpu};
pub use usage::Usage;
pub(crate) use usage::UsageMark;
pub use watch::{Connected, SharedAffinities, SideThreads, SutWatch, WatchSettings};
pub use window::LoadAround;
