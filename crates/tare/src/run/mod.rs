//! The run: trials one after another, each in a process of its own.
//!
//! | file | holds |
//! | --- | --- |
//! | `execute` | the loop over trials |
//! | `child`, `progress` | one trial as a child process, and what it tells while it works |
//! | `state` | what is kept between commands: locks, journal, caches |

pub mod child;
pub mod execute;
pub mod progress;
pub mod state;
