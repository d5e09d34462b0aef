//! Data recorded alongside the metrics: threads, host, probes, profiles, lock waits.
//!
//! | file | holds |
//! | --- | --- |
//! | `settings` | the keys of `[capture]` |
//! | `environment`, `server` | the machine, and the server of a trial |
//! | `interference`, `memory` | what every sample records |
//! | `sample`, `place` | the capture sample, and the folder of its files |
//! | `waits/`, `wakes`, `wake_charges` | sleeps of threads in it: why, who ended them, and who called |
//! | `profile`, `frames`, `events`, `lines`, `shared_lines` | what perf records in it; `perf` runs perf |

pub mod environment;
mod events;
mod frames;
pub mod interference;
pub mod lines;
pub(crate) mod memory;
mod perf;
pub mod place;
mod profile;
pub mod sample;
pub mod server;
pub mod settings;
mod shared_lines;
mod waits;
mod wake_charges;
mod wakes;
