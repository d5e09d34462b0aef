//! What is measured: the processes and threads of a server, bound, watched and proved to have been where they belong.
//!
//! | file | holds |
//! | --- | --- |
//! | `processes` | the processes of a subject, and whose they are |
//! | `threads` | sightings and kernel counts of threads during one measurement |
//! | `watch` | one measurement after another: bind, watch, prove |
//! | `surroundings` | what belongs to a measurement beside its figures |
//! | `error` | what can go wrong with all that |

mod error;
mod processes;
mod surroundings;
mod threads;
mod watch;

pub use error::SubjectError;
pub use processes::{Owner, Subject};
pub use surroundings::Surroundings;
pub use threads::{ThreadWatch, Watched, stray, waited_for_cpu};
pub use watch::{Connected, SubjectWatch, WatchSettings};
