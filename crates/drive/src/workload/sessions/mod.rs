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
//! | `judge` | whether a sample is what was asked for |
//! | `objective`, `search`, `steps` | the highest rate that meets an objective: what is asked, which rate is next, the runs |

mod border;
mod connector;
mod judge;
mod objective;
mod run;
mod search;
mod steps;
mod tallies;
mod watcher;

pub use border::{Border, roll_back};
pub use connector::{Connections, Connector};
pub use judge::{NotAsked, judge};
pub use objective::{OBJECTIVE_HELP, OBJECTIVE_OR_RATE, Objective, may_be_elsewhere};
pub use run::{Ran, failure, run, take_extra};
pub use steps::{expected_s, under_objective};
pub use tallies::{Merge, Tallies};
