//! What loads of one connection a client thread share: connecting, the server thread behind each connection, warm-up
//! and samples under a watch, and what becomes of them.
//!
//! | file | holds |
//! | --- | --- |
//! | `connector` | a client thread's own connection, and all of them to end |
//! | `border` | BEGIN, COMMIT and ROLLBACK |
//! | `watcher` | binds and watches while they work |
//! | `run` | warm-up and samples, and the further one for captures |
//! | `tallies` | what clients count for themselves, summed sample by sample |
//! | `latencies` | a histogram of times |
//! | `judge` | whether a sample is what was asked for |

mod border;
mod connector;
mod judge;
mod latencies;
mod run;
mod tallies;
mod watcher;

pub use border::{Border, roll_back};
pub use connector::{Connections, Connector};
pub use judge::{NotAsked, judge};
pub use latencies::Latencies;
pub use run::{Ran, failure, run, take_extra};
pub use tallies::{Merge, Tallies};
