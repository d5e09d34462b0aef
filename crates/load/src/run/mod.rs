//! One run: a controller and its client threads.

mod controller;
mod observer;
mod phase;
mod report;
mod settings;
mod worker;

pub use controller::run;
pub use observer::{Interval, Observer, Reading, RunPhase, Unobserved};
pub use settings::{Intervals, LoadSettings, MOST_THREADS, Rest, RunError};
