//! One run: a controller and its client threads.

mod controller;
mod error;
mod observer;
mod phase;
mod report;
mod settings;
mod worker;

pub use controller::run;
pub use error::RunError;
pub use observer::{Observer, Reading, Stage, Unobserved};
pub use settings::{LoadSettings, MOST_THREADS};
