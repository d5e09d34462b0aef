//! One run: a controller and its client threads.

mod controller;
mod error;
mod events;
mod interval;
mod live;
mod observer;
mod phase;
mod prompt;
mod report;
mod settings;
mod stalls;
mod worker;

pub use controller::run;
pub use error::RunError;
pub use observer::{Interval, Observer, Reading, RunPhase, Unobserved};
pub use settings::{Intervals, LoadSettings, MOST_THREADS, Rest};
