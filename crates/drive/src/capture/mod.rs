//! Data recorded alongside the metrics: threads, host, probes, profiles, lock waits.
//!
//! | file | holds |
//! | --- | --- |
//! | `settings` | the keys of `[capture]` |
//! | `environment`, `server` | the machine, and the server of a trial |
//! | `interference`, `network`, `memory`, `cache` | what every sample records |
//! | `probe` | known work before and after samples |
//! | `sample`, `place` | the capture sample, and the folder of its files |
//! | `waits/`, `wakes/`, `callers` | sleeps of threads in the capture sample: why, who ended them, and who called |
//! | `profile/`, `events`, `lines/` | what perf records in it; `perf` and `patience` run perf |

pub(crate) mod cache;
mod callers;
pub mod environment;
mod events;
pub mod interference;
pub mod lines;
pub(crate) mod memory;
pub(crate) mod network;
mod patience;
mod perf;
pub mod place;
pub(crate) mod probe;
mod profile;
pub mod sample;
pub mod server;
pub mod settings;
mod waits;
mod wakes;
