//! Code shared by loads with one connection per client thread: connecting, finding the server thread behind each
//! connection, warm-up and samples under a watch, and their results.
//!
//! | file | holds |
//! | --- | --- |
//! | `connector` | a client thread's own connection, and the list of all for ending them; BEGIN, COMMIT and ROLLBACK |
//! | `watcher` | binding and watching while clients work, waiting before samples, clients that do not end |
//! | `run` | warm-up and samples, and the additional sample for captures |
//! | `pace` | as fast as possible, at a given rate, or searching for a rate that meets an objective; reconnecting |
//! | `search`, `steps` | the search for the highest rate that meets an objective: the next rate, the runs |

mod connector;
mod pace;
mod run;
mod search;
mod steps;
mod watcher;

pub use connector::Connections;
pub(crate) use connector::{Border, Connector, roll_back};
pub use pace::{InvalidSample, Outage, Pace, Reconnect, Slo, judge};
pub(crate) use pace::{OBJECTIVE_HELP, Paced};
pub use run::Tallies;
pub(crate) use run::{Clock, Merge, Ran, run};
pub(crate) use steps::{at_pace, expected_s};
