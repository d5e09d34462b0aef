//! What loads of one connection a client thread share: connecting, the server thread behind each connection, warm-up
//! and samples under a watch, and what becomes of them.
//!
//! | file | holds |
//! | --- | --- |
//! | `connector` | a client thread's own connection, and all of them to end; BEGIN, COMMIT and ROLLBACK |
//! | `settling` | statements and waiting between warm-up and samples |
//! | `watcher` | binds and watches while they work |
//! | `run` | warm-up and samples, and the further one for captures |
//! | `reconnect` | how clients come back to a server that is started again |
//! | `pace` | as fast as they can, at a rate, or searching for one that meets an objective |
//! | `search`, `steps` | the highest rate that meets an objective: which rate is next, the runs |

mod connector;
mod pace;
mod reconnect;
mod run;
mod search;
mod settling;
mod steps;
mod watcher;

pub use connector::{Border, Connections, Connector, roll_back};
pub use pace::{NotAsked, OBJECTIVE_HELP, Pace, Paced, Slo, judge};
pub use reconnect::{Outage, Reconnect};
pub use run::{Merge, Ran, Tallies, failure, run};
pub use steps::{at_pace, expected_s};
