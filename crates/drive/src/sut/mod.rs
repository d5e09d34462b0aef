//! What is measured: the processes and threads of a server, bound, watched and proved to have been where they belong.
//!
//! | file | holds |
//! | --- | --- |
//! | `processes` | the processes of a system under test, and whose they are; what the helper processes of a server are for |
//! | `threads` | sightings and kernel counts of threads during one measurement |
//! | `waits`, `connections` | which threads of two programs talk to each other |
//! | `usage` | what all of it used while something was measured |
//! | `watch` | one measurement after another: bind, watch, prove |
//! | `two_hosts` | the same on two hosts: clients here, server there |
//! | `surroundings` | what belongs to a measurement alongside its figures |
//! | `error` | what can go wrong with all that |

mod connections;
mod error;
mod processes;
mod surroundings;
mod threads;
mod two_hosts;
mod usage;
mod waits;
mod watch;

pub use connections::Connections;
pub use error::{SutError, Unpaired};
pub use processes::{Owner, SystemUnderTest};
pub use surroundings::{Partner, Surroundings};
pub use threads::{ThreadWatch, Watched, stray, waited_for_cpu};
pub use usage::{Usage, UsageMark};
pub use watch::{Connected, SharedAffinities, SideThreads, SubjectWatch, WatchSettings, stray_memory};
